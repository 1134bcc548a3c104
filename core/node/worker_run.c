/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's loop over the steps of a program. */
#include <weir/worker.h>

#include <stdbool.h>
#include <stddef.h>

#include "core/base/clock.h"
#include "core/link/lock.h"

/* One turn of each step: WEIR_OK if one moved, WEIR_AGAIN if none could,
 * WEIR_DONE if all are done. A step that ends has moved: one that had its turn
 * before may wait for just that, and nobody would wake the worker. */
static weir_err take_turns(struct weir_step *steps, uint32_t n)
{
    bool moved = false;
    uint32_t left = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (steps[i].fn == NULL) {
            continue;
        }
        weir_err rc = steps[i].fn(steps[i].arg);
        if (rc < 0) {
            return rc;
        }
        if (rc == WEIR_DONE) {
            steps[i].fn = NULL;
        }
        left += rc != WEIR_DONE;
        moved = moved || rc == WEIR_OK || rc == WEIR_DONE;
    }
    if (left == 0) {
        return WEIR_DONE;
    }
    return moved ? WEIR_OK : WEIR_AGAIN;
}

weir_err weir_worker_run(weir_node *node, uint32_t worker,
                         struct weir_step *steps, uint32_t n,
                         uint64_t timeout_ns)
{
    if (node == NULL || worker >= node->engine.cfg.workers ||
        (steps == NULL && n != 0)) {
        return WEIR_ERR_ARG;
    }
    if (wi_engine_inherited(&node->engine)) {
        return WEIR_ERR_STATE;
    }
    bool timed = timeout_ns != WEIR_FOREVER;
    uint64_t until_ns = timed ? wi_time_add(wi_clock_now(), timeout_ns) : 0;
    for (;;) {
        weir_err rc = take_turns(steps, n);
        if (rc == WEIR_DONE || rc < 0) {
            return rc < 0 ? rc : WEIR_OK;
        }
        uint64_t left_ns = WEIR_FOREVER;
        if (timed) {
            uint64_t now_ns = wi_clock_now();
            if (now_ns >= until_ns) {
                return WEIR_AGAIN;
            }
            left_ns = until_ns - now_ns;
        }
        if (rc == WEIR_AGAIN) {
            (void)weir_worker_wait(node, worker, left_ns);
        }
    }
}
