/* SPDX-License-Identifier: Apache-2.0 */
#include "core/region/regions.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/link/life.h"
#include "core/region/call.h"
#include "core/region/extent.h"
#include "core/region/fetch.h"
#include "core/region/fetch_open.h"
#include "core/region/gone.h"
#include "core/region/owner.h"
#include "core/region/piece.h"
#include "core/region/share.h"

static struct wi_share *share_of(struct wi_list *n)
{
    return wi_container_of(n, struct wi_share, on_regions);
}

static struct weir_fetch *fetch_of(struct wi_list *n)
{
    return wi_container_of(n, struct weir_fetch, on_regions);
}

static struct weir_region *region_of(struct wi_list *n)
{
    return wi_container_of(n, struct weir_region, on_regions);
}

weir_err wi_regions_init(struct weir_node *n)
{
    struct wi_regions *rs = calloc(1, sizeof(*rs));
    if (rs == NULL) {
        return WEIR_ERR_NO_MEMORY;
    }
    rs->node = n;
    wi_list_init(&rs->regions);
    wi_table_init(&rs->names);
    wi_list_init(&rs->fetches);
    wi_list_init(&rs->asks);
    wi_list_init(&rs->shares);
    wi_list_init(&rs->waiting);
    wi_list_init(&rs->staged);
    wi_list_init(&rs->to_fill);
    wi_list_init(&rs->filled);
    wi_list_init(&rs->gone);
    wi_lq_init(&rs->unused);
    n->engine.regions = rs;
    n->engine.shares = &wi_region_upcalls;
    return WEIR_OK;
}

void wi_regions_fini(struct wi_engine *e)
{
    struct wi_regions *rs = e->regions;
    if (rs == NULL) {
        return;
    }
    wi_list_each(f, &rs->fetches)
    {
        if (wi_fetch_give_up(fetch_of(f))) {
            wi_fetch_free(fetch_of(f));
        }
    }
    (void)wi_pieces_sweep(e);
    wi_list_each(r, &rs->regions)
    {
        wi_region_settle(region_of(r));
    }
    struct wi_gone *g;
    while ((g = wi_gone_take(e)) != NULL) {
        wi_gone_end(g);
    }
    wi_table_fini(&rs->names);
    free(rs);
    e->regions = NULL;
}

/* ---- the step ------------------------------------------------------------ */

uint32_t wi_regions_step(struct wi_engine *e)
{
    struct wi_regions *rs = e->regions;
    uint32_t moved = wi_pieces_sweep(e);
    wi_list_each(s, &rs->shares)
    {
        wi_owner_ungrant(share_of(s));
        if (share_of(s)->room) {
            share_of(s)->room = false;
            wi_ops_go_on(share_of(s));
        }
    }
    if (!wi_list_empty(&rs->to_fill) || !wi_list_empty(&rs->gone)) {
        e->fill_fn(e->hook_arg);
    }
    moved += wi_calls_retry(e);
    wi_extents_told(e);
    wi_list_each(f, &rs->fetches)
    {
        if (fetch_of(f)->closed && !fetch_of(f)->left && e->cfg.manual &&
            wi_fetch_give_up(fetch_of(f))) {
            wi_fetch_leave(fetch_of(f));
            moved++;
        }
    }
    return moved;
}

/* ---- time ---------------------------------------------------------------- */

/* Operations on a link whose time is over. Returns when the next one's is. */
static uint64_t ops_due(struct wi_share *s, uint64_t now_ns)
{
    uint64_t next = UINT64_MAX;
    wi_list_each(n, &s->ops)
    {
        struct wi_op *op = wi_container_of(n, struct wi_op, on_share);
        if (op->code != WEIR_OK) {
            continue;
        }
        if (op->deadline_ns <= now_ns) {
            wi_op_fail(op, WEIR_ERR_TIMEOUT, "no answer in %.1f s",
                       (double)op->fetch->timeout_ns / 1e9);
        } else {
            next = wi_min_u64(next, op->deadline_ns);
        }
    }
    return next;
}

/* Who has not let go of what was revoked by now loses its link. Returns when
 * the next one has to. */
static uint64_t evict(struct weir_region *r, uint64_t now_ns, uint64_t late_ns)
{
    uint64_t next = UINT64_MAX;
    r->until_ns = wi_time_add(r->until_ns, late_ns);
    wi_list_each(n, &r->parts)
    {
        struct wi_extent *p = wi_container_of(n, struct wi_extent, on_region);
        p->until_ns = wi_time_add(p->until_ns, late_ns);
        uint64_t until_ns = r->closed    ? r->until_ns
                            : p->revoked ? p->until_ns
                                         : UINT64_MAX;
        if (now_ns < until_ns) {
            next = wi_min_u64(next, until_ns);
            continue;
        }
        wi_list_each(k, &p->holders)
        {
            struct wi_holder *h = wi_container_of(k, struct wi_holder, on_part);
            wi_link_down(h->share->link, false, WEIR_ERR_PEER_LOST,
                         "it does not give back a region that was revoked");
        }
    }
    return next;
}

uint64_t wi_regions_tick(struct wi_engine *e, uint64_t late_ns)
{
    struct wi_regions *rs = e->regions;
    uint64_t next = UINT64_MAX;
    wi_list_each(s, &rs->shares)
    {
        next = wi_min_u64(next, ops_due(share_of(s), e->now_ns));
    }
    wi_list_each(n, &rs->regions)
    {
        next = wi_min_u64(next, evict(region_of(n), e->now_ns, late_ns));
    }
    return next;
}

/* ---- the end ------------------------------------------------------------- */

void wi_regions_abort(struct weir_node *n)
{
    struct wi_regions *rs = n->engine.regions;
    uint32_t left = 0;
    wi_node_lock(n);
    wi_list_each(f, &rs->fetches)
    {
        if (!fetch_of(f)->closed) {
            fetch_of(f)->closed = true;
            (void)wi_fetch_give_up(fetch_of(f));
            left++;
        }
    }
    wi_list_each(r, &rs->regions)
    {
        if (!region_of(r)->closed) {
            left++;
            wi_owner_unname(region_of(r));
            region_of(r)->closed = true;
            region_of(r)->until_ns = n->engine.now_ns;
            wi_region_revoke(region_of(r));
            wi_region_settle(region_of(r));
        }
    }
    while (!wi_list_empty(&rs->asks)) {
        wi_asks_free(
            wi_container_of(rs->asks.next, struct weir_asks, on_regions));
        left++;
    }
    if (left != 0) {
        wi_log(&n->engine.log, WI_LOG_ERROR,
               "node closed with %u regions, fetches or asks open, which ends "
               "them: close them before their node",
               left);
    }
    wi_node_unlock(n);
}
