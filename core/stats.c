/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics: the engine's own counters and the sums over its workers. */
#include <weir/stats.h>

#include "core/shuffle.h"

void weir_node_stats_get(weir_node *node, struct weir_node_stats *stats_out)
{
    struct wi_engine *e = &node->engine;
    wi_node_lock(node);
    struct weir_node_stats s = e->stats;
    s.memory_bytes = e->mem_bytes;
    s.memory_peak_bytes = wi_max_u64(e->mem_peak, s.memory_bytes);
    s.memory_cap_bytes = e->budget.cap_bytes;
    for (uint32_t i = 0; i < e->cfg.workers; i++) {
        struct wi_worker_stats *w = &e->workers[i].stats;
        /* rlx: statistics */
        s.rows_sent += wi_load_rlx(&w->rows_sent);
        s.bytes_sent += wi_load_rlx(&w->bytes_sent);         /* rlx: as above */
        s.frames_sent += wi_load_rlx(&w->frames_sent);       /* rlx: as above */
        s.rows_received += wi_load_rlx(&w->rows_received);   /* rlx */
        s.bytes_received += wi_load_rlx(&w->bytes_received); /* rlx */
        s.frames_received += wi_load_rlx(&w->frames_received); /* rlx */
        s.pushes_blocked += wi_load_rlx(&w->pushes_blocked);   /* rlx */
        s.waits += wi_load_rlx(&w->waits);                     /* rlx */
    }
    wi_node_unlock(node);
    *stats_out = s;
}
