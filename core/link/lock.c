/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/lock.h"

#include "core/base/clock.h"

void wi_node_lock(struct weir_node *n)
{
    struct wi_engine *e = &n->engine;
    (void)pthread_mutex_lock(&n->lock);
    if (!e->cfg.manual) { /* an idle engine made its last step long ago */
        e->now_ns = wi_max_u64(e->now_ns, wi_clock_now());
    }
}

void wi_node_unlock(struct weir_node *n)
{
    (void)pthread_mutex_unlock(&n->lock);
}
