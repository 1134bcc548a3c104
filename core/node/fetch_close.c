/* SPDX-License-Identifier: Apache-2.0 */
/* Closing a fetch waits, as a worker waits, for what is in flight: whatever
 * ends a transfer, the death of its link included, puts the operation on the
 * fetch's queue and wakes the worker. */
#include <weir/fetch.h>

#include "core/region/fetch.h"
#include "core/region/fetch_open.h"

void weir_fetch_close(weir_fetch *fetch)
{
    if (fetch == NULL || wi_engine_inherited(&fetch->node->engine)) {
        return;
    }
    struct weir_node *n = fetch->node;
    uint32_t worker = fetch->worker->idx;
    for (;;) {
        wi_node_lock(n);
        bool idle = wi_fetch_give_up(fetch);
        if (idle) {
            wi_fetch_leave(fetch);
        }
        wi_engine_kick(&n->engine);
        wi_node_unlock(n);
        if (idle || n->engine.cfg.manual) { /* the step frees it, at last */
            return;
        }
        (void)weir_worker_wait(n, worker, WEIR_FOREVER);
    }
}
