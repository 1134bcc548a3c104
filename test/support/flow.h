/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Flows: one shuffle over a whole cluster, with rows that know what they are,
 * and a ledger of what came where.
 *
 *   wt_query_open -> wt_flow_open -> wt_cluster_run -> wt_flow_check
 *
 * wt_flow_open adds a task for every writer (a source of rows) and every reader
 * (a sink that checks each value). A test changes them before the run: a sink
 * may hold batches, stop early, or wait at a gate; a relay puts what a reader
 * gets into writers of other flows.
 */
#ifndef WT_FLOW_H
#define WT_FLOW_H

#include "test/support/cluster.h"
#include "test/support/relaid.h"
#include "test/support/rows.h"

enum { WT_WORKERS = 4, WT_DESTS = WT_NODES * WT_WORKERS, WT_HOLD = 96 };

struct wt_query {
    struct wt_cluster *cluster;
    uint64_t id;
    weir_query *query[WT_NODES]; /* NULL: not a member, or closed */
};

/** Open on all nodes; params may be NULL. Fails the test on error. */
void wt_query_open(struct wt_query *q, struct wt_cluster *c, uint64_t id,
                   const struct weir_query_params *params);
void wt_query_close(struct wt_query *q);

struct wt_flow;

/** A task that pushes rows. */
struct wt_source {
    struct wt_flow *flow;
    weir_writer *writer;
    struct wt_task *task;
    uint64_t next; /* id */
    uint64_t end;
    struct ArrowArray batch;
    enum wt_layout layout; /* of its batches */
    uint32_t *dest;
    bool have;
    struct wt_relay *relay; /* gives it the batches */
    uint64_t begin;         /* id of the first row */
    bool endless;           /* begins again at its end, until it saw_done */
    bool saw_done;          /* a push returned WEIR_DONE */
    uint32_t gate;          /* does nothing before this one is open */
    uint32_t finish_gate;   /* does not finish before */
    bool closes;            /* its writer, when that has finished */
};

/** A task that takes rows, checks them, and enters them in the ledger. */
struct wt_sink {
    struct wt_flow *flow;
    weir_reader *reader;
    struct wt_task *task;
    uint32_t dest;
    uint64_t rows;
    uint64_t batches;
    uint64_t stop_after; /* rows [never] */
    bool stopped;
    uint32_t gate; /* does nothing before this one is open */
    uint32_t hold; /* batches kept before the oldest is released */
    bool detach;
    bool stubborn; /* gives none back before it is told WEIR_HELD */
    uint32_t told; /* how often it was */
    bool keep;     /* held batches are the test's in the end */
    struct ArrowArray held[WT_HOLD];
    uint32_t held_begin;
    uint32_t held_end;
    struct wt_relay *relay; /* gets the batches */
    uint32_t opens_early;   /* gate that it opens with its first batch */
    uint32_t opens;         /* and at its end */
};

/** Pushes what a sink got into writers of other flows, all of it to each. */
struct wt_relay {
    struct wt_sink *from;
    struct wt_source *to[2];
    uint32_t n;
    struct ArrowArray batch;
    bool have;
    bool taken[2];
};

struct wt_flow {
    struct wt_cluster *cluster;
    struct wt_query *query;
    struct wt_rows rows;
    struct weir_shuffle_params params;
    uint64_t n_rows; /* of each producing worker */
    uint32_t batch_rows;
    uint32_t n_dests;
    uint64_t n_ids; /* of all producers */
    struct ArrowSchema schema;
    weir_shuffle *shuffle[WT_NODES];
    struct wt_source *source[WT_NODES][WT_WORKERS]; /* NULL: none */
    struct wt_sink *sink[WT_NODES][WT_WORKERS];
    uint8_t *seen; /* [dest][id]: how often */
};

/** What a flow is; zero is the default. */
struct wt_flow_params {
    struct weir_shuffle_params shuffle; /* schema is filled in; keys: "k" */
    struct wt_rows rows;                /* [id, k, text] */
    uint64_t n_rows;                    /* of each producing worker [1000] */
    uint32_t batch_rows;                /* [97] */
    bool relayed;                       /* a relay will write the rows */
    uint64_t n_ids;                     /* relayed: ids 0 .. n_ids-1 */
};

/** Fails the test on error. */
void wt_flow_open(struct wt_flow *f, struct wt_query *q,
                  const struct wt_flow_params *params);
/** Frees what the test holds of it. The query was closed. */
void wt_flow_close(struct wt_flow *f);

/** A query with one flow, run to its end and checked. */
void wt_flow_run(struct wt_cluster *c, uint64_t id,
                 const struct wt_flow_params *params);

/** Did every task end well, and every row come exactly once, where it belongs?
 *  If not, the cluster has the complaint. */
bool wt_flow_ok(const struct wt_flow *f);
/** The same as an assertion. */
void wt_flow_check(const struct wt_flow *f);

/** Destination of a row under WEIR_VECTOR. */
uint32_t wt_flow_dest(const struct wt_flow *f, uint64_t id);

/** All rows from one node to another. The numbers have to outlive it. */
struct weir_shuffle_params wt_way(uint32_t id, const struct ArrowSchema *schema,
                                  const uint32_t *from, const uint32_t *to);

/** Let a relay stand between a sink and sources of one or two other flows
 *  (opened with relayed; b may be NULL). */
void wt_relay_open(struct wt_relay *r, struct wt_sink *from,
                   struct wt_source *a, struct wt_source *b);

/** Every query failed with this code, and a message that has this text. */
void wt_query_failed(const struct wt_query *q, weir_err code, const char *text);

/** Has a struct wt_query failed on all members? For wt_until(). */
bool wt_query_has_failed(void *arg);

/** Run a flow to its end, check it, and close it, its query and its cluster. */
void wt_flow_end(struct wt_flow *f);

/** Open, run, check and close one flow on a cluster of its own. */
void wt_flow_once(const struct wt_place *place,
                  const struct wt_cluster_params *cluster,
                  const struct wt_flow_params *flow);

weir_err wt_source_step(void *arg);
/** The same, and each batch becomes a frame. */
weir_err wt_source_step_flushed(void *arg);
weir_err wt_sink_step(void *arg);

#endif /* WT_FLOW_H */
