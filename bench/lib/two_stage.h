/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The two-stage plan over the library's public interface.
 *
 *   rows --writer 1--> shuffle 1 --reader 1--> writer 2 --> shuffle 2
 *                                              --reader 2--> count and sum
 *
 * One plan per node and query, one task per worker. A task is a state machine
 * that never blocks:
 *
 *     while ((rc = wb_task_step(task)) != WEIR_DONE) {
 *         if (rc == WEIR_AGAIN) weir_worker_wait(node, worker, WEIR_FOREVER);
 *         else if (rc != WEIR_OK) fail(rc);
 *     }
 *
 * It serves the farthest downstream first: reader 2, then reader 1 to writer 2,
 * then new rows to writer 1. Batches of reader 1 are pushed into writer 2 as
 * they lie in the ring.
 *
 * Of the library it uses the public interface only, so it is also an example of
 * a plan, and runs under weir_sim_task (return what wb_task_step returns).
 */
#ifndef WB_TWO_STAGE_H
#define WB_TWO_STAGE_H

#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>
#include <weir/node.h>

#include "bench/lib/plan.h"
#include "bench/lib/row.h"

struct wb_two_stage;
struct wb_task;

struct wb_two_stage_params {
    uint32_t workers;  /* of every node */
    uint64_t query_id; /* the same on every member, not used before */
    enum wb_row row;   /* [narrow] */
    bool to_node;      /* shuffles to nodes [to workers] */
};

/**
 * Open the query, its two shuffles, and writers and readers of all workers.
 *
 * @param node  joined; all its members take part
 *
 * Errors:     as weir_query_open, weir_shuffle_open, weir_writer_open
 * Blocks:     never
 * Threads:    any
 * Ownership:  wb_two_stage_close; the node stays the caller's
 */
weir_err wb_two_stage_open(weir_node *node,
                           const struct wb_two_stage_params *params,
                           struct wb_two_stage **out, struct weir_error *err);

/** Close the query; aborts it if a task has not ended.
 *  Errors: none. Blocks: shortly. Threads: one, no task runs any more.
 *  Ownership: frees plan and tasks; NULL is allowed. */
void wb_two_stage_close(struct wb_two_stage *plan);

/**
 * Why the query failed, after a step returned an error.
 *
 * Errors:     what failed the query, else `rc` with its text
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing
 */
weir_err wb_two_stage_status(struct wb_two_stage *plan, weir_err rc,
                             struct weir_error *err);

/**
 * The task of one worker.
 *
 * @param worker  what to make and where to report; borrowed until close
 *
 * Errors:     none
 * Blocks:     never
 * Threads:    the worker's thread
 * Ownership:  the plan's
 */
struct wb_task *wb_two_stage_task(struct wb_two_stage *plan,
                                  struct wb_worker *worker);

/**
 * One round of a task.
 *
 * Returns:    WEIR_OK (it moved, call again) | WEIR_AGAIN (nothing can move:
 *             wait for the worker) | WEIR_DONE (all rows made, forwarded,
 *             counted, and both ends of stream are out)
 * Errors:     what failed the query; WEIR_ERR_INTEGRITY (a source that is none)
 * Blocks:     never
 * Threads:    the worker's thread
 * Ownership:  nothing
 */
weir_err wb_task_step(struct wb_task *task);

#endif /* WB_TWO_STAGE_H */
