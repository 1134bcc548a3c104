/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The loop of a worker, for programs that have none of their own: what the
 * worker does is cut into steps, each of which moves what it can and returns.
 *
 *   weir_err send(void *arg)        weir_err receive(void *arg)
 *     push, until WEIR_AGAIN          take batches, until WEIR_AGAIN
 *     finish                          WEIR_DONE at the end
 *
 *   struct weir_step steps[] = {{receive, &me}, {send, &me}};
 *   weir_worker_run(node, 0, steps, 2, WEIR_FOREVER);
 *
 * A step that cannot move never keeps another one from moving, so the rule of
 * shuffle.h holds by itself: nothing deadlocks, as long as no step waits.
 * weir_worker_run is nothing but the loop of node.h around them.
 */
#ifndef WEIR_WORKER_H
#define WEIR_WORKER_H

#include <stdint.h>

#include <weir/error.h>
#include <weir/node.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One thing that a worker does. */
struct weir_step {
    /**
     * Move what can be moved, without waiting.
     *
     * Returns: WEIR_OK (moved: call again soon) | WEIR_AGAIN or WEIR_HELD
     * (nothing can move: call again when something has happened for the
     * worker; a step that holds batches releases some of them itself) |
     * WEIR_DONE (never again) | an error, which ends the run
     */
    weir_err (*fn)(void *arg);
    void *arg;
};

/**
 * Call the steps of a worker in turn until each has said WEIR_DONE. Sleeps in
 * weir_worker_wait while none can move.
 *
 * @param steps       n of them; the fn of one that is done is set to
 *                    NULL, so that a run that was left can be taken up again
 * @param timeout_ns  relative; WEIR_FOREVER = no limit
 *
 * Returns:    WEIR_OK (all are done) | WEIR_AGAIN (timeout)
 * Errors:     what a step returned; WEIR_ERR_ARG (NULL, no such worker)
 * Blocks:     until all are done, one fails, or at most timeout_ns and as long
 *             as a step takes
 * Threads:    the thread of that worker
 * Ownership:  nothing; args must outlive the call
 */
WEIR_API weir_err weir_worker_run(weir_node *node, uint32_t worker,
                                  struct weir_step *steps, uint32_t n,
                                  uint64_t timeout_ns);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_WORKER_H */
