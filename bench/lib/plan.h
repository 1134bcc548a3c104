/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The two-stage plan, as every opponent runs it: the DAIS 2016 synthetic plan.
 *
 *   rows --hash A--> stage 1 --hash B--> stage 2 --> count and sum
 *
 * Every node is one process. This file owns what must be the same for all:
 *
 *   open | connect | warm-up | all workers meet | timed run | check
 *                              ^------- as often as asked for -------'
 *
 * Only the timed run counts: from the first worker that starts, after all have
 * met, to the last one that has seen the end of its stage 2. The warm-up moves
 * rows over the same connections, twice, so that links are up, pages are
 * present and socket buffers have grown, for everybody alike. Of several timed
 * runs, one query after the other as a server has them, the median counts.
 *
 * Checked after every run, warm-up included:
 *   - rows and sum of stage 2, all workers together, are what was made: the sum
 *     of all columns' values, texts and nulls included (row.h);
 *   - in the warm-up, every value that arrives is what its key makes it;
 *   - every producer's rows of stage 1 arrive somewhere: per producer, the sum
 *     over consumers is what it made;
 *   - every worker forwards all it got: per producer of stage 2, the sum over
 *     consumers is what it received in stage 1;
 *   - per consumer, the sum of its stage 2 edges is what it counted.
 */
#ifndef WB_PLAN_H
#define WB_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/error.h>

#include "bench/lib/row.h"
#include "launch/counter.h"
#include "launch/nodes.h"

#define WB_STAGES 2u
#define WB_MAX_TIMES 1000u
/* Rows per node of a warm-up: 2 MiB and more, enough for every ring and socket
 * buffer to have been full once. */
#define WB_WARM_ROWS UINT64_C(262144)
/* A query may find the rings of the last one on their way back, and takes
 * others. */
#define WB_WARM_UPS 2u

/** CPU time of all threads of all processes. */
struct wb_usage {
    double user_s; /* in a timed run alone: the mean of all */
    double sys_s;
    double switches; /* of threads, in it: as they slept or were put aside */
    double setup_s;  /* outside of them, user and system: from fork to exit,
                        with the warm-up */
};

struct wb_plan_params {
    uint32_t nodes;         /* processes, 1..256 */
    uint32_t workers;       /* threads of each, 1..64; at most 1024 in all */
    uint64_t rows_per_node; /* 1..2^39 */
    uint32_t times;         /* timed runs, 1..WB_MAX_TIMES [1] */
    uint64_t distinct;      /* keys are folded into [0, distinct) [0: not] */
    enum wb_row row;        /* [narrow] */
    uint64_t timeout_ns;    /* [120 s] */
    bool pin;               /* process k to core k mod cores */
    struct wb_usage *usage_out; /* [NULL: not wanted]; set on success only,
                                   left alone by MPI */

    /* for the library's engine only; zero: its defaults */
    const char *transport;
    const char *listen; /* without port [the transport chooses] */
    uint64_t memory_bytes;
    uint32_t frame_bytes;
    uint32_t ring_frames;
    bool no_checksum;
    bool to_node; /* shuffles to nodes, not to workers */
    const struct weir_identity *identity; /* [nobody is asked] */
    struct wl_counter *counters; /* of all workers: rows of the running phase,
                                    in shared memory [NULL] */
};

/** Timed runs.
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
static inline uint32_t wb_plan_times(const struct wb_plan_params *params)
{
    return params->times != 0 ? params->times : 1;
}

/** What a worker reports; in shared memory, a cache line each. */
struct wb_tally {
    uint64_t begin_ns;
    uint64_t end_ns;
    uint64_t made_rows;
    uint64_t made_sum;
    uint64_t got_rows;
    uint64_t got_sum;
    uint64_t user_ns; /* of the whole process; by its worker 0, for the timed */
    uint64_t sys_ns;  /* run and what waits for it */
    uint64_t switches;
};

/** One worker's part of one phase. */
struct wb_worker {
    uint32_t id;     /* in the cluster: node * workers + worker */
    uint32_t worker; /* on its node */
    uint64_t first_row;
    uint64_t rows; /* to make */
    uint64_t distinct;
    enum wb_row row;
    bool checks_values; /* of every row that comes, not their sum alone */
    struct wb_tally *tally;
    uint64_t *edge[WB_STAGES];  /* rows received from each producer, by id;
                                  written by this worker */
    struct wl_counter *counter; /* NULL: nobody looks */
};

/** What an engine knows of the plan; valid until its close. */
struct wb_node {
    struct wb_plan_params params;
    uint32_t self;
    uint32_t run; /* number of the group, to make names unique */
    char (*address)[WL_ADDRESS_BYTES]; /* of every node, after all opened */
};

/**
 * How one opponent runs the plan. All entries are called in each process, in
 * this order; prepare, work and settle twice for the warm-up and once for each
 * timed run. Between entries all processes meet.
 */
struct wb_engine_ops {
    const char *name;

    /** Listen; write the own address into node->address. Ownership: *out is
     *  freed by close. */
    weir_err (*open)(const struct wb_node *node, void **out,
                     struct weir_error *err);
    /** Connect to the others. Blocks: until connected or failed. */
    weir_err (*connect)(void *engine, struct weir_error *err);
    /** Get ready for a phase: what a query's set-up costs is not timed. */
    weir_err (*prepare)(void *engine, struct weir_error *err);
    /** Run one worker to its end; timed. Threads: one per worker at once. */
    weir_err (*work)(void *engine, struct wb_worker *worker,
                     struct weir_error *err);
    /** Undo prepare; all workers of all nodes have ended well. */
    weir_err (*settle)(void *engine, struct weir_error *err);
    /** Free everything. Never fails. */
    void (*close)(void *engine);
};

/** Stubs for engines that need no such step. */
weir_err wb_no_step(void *engine, struct weir_error *err);

/** Everything that the workers report, in one shared area. */
struct wb_board {
    uint32_t workers;          /* in the cluster */
    uint64_t rows;             /* that should have been made */
    struct wb_tally *tally;    /* [workers] */
    uint64_t *edge[WB_STAGES]; /* [consumer * workers + producer] */
};

/**
 * Check a finished phase; see the list above.
 *
 * Errors:     WEIR_ERR_INTEGRITY, with the rule that is broken and the figures
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing
 */
weir_err wb_board_check(const struct wb_board *board, struct weir_error *err);

/** Seconds from the first begin to the last end.
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
double wb_board_seconds(const struct wb_board *board);

/**
 * Run the plan once with one engine, in forked processes.
 *
 * @param seconds_out  [out] of the timed run, of several the median; set on
 *                     WEIR_OK only, and then the rows were checked
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_INTEGRITY, and as wl_group_run
 * Blocks:     until the run has ended, at most params->timeout_ns
 * Threads:    one, the only one of the process
 * Ownership:  nothing
 */
weir_err wb_plan_run(const struct wb_engine_ops *ops,
                     const struct wb_plan_params *params, double *seconds_out,
                     struct weir_error *err);

/** Rows of worker `worker` (of `workers`) on a node with `rows` rows.
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
uint64_t wb_worker_rows(uint64_t rows, uint32_t workers, uint32_t worker);

#endif /* WB_PLAN_H */
