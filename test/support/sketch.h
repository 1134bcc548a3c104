/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Plans made by hand, without expressions, over rows that know what they are
 * (rows.h), and runs of them on every node of a cluster.
 *
 *   wt_sketch_init -> wt_sketch_scan, shuffle, ... -> wt_sketch_result
 *   wt_trial_open -> wt_cluster_run -> wt_trial_exact -> wt_trial_close
 */
#ifndef WT_SKETCH_H
#define WT_SKETCH_H

#include <weir/run.h>

#include "operators/plan/node.h"
#include "test/support/cluster.h"
#include "test/support/rows.h"

enum { WT_SKETCH_OPS = 16, WT_SKETCH_INPUTS = 4 };

/** A table of the rows of ids 0 .. n_rows-1, each part a run of them. */
struct wt_table {
    struct wt_rows rows;
    uint64_t n_rows;
    uint32_t batch_rows;   /* [100] */
    bool faulty;           /* one part gives an error: */
    uint32_t faulty_part;  /* WT_ALL_PARTS: each */
    uint64_t faulty_after; /* its rows; 0: it cannot be opened */
};

#define WT_ALL_PARTS UINT32_MAX

/** "fault in part 3", WEIR_ERR_SYSTEM. */
#define WT_TABLE_FAULT "fault in part"

struct wt_sketch {
    struct weir_plan plan;
    struct wi_plan_op op[WT_SKETCH_OPS];
    struct wi_plan_op *list[WT_SKETCH_OPS];
    uint32_t inputs[WT_SKETCH_OPS][WT_SKETCH_INPUTS];
    struct wi_columns columns;
    struct wt_rows rows;
    weir_table *tables[WT_SKETCH_OPS];
    struct wt_table made[WT_SKETCH_OPS];
};

/** Fails the test on error, as all of these. fields: [id, k, text] */
void wt_sketch_init(struct wt_sketch *s, const struct wt_rows *rows);
void wt_sketch_fini(struct wt_sketch *s);

/* All of them return the operator's index. */
uint32_t wt_sketch_scan(struct wt_sketch *s, const struct wt_table *table);
uint32_t wt_sketch_limit(struct wt_sketch *s, uint32_t input, uint64_t rows,
                         uint64_t offset);
uint32_t wt_sketch_union(struct wt_sketch *s, uint32_t a, uint32_t b);
/** GATHER is single. By "k" if it needs keys. */
uint32_t wt_sketch_shuffle(struct wt_sketch *s, uint32_t input,
                           weir_partitioning how, uint64_t seed);
/** Gather, ordered by id. */
uint32_t wt_sketch_merge(struct wt_sketch *s, uint32_t input);
/** The answer; gathered if it is not single. */
void wt_sketch_result(struct wt_sketch *s, uint32_t input);

/** A run on all nodes of a cluster, and what came out. */
struct wt_trial {
    struct wt_cluster *cluster;
    const struct wt_sketch *sketch;
    weir_run *run[WT_NODES];
    uint64_t n_ids;
    uint8_t *seen; /* [n_ids] how often */
    uint64_t rows;
    uint64_t next;       /* in order: the id that comes next */
    bool ordered;        /* ids have to ascend one by one */
    uint64_t stop_after; /* the program wants no more rows [never] */
    uint64_t fail_after; /* the program gives an error [never] */
    uint32_t absent;     /* 1 + a node that opens no run [none] */
};

/** Adds a task per worker. params may be NULL; its id and rows are set. */
void wt_trial_open(struct wt_trial *t, struct wt_cluster *c,
                   const struct wt_sketch *s,
                   const struct weir_run_params *params);
void wt_trial_close(struct wt_trial *t);

/** All ended well, and every id came `times` times. */
void wt_trial_exact(const struct wt_trial *t, uint8_t times);

/** All members but `without` have this code, and the same message, which has
 *  this text. */
void wt_trial_failed(const struct wt_trial *t, weir_err code, const char *text,
                     uint32_t without);

#endif /* WT_SKETCH_H */
