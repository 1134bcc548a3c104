/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Many small queries at a time, on nodes with all defaults.
 *
 *   node 0, its one worker    query 1  query 2  ...  query Q   in turn; one
 *   node 1, its one worker    query 1  query 2  ...  query Q   that ends makes
 *                                                              room for a next
 *
 * Each query is the plan of two_stage.h, a few rows through two shuffles, and
 * is checked as that is. The time is from the first open to the last close,
 * opening included: that is most of what a small query costs.
 */
#ifndef WB_CROWD_H
#define WB_CROWD_H

#include <stdint.h>
#include <stdio.h>

#include <weir/error.h>

#include "bench/lib/median.h"

#define WB_CROWD_MAX_REPEAT 100u
#define WB_CROWD_MAX_QUERIES 4096u
#define WB_CROWD_KINDS 3u

struct wb_crowd_params {
    const char *transport; /* ["shm"] */
    uint32_t nodes;        /* processes, 1..8 [2] */
    uint32_t queries;      /* of a run, 1..WB_CROWD_MAX_QUERIES [1024] */
    uint64_t rows;         /* that each node makes for a query [1000] */
    uint32_t repeat;       /* interleaved runs of each kind [5] */
};

struct wb_crowd {
    struct wb_crowd_params params;
    uint32_t at_a_time[WB_CROWD_KINDS];    /* 8, 64 and 256 */
    struct wb_spread rate[WB_CROWD_KINDS]; /* queries a second */
};

/**
 * Run it.
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_INTEGRITY, what failed a query, and as
 *             wl_group_run
 * Blocks:     until all runs have ended
 * Threads:    one, the only one of the process
 * Ownership:  nothing
 */
weir_err wb_crowd_run(const struct wb_crowd_params *params,
                      struct wb_crowd *out, struct weir_error *err);

/** Print for people. Errors: none. Blocks: on output. Threads: one. */
void wb_crowd_print(const struct wb_crowd *result, FILE *out);

/** Print one JSON object on one line.
 *  Errors: as wb_report_write. Blocks: on output. Threads: one. */
weir_err wb_crowd_print_json(const struct wb_crowd *result, FILE *out,
                             struct weir_error *err);

#endif /* WB_CROWD_H */
