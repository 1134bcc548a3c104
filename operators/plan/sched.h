/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The scheduler of one worker: which fragment moves next.
 *
 *     fragment 0    result <- sort <- receive "by_no"     farthest downstream
 *     fragment 1    send "by_no" <- join <- receive ...
 *     fragment 2    send ... <- filter <- scan
 *
 * Every step goes to the first fragment that can move, starting at fragment 0.
 * So while one fragment waits for room in its rings, the worker goes on with
 * every fragment downstream of it, and with others that can move. It says that
 * it waits only when none can: the rule that keeps plans from deadlocks
 * (weir/shuffle.h).
 *
 * A fragment may have to wait for a join: one that sends to the left side of a
 * join that is going to filter it, and has only a scan below, does not move
 * before this worker's join has taken its right side. It loses little, for the
 * join takes no left rows until then; and no right side waits for a left one.
 */
#ifndef WI_OPERATORS_SCHED_H
#define WI_OPERATORS_SCHED_H

#include "operators/op/op.h"

/** Fragments of one worker. written by: the worker */
struct wi_sched {
    struct wi_op **root;       /* [n], downstream first; owned by the caller */
    const struct wi_op **join; /* [n] the join to wait for, NULL: none; or all
                                  NULL: none */
    uint32_t n;
    uint32_t n_done;
};

/**
 * Step the fragment farthest downstream that can move.
 *
 * Returns:    WI_MOVED | WI_WAIT_INPUT (none can move) | WI_DONE (all are done)
 *             | WI_FAILED (ctx->err of its operators)
 * Errors:     none
 * Blocks:     on files only
 * Threads:    the worker's
 * Ownership:  nothing
 */
enum wi_state wi_sched_step(struct wi_sched *sched);

#endif /* WI_OPERATORS_SCHED_H */
