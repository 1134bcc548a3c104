/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/edge_out.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/bitmap.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/link/engine.h"
#include "core/link/members.h"
#include "core/link/post.h"
#include "core/link/send.h"
#include "core/link/worker.h"

/* First frame of a ring that has no pages yet: many rings carry a few rows. */
#define START_BYTES 2048u

/* An edge that waits for a ring looks around no more often than this. */
#define LOOK_NS 1000000u

/* So long nothing moves in the rings of a link before a query is given up, or
 * stall_ns if that is less. */
#define PATIENCE_NS 30000000000u

/* First run of n free units, UINT32_MAX: none. */
static uint32_t find_units(const uint64_t *bits, uint32_t total, uint32_t n)
{
    uint32_t run = 0;
    for (uint32_t i = 0; i < total; i++) {
        if (i % 64 == 0 && ~bits[i / 64] == 0) { /* all in use */
            run = 0;
            i += 63;
            continue;
        }
        run = wi_bitmap_test(bits, i) ? 0 : run + 1;
        if (run == n) {
            return i + 1 - n;
        }
    }
    return UINT32_MAX;
}

/* ---- WAITING to OPEN ----------------------------------------------------- */

/* Units for one more ring: full size if every other edge that is planned for
 * keeps its minimum, and, where more may come than that, while half of the area
 * is free; else the minimum. */
static uint32_t take_units(struct wi_link *l, struct wi_out *o)
{
    struct wi_engine *e = l->engine;
    uint32_t most = e->cfg.max_shuffles * e->cfg.workers;
    most *= e->budget.per_node ? 1 : e->members[l->member].workers;
    uint32_t reserve = most > l->live_outs ? most - l->live_outs - 1 : 0;
    uint32_t want = e->budget.ring_units;
    if (l->peer_free < reserve + want ||
        (e->unlimited && l->peer_free < l->peer_units / 2)) {
        want = 1;
    }
    for (uint32_t n = want; n >= 1; n--) {
        uint32_t first = find_units(l->peer_used, l->peer_units, n);
        if (first != UINT32_MAX) {
            o->edge = first;
            o->units = n;
            wi_bitmap_mark(l->peer_used, first, n, true);
            l->peer_free -= n;
            return n;
        }
    }
    return 0;
}

static void keep_units(struct wi_link *l, struct wi_out *o, uint32_t n)
{
    wi_bitmap_mark(l->peer_used, o->edge + n, o->units - n, false);
    l->peer_free += o->units - n;
    o->units = n;
}

/* Where this side has memory for the ring, units go back with that: else more
 * rings than the plan has would have memory, those that end counted in. */
static void give_units(struct wi_link *l, struct wi_out *o)
{
    if (o->units != 0) {
        keep_units(l, o, 0);
    }
}

/* Shorten frames that are a little longer than what one write takes, so that
 * their ends cost no second write. */
static uint32_t fit_writes(const struct wi_link *l, uint32_t frame_bytes)
{
    uint32_t most = l->mapped ? 0 : l->home->ops->write_bytes;
    uint32_t over = most != 0 && most < frame_bytes ? frame_bytes % most : 0;
    return over < frame_bytes / 16 ? frame_bytes - over : frame_bytes;
}

/* Place the ring in the peer's area; the slack puts it on other cache sets for
 * each peer. */
static void locate(struct wi_link *l, struct wi_out *o)
{
    uint32_t most = wi_budget_frame(l->peer_unit_bytes);
    uint32_t slack = wi_budget_slack(most);
    uint32_t colour = l->member * 9 * WI_RING_ALIGN % slack;
    uint64_t units = (uint64_t)o->edge * l->peer_unit_bytes;
    o->remote_off = l->peer_units * sizeof(struct wi_ring_ctl) + units + colour;
    o->frame_bytes =
        fit_writes(l, wi_min_u32(most, l->engine->cfg.frame_bytes));
    uint32_t frames = (o->units * l->peer_unit_bytes - slack) / o->frame_bytes;
    frames = wi_min_u32(frames, l->engine->cfg.ring_frames);
    o->size = frames * o->frame_bytes;
}

/* Of a ring that was used before, the pages are there. */
static void find_pages(const struct wi_link *l, struct wi_out *o)
{
    bool lazy = l->mapped && (l->home->ops->caps & WI_CAP_LAZY) != 0;
    /* rlx: less than there is does no harm */
    uint32_t had = lazy ? wi_load_rlx(&l->peer_pages[o->edge]) : o->size;
    o->pages_bytes = wi_min_u32(had, o->size);
    o->start_bytes = o->pages_bytes == o->size
                         ? o->frame_bytes
                         : wi_min_u32(o->frame_bytes, START_BYTES);
}

static weir_err give_memory(struct wi_link *l, struct wi_out *o,
                            struct weir_error *err)
{
    find_pages(l, o);
    if (l->mapped) {
        o->mapped = true;
        o->mem = l->peer_area + o->remote_off;
        o->ctl = (struct wi_ring_ctl *)(void *)l->peer_area + o->edge;
        /* rlx: EDGE_OPEN, sent later, orders them */
        wi_store_rlx(&o->ctl->tail, 0);
        wi_store_rlx(&o->ctl->producer_waits, 0); /* rlx: as above */
        return WEIR_OK;
    }
    o->ctl = &o->own_ctl;
    o->mem_base =
        wi_arena_alloc_for(l->arena, l->member, o->size + WI_RING_ALIGN, err);
    o->mem = o->mem_base;
    return o->mem != NULL ? WEIR_OK : WEIR_ERR_BUDGET;
}

static void announce(struct wi_link *l, const struct wi_out *o)
{
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_EDGE_OPEN);
    m.edge_open.edge = o->edge;
    m.edge_open.epoch = o->epoch;
    m.edge_open.shuffle = o->shuffle_id;
    m.edge_open.query = o->query_id;
    m.edge_open.fingerprint = o->fingerprint;
    m.edge_open.ring_off = o->remote_off;
    m.edge_open.ring_bytes = o->size;
    m.edge_open.producer_worker = o->producer_worker;
    m.edge_open.consumer_worker = o->consumer_worker;
    wi_link_send_with(l, &m);
}

/* Can units come free: those of rings that end, or, where queries wait for one
 * another, of rings of other queries? Its own do not, as it waits. */
static bool may_come_free(const struct wi_link *l, const struct wi_out *o)
{
    uint32_t open = 0;
    wi_list_each(i, &l->outs)
    {
        struct wi_out *other = wi_container_of(i, struct wi_out, item.on_link);
        /* rlx: only the engine changes it, under the node's lock */
        bool ends = wi_load_rlx(&other->state) != WI_OUT_OPEN;
        if ((ends && other->units != 0) ||
            (l->engine->unlimited && other->query_id != o->query_id)) {
            return true;
        }
        open += ends ? 0 : other->units;
    }
    return open != l->peer_units - l->peer_free; /* some are in limbo */
}

static void fail_starved(struct wi_link *l, struct wi_out *o)
{
    char text[WI_TEXT_BYTES];
    (void)snprintf(text, sizeof(text),
                   "%s grants %u rings to this node, all are in use: raise "
                   "its max_shuffles or memory_bytes",
                   wi_member_name(l->engine, l->member), l->peer_units);
    o->given_up = true;
    l->engine->up->edge_failed(o, WEIR_ERR_BUDGET, text);
}

/* No units. Some may come free; but see wi_out_tick(). */
static void no_units(struct wi_link *l, struct wi_out *o)
{
    struct wi_engine *e = l->engine;
    if (!may_come_free(l, o)) {
        fail_starved(l, o);
    } else {
        wi_engine_due(e, wi_engine_about(e, LOOK_NS));
    }
}

/* False: no units now; older edges will free some when they close. Without
 * memory the edge's query fails, and those of others are not kept waiting. */
static bool place_one(struct wi_link *l, struct wi_out *o)
{
    if (o->given_up) {
        return true;
    }
    if (take_units(l, o) == 0) {
        no_units(l, o);
        return o->given_up;
    }
    struct weir_error err;
    locate(l, o);
    weir_err rc = give_memory(l, o, &err);
    if (rc != WEIR_OK && o->units > 1) { /* the least is in the plan */
        keep_units(l, o, 1);
        locate(l, o);
        rc = give_memory(l, o, &err);
    }
    if (rc != WEIR_OK) {
        give_units(l, o);
        if (l->engine->unlimited && may_come_free(l, o)) {
            wi_engine_due(l->engine, wi_engine_about(l->engine, LOOK_NS));
            return false;
        }
        l->engine->up->edge_failed(o, err.code, err.message);
        return true;
    }
    wi_list_remove(&o->item.on_link);
    wi_list_push_back(&l->outs, &o->item.on_link);
    l->out[o->edge] = o;
    l->live_outs++;
    o->epoch = ++l->next_epoch;
    o->checksum = (l->caps & WI_WIRE_CAP_CHECKSUM) != 0;
    announce(l, o);
    /* E7 release: the ring's fields; pairs with E7 acquire in
     * wi_lane_ready() */
    wi_store_rel(&o->state, WI_OUT_OPEN);
    wi_worker_notify(o->worker, WI_ATTN_EVENT);
    return true;
}

void wi_out_place(struct wi_link *l)
{
    wi_list_each(n, &l->waiting)
    {
        struct wi_out *o = wi_container_of(n, struct wi_out, item.on_link);
        if (l->state != WI_LINK_OPEN || !place_one(l, o)) {
            return;
        }
    }
}

/* Queries that hold rings may wait for one another, over several nodes. As long
 * as everybody's rings are with the lowest numbers, the first one of all can
 * finish. So if one waits here for a ring that a higher number holds, the
 * higher one fails. If no ring here has a higher number, nothing fails: the
 * cause, if there is one, is on another node. */
static void give_up(struct wi_link *l, uint64_t first)
{
    struct wi_out *victim = NULL;
    wi_list_each(n, &l->outs)
    {
        struct wi_out *o = wi_container_of(n, struct wi_out, item.on_link);
        /* rlx: only the engine changes it, under the node's lock */
        bool holds = wi_load_rlx(&o->state) == WI_OUT_OPEN && !o->given_up;
        if (holds &&
            o->query_id > (victim != NULL ? victim->query_id : first)) {
            victim = o;
        }
    }
    if (victim != NULL) {
        fail_starved(l, victim);
    }
}

/* Grows while anything moves in the rings of this link. */
static uint64_t moved(const struct wi_link *l)
{
    uint64_t sum = 0;
    wi_list_each(n, &l->outs)
    {
        struct wi_out *o = wi_container_of(n, struct wi_out, item.on_link);
        /* rlx: positions of others, a moment old */
        sum += wi_load_rlx(&o->ctl->tail) + wi_load_rlx(&o->ctl->head);
    }
    return sum;
}

/* The one that gets the next ring, or NULL. */
static const struct wi_out *first_waiting(const struct wi_link *l)
{
    wi_list_each(n, &l->waiting)
    {
        const struct wi_out *o =
            wi_container_of(n, struct wi_out, item.on_link);
        if (!o->given_up) {
            return o;
        }
    }
    return NULL;
}

void wi_out_tick(struct wi_link *l)
{
    struct wi_engine *e = l->engine;
    uint64_t patience_ns = wi_min_u64(e->cfg.stall_ns, PATIENCE_NS);
    const struct wi_out *first = first_waiting(l);
    if (first == NULL) {
        l->starved_ns = 0;
        return;
    }
    uint64_t sum = moved(l);
    if (l->starved_ns == 0 || sum != l->moved) {
        l->starved_ns = e->now_ns;
        l->moved = sum;
    } else if (e->now_ns >= wi_time_add(l->starved_ns, patience_ns)) {
        l->starved_ns = 0;
        give_up(l, first->query_id);
    }
    wi_out_place(l); /* memory for them may have come free elsewhere */
    uint64_t look_ns = wi_max_u64(patience_ns / 4, LOOK_NS);
    wi_engine_due(e, wi_time_add(e->now_ns, look_ns));
}

/* Those that wait stand in the order of their queries' numbers, which is the
 * same on all nodes, and within one in the order of asking. */
static void queue(struct wi_link *l, struct wi_out *o)
{
    struct wi_list *at = l->waiting.prev;
    while (at != &l->waiting &&
           wi_container_of(at, struct wi_out, item.on_link)->query_id >
               o->query_id) {
        at = at->prev;
    }
    wi_list_push_back(at->next, &o->item.on_link);
}

void wi_out_start(struct wi_link *l, struct wi_out *o)
{
    o->link = l;
    queue(l, o);
    wi_out_place(l);
}

/* ---- OPEN to QUIET to freed ---------------------------------------------- */

void wi_out_free(struct wi_out *o)
{
    wi_list_remove(&o->item.on_link);
    if (o->mem_base != NULL) {
        wi_arena_keep(o->link->arena, o->link->member, o->mem_base,
                      o->size + WI_RING_ALIGN);
    }
    give_units(o->link, o);
    free(o);
}

static void go_quiet(struct wi_out *o)
{
    wi_store_rel(&o->state, WI_OUT_QUIET); /* E7: as place_one() */
}

void wi_out_abandon(struct wi_out *o)
{
    /* rlx: only the engine changes it, under the node's lock */
    uint32_t state = wi_load_rlx(&o->state);
    if (wi_load_rlx(&o->abandoned) != 0 || state == WI_OUT_WAITING) { /* rlx */
        return;
    }
    go_quiet(o);
    /* rlx: the send side sees it at the latest when it sends ABANDON (E2) */
    wi_store_rlx(&o->abandoned, 1);
    wi_edge_send(o->link, WI_MSG_EDGE_ABANDON, o->edge, o->epoch);
}

/* Move an out that is over at both ends to limbo, where it is freed. */
static void out_over(struct wi_out *o)
{
    if (o->closed && o->released) {
        wi_list_remove(&o->item.on_link);
        wi_list_push_back(&o->link->engine->limbo, &o->item.on_link);
        wi_link_rest(o->link);
    }
}

void wi_out_release(struct wi_out *o, bool ended)
{
    struct wi_link *l = o->link;
    o->released = true;
    /* rlx: only the engine changes it, under the node's lock */
    if (wi_load_rlx(&o->state) == WI_OUT_WAITING && l->state != WI_LINK_DEAD) {
        wi_out_free(o);
        return;
    }
    if (l->state == WI_LINK_DEAD) {
        return; /* freed with the link */
    }
    l->live_outs--;
    /* rlx: only the engine sets it, under the node's lock */
    if (ended && wi_load_rlx(&o->stop_all) == 0) {
        go_quiet(o);
    } else {
        wi_out_abandon(o);
    }
    out_over(o);
}

/* ---- messages ------------------------------------------------------------ */

weir_err wi_out_on_closed(struct wi_link *l, const union wi_msg *msg,
                          struct weir_error *err)
{
    const struct wi_msg_edge *m = &msg->edge;
    struct wi_out *o = m->edge < l->peer_units ? l->out[m->edge] : NULL;
    if (o == NULL || o->epoch != m->epoch || o->closed) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "CLOSED of edge %u which is not open", m->edge);
    }
    go_quiet(o);
    o->closed = true;
    l->out[o->edge] = NULL;
    if (o->mapped) {
        give_units(l, o);
        wi_out_place(l);
    }
    out_over(o);
    return WEIR_OK;
}

weir_err wi_out_on_stop(struct wi_link *l, const union wi_msg *msg,
                        struct weir_error *err)
{
    const struct wi_msg_edge *m = &msg->edge;
    (void)err;
    struct wi_out *o = m->edge < l->peer_units ? l->out[m->edge] : NULL;
    if (o == NULL || o->epoch != m->epoch) {
        return WEIR_OK; /* crossed with our END; nothing to stop */
    }
    /* E7 sc: pairs with E7 acquire in wi_lane_ready(): the worker drops the
     * rows of one stream, or stops writing and says so by wi_out_abandon() */
    if (m->arg < 64 && o->consumer_worker == WI_ANY_WORKER) {
        (void)wi_or_sc(&o->stopped, 1ull << m->arg);
    } else {
        wi_store_rel(&o->stop_all, 1); /* E7: as above */
        /* rlx: only the engine changes it, under the node's lock */
        if (wi_load_rlx(&o->state) == WI_OUT_QUIET) {
            wi_out_abandon(o);
            return WEIR_OK;
        }
    }
    /* E7 release: the stop before the count, so that its writer need not look
     * at every lane; pairs with E7 acquire in notice_stops(). rlx: only the
     * engine writes it */
    wi_store_rel(&o->worker->stops, wi_load_rlx(&o->worker->stops) + 1);
    wi_worker_notify(o->worker, WI_ATTN_EVENT);
    return WEIR_OK;
}

weir_err wi_out_on_credit(struct wi_link *l, const union wi_msg *msg,
                          struct weir_error *err)
{
    const struct wi_msg_pos *m = &msg->pos;
    struct wi_out *o = m->edge < l->peer_units ? l->out[m->edge] : NULL;
    if (o == NULL || o->epoch != m->epoch) {
        return WEIR_OK;
    }
    /* E1 acquire: only to compare; pairs with E1 release in wi_lane_put(). rlx:
     * only the engine writes credit */
    uint64_t tail = wi_load_acq(&o->ctl->tail);
    uint64_t had = wi_load_rlx(&o->credit); /* rlx: as above */
    if (l->mapped || m->pos > tail || m->pos < had) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "credit %" PRIu64 " on edge %u (sent %" PRIu64
                       ", had %" PRIu64 ")",
                       m->pos, m->edge, tail, had);
    }
    if (m->hint != 0) {
        wi_store_rlx(&o->reader_waited, m->pos); /* rlx: only a hint */
    }
    /* E5 sc: the credit, then the look at `producer_waits`. E6 sc: and at the
     * queue, then at the tail: a round that took the item off the queue before
     * is seen with the tail that it had, a later one sees this credit in
     * post_limit() */
    wi_store_sc(&o->credit, m->pos);
    (void)wi_load_sc(&o->item.queued); /* E6 sc: as above */
    /* E1 acquire: as above */
    if (wi_load_acq(&o->ctl->tail) > had + o->size) {
        wi_link_post(l, &o->item); /* the credit was in the way */
    }
    if (wi_load_sc(&o->ctl->producer_waits) != 0) { /* E5 sc: as in reap() */
        wi_worker_notify(o->worker, WI_ATTN_SPACE);
    }
    return WEIR_OK;
}
