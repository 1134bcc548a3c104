/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Runs: a plan at work on the members of a cluster.
 *
 * Every member opens the run of the same plan under the same id; the first
 * member's first worker gets the answer.
 *
 *   weir_run_open
 *     weir_run_wait                 threads of the library, one per worker
 *     or weir_run_step(worker) ...  the program's own threads; also under sim.h
 *   weir_run_stats
 *   weir_run_close
 *
 * What fails one member's run fails it on all, with the same code and message:
 * also a table that cannot be read on one of them, once its run is open there.
 * A member that has done its part waits for the first one to have the whole
 * answer, so that it hears of faults elsewhere.
 */
#ifndef WEIR_RUN_H
#define WEIR_RUN_H

#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>
#include <weir/node.h>
#include <weir/plan.h>
#include <weir/shuffle.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_run weir_run;

/**
 * Takes rows of the answer; called on member 0, by its worker 0.
 *
 * Returns WEIR_OK, WEIR_DONE (enough: what produces them is stopped), or an
 * error, which fails the run. The batch is valid during the call.
 */
typedef weir_err (*weir_rows_fn)(void *arg, const struct ArrowArray *batch,
                                 struct weir_error *err);

/** Options. Zero means the default in brackets. */
struct weir_run_params {
    uint64_t query_id;     /* as weir_query_params.id; not 0 */
    uint64_t deadline_ns;  /* from now [none] */
    uint64_t memory_bytes; /* that all operators of this node may hold, besides
                               the node's rings and the rows that tables keep;
                               shared out equally to its workers. Too little
                               for what operators take when they open fails the
                               run before a row moves; either way the message
                               says to what it is to be raised [1 GiB] */
    int timed;             /* 1: fill the times of weir_op_stats */
    weir_rows_fn rows;     /* needed on member 0 */
    void *rows_arg;
    uint64_t reserved[8]; /* must be zero */
};

/** Most shuffles that a run of this plan has open, for
 *  weir_node_params.max_shuffles, if a program sets that.
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
WEIR_API uint32_t weir_run_shuffles(const weir_plan *plan);

/**
 * Open a run on this member: its query, its shuffles, its operators.
 *
 * Once the query is open, this does not fail any more: what goes wrong then,
 * such as too few shuffles or a file that is not there, is the outcome of the
 * run on every member.
 *
 * @param plan  with a result; must outlive the run, and not change meanwhile
 *
 * Errors:     as weir_query_open, WEIR_ERR_ARG, WEIR_ERR_STATE (the plan has no
 *             result)
 * Blocks:     on files
 * Threads:    any
 * Ownership:  weir_run_close
 */
WEIR_API weir_err weir_run_open(weir_node *node, const weir_plan *plan,
                                const struct weir_run_params *params,
                                weir_run **run_out, struct weir_error *err);

/**
 * In place of weir_run_open, on a member that cannot open the run at all, for
 * example because its plan could not be read: fails the run on every member.
 *
 * @param cause  code and message
 * @param err    what all members report: the cause, or one that came before
 *
 * Errors:     always one: what failed the run; as weir_query_open
 * Blocks:     until the first member that lives has heard of it. On the first
 *             member: never; the others hear when they open the run, while its
 *             node is open
 * Threads:    any; no worker of the node is in use. Not on a manual node
 * Ownership:  nothing
 */
WEIR_API weir_err weir_run_fail(weir_node *node, uint64_t query_id,
                                const struct weir_error *cause,
                                struct weir_error *err);

/**
 * Do some of the work of one worker: that of the operator farthest downstream
 * which can move. Never blocks on others.
 *
 * Returns:    WEIR_OK (it moved, call again) | WEIR_AGAIN (nothing could move:
 *             weir_worker_wait, then call again) | WEIR_DONE (this worker's
 *             part is done)
 * Errors:     what failed the run; weir_run_status has the message
 * Blocks:     on files only
 * Threads:    one per worker
 * Ownership:  nothing
 */
WEIR_API weir_err weir_run_step(weir_run *run, uint32_t worker);

/**
 * Run all workers of this node in threads of the library, to the end. A worker
 * is one thread's at a time: to have several runs under way on a node, step
 * them.
 *
 * Errors:     what failed the run
 * Blocks:     until it is done or failed
 * Threads:    any, once; instead of weir_run_step
 * Ownership:  nothing
 */
WEIR_API weir_err weir_run_wait(weir_run *run, struct weir_error *err);

/** How the run stands. Errors: what failed it. Blocks: never. Threads: any.
 *  Ownership: nothing. */
WEIR_API weir_err weir_run_status(weir_run *run, struct weir_error *err);

/** Cancel it on all members. Errors: none. Blocks: never. Threads: any.
 *  Ownership: nothing. */
WEIR_API void weir_run_cancel(weir_run *run, const char *reason);

/** What an operator did on this node, over all its workers. */
struct weir_op_stats {
    char name[64]; /* the plan's; "result" for what hands out the answer */
    char what[24]; /* "join", "scan", ... */
    uint64_t rows; /* given out; shuffles: sent; result: handed over */
    uint64_t batches;
    uint64_t bytes;          /* shuffles: of frames sent, else 0 */
    uint64_t busy_ns;        /* without its inputs */
    uint64_t wait_input_ns;  /* nothing had arrived */
    uint64_t wait_output_ns; /* a ring was full */
    uint64_t memory_bytes;   /* most that was held */
    uint64_t filtered;       /* shuffles: rows that were not sent, because a
                                join above filtered them */
    uint64_t rows_least;     /* of its workers: the one with the least and */
    uint64_t rows_most;      /* the most rows: skew; shuffles: received */
};

/** Number of operators with statistics: those that run, and "result".
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
WEIR_API uint32_t weir_run_operators(const weir_run *run);

/** Statistics of one operator, in the plan's order, "result" last; once no
 *  worker steps the run any more.
 *  Errors: WEIR_ERR_NOT_FOUND. Blocks: never. Threads: one. Ownership:
 *  nothing. */
WEIR_API weir_err weir_run_stats(const weir_run *run, uint32_t idx,
                                 struct weir_op_stats *stats_out);

/** What a worker of this node sent to a destination of a shuffle; idx, and when
 *  to call it, as for weir_run_stats.
 *  Errors: WEIR_ERR_NOT_FOUND (no shuffle, or the worker sends nothing there).
 *  Blocks: never. Threads: one. Ownership: nothing. */
WEIR_API weir_err weir_run_edge(const weir_run *run, uint32_t idx,
                                uint32_t worker, uint32_t dest,
                                struct weir_edge_stats *stats_out);

/** Rows handed to shuffles and to the program so far by this node, for a
 *  progress display. Errors: none. Blocks: shortly. Threads: any, at any time.
 *  Ownership: nothing. */
WEIR_API uint64_t weir_run_progress(const weir_run *run);

/** Close a run; one that has not ended is aborted on all members. NULL is
 *  allowed. Errors: none. Blocks: shortly. Threads: any; no worker steps it any
 *  more. Ownership: frees run. */
WEIR_API void weir_run_close(weir_run *run);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_RUN_H */
