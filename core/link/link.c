/* SPDX-License-Identifier: Apache-2.0 */
/* Links: made, asked, freed. The states are in link.h. */
#include "core/link/link.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/link/edge.h"
#include "core/link/engine.h"
#include "core/link/members.h"

/* The table of a link's rings: read under RCU, so it goes as the rings do. */
struct ins {
    struct wi_rcu_head rcu;
    _Atomic(struct wi_in *) in[];
};

static void free_ins(_Atomic(struct wi_in *) *in, bool readers)
{
    if (in == NULL) {
        return;
    }
    struct ins *ins = wi_container_of(in, struct ins, in);
    if (readers) {
        wi_rcu_free(&ins->rcu, ins);
    } else {
        free(ins);
    }
}

static weir_err alloc_tables(struct wi_link *l)
{
    uint32_t n = l->engine->budget.n_units;
    struct ins *ins = calloc(1, sizeof(*ins) + n * sizeof(*l->in));
    l->in = ins != NULL ? ins->in : NULL;
    l->used = calloc((n + 63) / 64, sizeof(*l->used));
    l->taken = calloc((n + 63) / 64, sizeof(*l->taken));
    return l->in != NULL && l->used != NULL && l->taken != NULL
               ? WEIR_OK
               : WEIR_ERR_NO_MEMORY;
}

void wi_link_enter(struct wi_link *l, enum wi_link_state state)
{
    l->state = state;
    l->since_ns = l->engine->now_ns;
}

struct wi_link *wi_link_make(struct wi_engine *e, uint32_t member)
{
    struct wi_link *l = aligned_alloc(WI_CACHE_LINE, sizeof(*l));
    if (l == NULL) {
        return NULL;
    }
    memset(l, 0, sizeof(*l));
    l->engine = e;
    l->member = member;
    l->slot = member;
    l->outside = member >= e->cfg.max_members;
    l->self = member == e->self || e->members[member].own;
    wi_list_init(&l->on_engine);
    wi_list_init(&l->unsent);
    wi_list_init(&l->ins);
    wi_list_init(&l->waiting);
    wi_list_init(&l->outs);
    wi_list_init(&l->active);
    wi_list_init(&l->transferring);
    l->transfer.kind = WI_ITEM_TRANSFER;
    wi_list_init(&l->transfer.posting);
    wi_list_init(&l->transfer.on_link);
    wi_lq_init(&l->transfers);
    wi_lq_init(&l->items);
    wi_lq_init(&l->ctl);
    l->last_rx_ns = e->now_ns;
    l->idle_since_ns = e->now_ns;
    l->deadline_ns = wi_time_add(e->now_ns, e->cfg.connect_ns);
    l->patience_ns = wi_time_add(e->now_ns, e->cfg.connect_ns / 2);
    if (!l->outside && alloc_tables(l) != WEIR_OK) {
        free_ins(l->in, false);
        free(l->used);
        free(l->taken);
        free(l);
        return NULL;
    }
    e->members[member].link = l;
    e->members[member].rested = false;
    e->members[member].n_links++;
    if (!l->outside) {
        /* E9 release: the link's fields; pairs with E9 acquire in
         * collect_one() */
        wi_store_rel(&e->slots[l->slot], l);
    }
    wi_engine_due(e,
                  wi_min_u64(l->patience_ns, e->now_ns + e->cfg.detect_ns / 4));
    return l;
}

/* Behind the last member come those who are none. */
static uint32_t first_outside(const struct wi_engine *e, uint32_t i)
{
    return i < e->n_members ? i : wi_max_u32(i, e->cfg.max_members);
}

struct wi_link *wi_link_after(const struct wi_engine *e,
                              const struct wi_link *l)
{
    uint32_t i = first_outside(e, l != NULL ? l->member + 1 : 0);
    while (i < wi_engine_entries(e) && e->members[i].link == NULL) {
        i = first_outside(e, i + 1);
    }
    return i < wi_engine_entries(e) ? e->members[i].link : NULL;
}

weir_err wi_link_alloc_peer(struct wi_link *l, uint32_t n_units)
{
    l->out = calloc(n_units, sizeof(struct wi_out *));
    l->peer_used = calloc((n_units + 63) / 64, sizeof(uint64_t));
    l->peer_pages = calloc(n_units, sizeof(*l->peer_pages));
    return l->out != NULL && l->peer_used != NULL && l->peer_pages != NULL
               ? WEIR_OK
               : WEIR_ERR_NO_MEMORY;
}

void wi_link_drain(struct wi_link *l)
{
    free(l->ctl_next);
    l->ctl_next = NULL;
    struct wi_lq_node *n;
    while ((n = wi_lq_take(&l->ctl)) != NULL) {
        free(wi_container_of(n, struct wi_ctl_msg, node));
    }
    /* rlx: nobody else has the post lock */
    wi_store_rlx(&l->ctl_taken, l->ctl_put);
}

void wi_link_free(struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    wi_list_remove(&l->on_engine);
    wi_link_drain(l);
    if (!l->self && l->peer_area != NULL) {
        l->home->ops->unmap(l->home, l->peer_area, l->peer_area_bytes);
    }
    if (!l->self && l->peer_bells != NULL) {
        l->home->ops->unmap(l->home, l->peer_bells, l->peer_bell_bytes);
    }
    if (l->area.base != NULL) {
        wi_engine_area_close(e, l->home, &l->area);
    }
    free(l->offsets);
    free_ins(l->in, true);
    free(l->used);
    free(l->taken);
    free(l->out);
    free(l->peer_used);
    free(l->peer_pages);
    wi_member_unlinked(e, l->member);
    wi_rcu_free(&l->rcu, l);
}

/* ---- uses ---------------------------------------------------------------- */

bool wi_link_has_edges(const struct wi_link *l, bool abandoned)
{
    wi_list_each(n, &l->ins)
    {
        struct wi_in *in = wi_container_of(n, struct wi_in, item.on_link);
        if (!in->closed && (abandoned || !in->abandoned)) {
            return true;
        }
    }
    wi_list_each(m, &l->outs)
    {
        struct wi_out *o = wi_container_of(m, struct wi_out, item.on_link);
        /* rlx: only the engine sets it, under the node's lock */
        if (!o->closed && (abandoned || wi_load_rlx(&o->abandoned) == 0)) {
            return true;
        }
    }
    return false;
}

/* A reader or writer may stay on a closed edge as long as it likes: it does not
 * need the link. */
bool wi_link_busy(const struct wi_link *l)
{
    return wi_link_has_edges(l, true) || !wi_list_empty(&l->waiting) ||
           l->engine->shares->busy(l);
}

bool wi_link_needed(const struct wi_link *l)
{
    /* Edges are counted one by one: the queries first. */
    return l->engine->up->needs(l->engine, l->member) || wi_link_busy(l);
}

uint64_t wi_link_idle_until(const struct wi_link *l)
{
    const struct wi_engine *e = l->engine;
    uint32_t peers_end = e->cfg.max_members + (uint32_t)e->cfg.max_peers;
    bool unheld =
        l->outside && l->member < peers_end && e->members[l->member].holds == 0;
    return wi_time_add(l->idle_since_ns, unheld ? 0 : e->cfg.idle_close_ns);
}

void wi_link_rest(struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    if (l->state == WI_LINK_OPEN && !wi_link_needed(l)) {
        l->idle_since_ns = e->now_ns;
        wi_engine_due(e, wi_link_idle_until(l));
    }
}
