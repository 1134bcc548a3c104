/* SPDX-License-Identifier: Apache-2.0 */
/* One step of the engine: events, queues, housekeeping. */
#include "core/node/step.h"

#include <stdlib.h>
#include <string.h>

#include "core/link/edge.h"
#include "core/link/engine.h"
#include "core/link/guest.h"
#include "core/link/in_end.h"
#include "core/link/join.h"
#include "core/link/life.h"
#include "core/link/link.h"
#include "core/link/messages.h"
#include "core/link/newcomer.h"
#include "core/link/news_send.h"
#include "core/link/send.h"
#include "core/link/warn.h"
#include "core/link/worker.h"
#include "core/node/stall.h"
#include "core/query/lost.h"
#include "core/query/ring_fail.h"
#include "core/region/regions.h"

static uint32_t take_failures(struct wi_engine *e)
{
    uint32_t n = 0;
    struct wi_lq_node *node;
    while ((node = wi_lq_take(&e->failures)) != NULL) {
        wi_query_ring_failed(wi_container_of(node, struct wi_in, failed));
        n++;
    }
    return n;
}

static uint32_t take_inbox(struct wi_engine *e)
{
    uint32_t n = 0;
    struct wi_lq_node *node;
    while ((node = wi_lq_take(&e->inbox)) != NULL) {
        wi_in_finish(wi_container_of(node, struct wi_in, inbox));
        n++;
    }
    return n;
}

static uint32_t take_self_msgs(struct wi_engine *e)
{
    uint32_t n = 0;
    struct wi_lq_node *node;
    while ((node = wi_lq_take(&e->self_msgs)) != NULL) {
        struct wi_ctl_msg *c = wi_container_of(node, struct wi_ctl_msg, node);
        struct wi_link *l = e->members[c->member].link;
        struct weir_error err;
        union wi_msg m;
        memcpy(&m, c->bytes, c->len);
        free(c);
        e->n_self_msgs--;
        n++;
        if (l != NULL && wi_link_message(l, &m, &err) < 0) {
            wi_link_down(l, false, err.code, err.message);
        }
    }
    return n;
}

static void housekeeping(struct wi_engine *e)
{
    uint64_t late_ns = e->now_ns - e->tick_ns;
    e->tick_ns = UINT64_MAX;
    wi_each_link(e, l)
    {
        wi_link_excuse(l, late_ns);
        wi_link_tick(l, e->now_ns);
    }
    wi_guests_tick(e, late_ns);
    wi_join_tick(e);
    wi_newcomers_tick(e, late_ns);
    wi_news_tick(e);
    wi_warn_tick(e);
    wi_stall_tick(e);
    wi_engine_due(e, wi_query_deadlines(e, e->now_ns));
    wi_engine_due(e, wi_regions_tick(e, late_ns));
}

/* Wake workers that sleep elsewhere (on a descriptor, in a simulator) and keep
 * part-filled frames of dense streams back: it is time to publish them. */
static void nudge(struct wi_engine *e)
{
    e->nudge_ns = UINT64_MAX;
    for (uint32_t i = 0; i < e->cfg.workers; i++) {
        wi_worker_notify(&e->workers[i], WI_ATTN_EVENT);
    }
}

void wi_engine_tend(struct wi_engine *e)
{
    (void)take_self_msgs(e);
    wi_links_flush(e);
}

uint32_t wi_engine_step(struct wi_engine *e, uint64_t now_ns)
{
    e->now_ns = wi_max_u64(e->now_ns, now_ns);
    /* E11 sc: cleared before the queues are looked at; pairs with E11 sc in
     * wi_engine_kick() */
    bool kicked = wi_xchg_sc(&e->kick, 0) != 0;
    uint32_t n = wi_link_events(e, WI_EVENTS);
    /* rlx: under the lock */
    if (kicked || n != 0 || e->now_ns >= e->tick_ns ||
        wi_load_rlx(&e->unsent) != 0) {
        n += take_failures(e) + take_inbox(e) + take_self_msgs(e);
        n += wi_regions_step(e);
        wi_edges_limbo(e);
        wi_edges_strays(e, false);
        wi_list_each(d, &e->dead)
        {
            (void)wi_link_bury(wi_container_of(d, struct wi_link, on_engine));
        }
        wi_guests_greet(e);
    }
    if (e->now_ns >= e->nudge_ns) {
        nudge(e);
        n++;
    }
    if (e->now_ns >= e->tick_ns) {
        housekeeping(e);
        wi_links_flush_late(e);
        n++;
    }
    wi_links_flush(e);
    return n + (kicked ? 1 : 0);
}

uint64_t wi_engine_next(const struct wi_engine *e)
{
    /* E11 sc: as above */
    return wi_load_sc(&e->kick) != 0 ? e->now_ns
                                     : wi_min_u64(e->tick_ns, e->nudge_ns);
}
