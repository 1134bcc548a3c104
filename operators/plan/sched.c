/* SPDX-License-Identifier: Apache-2.0 */
/* Downstream first: see sched.h. */
#include "operators/plan/sched.h"

#include "operators/op/ops.h"

/* A root that is done stays in the list but is not stepped. */
static bool is_done(const struct wi_op *root)
{
    return root->stats.state == WI_DONE;
}

static bool waits_for_join(const struct wi_sched *sched, uint32_t i)
{
    return sched->join != NULL && sched->join[i] != NULL &&
           wi_join_is_building(sched->join[i]);
}

enum wi_state wi_sched_step(struct wi_sched *sched)
{
    for (uint32_t i = 0; i < sched->n; i++) {
        struct wi_op *root = sched->root[i];
        struct wi_chunk none;
        if (is_done(root) || waits_for_join(sched, i)) {
            continue;
        }
        enum wi_state state = wi_op_step(root, &none);
        if (state == WI_MOVED || state == WI_FAILED) {
            return state;
        }
        if (state == WI_DONE) {
            wi_op_stop(root); /* its inputs may not be done yet */
            sched->n_done++;
            return WI_MOVED;
        }
    }
    return sched->n_done == sched->n ? WI_DONE : WI_WAIT_INPUT;
}
