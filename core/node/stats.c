/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics: the engine's own counters and the sums over its workers; links
 * and their ways. */
#include <weir/stats.h>

#include <stdio.h>

#include "core/link/engine.h"
#include "core/link/link.h"
#include "core/link/lock.h"
#include "core/link/worker.h"
#include "core/transport.h"

void weir_node_stats_get(weir_node *node, struct weir_node_stats *stats_out)
{
    if (stats_out == NULL) {
        return;
    }
    if (node == NULL || wi_engine_inherited(&node->engine)) {
        *stats_out = (struct weir_node_stats){0};
        return;
    }
    struct wi_engine *e = &node->engine;
    wi_node_lock(node);
    struct weir_node_stats s = e->stats;
    s.memory_bytes = e->mem_bytes;
    s.memory_peak_bytes = wi_max_u64(e->mem_peak, s.memory_bytes);
    s.memory_plan_bytes = e->budget.total_bytes;
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

static void link_stats(const struct wi_link *l, struct weir_link_stats *s)
{
    s->open = l->state == WI_LINK_OPEN;
    if (l->self) {
        (void)snprintf(s->transport, sizeof(s->transport), "self");
        (void)snprintf(s->why, sizeof(s->why), "self: the node itself");
    } else if (l->ep != NULL) {
        (void)snprintf(s->transport, sizeof(s->transport), "%s",
                       l->ep->transport->ops->name);
        (void)snprintf(s->why, sizeof(s->why), "%s", l->way);
    }
}

weir_err weir_link_stats_get(weir_node *node, uint32_t member,
                             struct weir_link_stats *stats_out)
{
    if (node == NULL || stats_out == NULL) {
        return WEIR_ERR_ARG;
    }
    struct wi_engine *e = &node->engine;
    if (wi_engine_inherited(e)) {
        return WEIR_ERR_STATE;
    }
    struct weir_link_stats s = {.open = 0};
    weir_err rc = WEIR_ERR_NOT_FOUND;
    wi_node_lock(node);
    if (member < e->n_members) {
        rc = WEIR_OK;
        if (e->members[member].link != NULL) {
            link_stats(e->members[member].link, &s);
        }
        *stats_out = s;
    }
    wi_node_unlock(node);
    return rc;
}

weir_err weir_node_why(weir_node *node, const char *address, char *text,
                       size_t text_bytes)
{
    if (node == NULL || text == NULL || text_bytes == 0) {
        return WEIR_ERR_ARG;
    }
    struct wi_engine *e = &node->engine;
    if (wi_engine_inherited(e)) {
        return WEIR_ERR_STATE;
    }
    char line[WI_REASON_BYTES];
    e->ops->why(e->transport, address, NULL, line);
    (void)snprintf(text, text_bytes, "%s", line);
    return WEIR_OK;
}
