/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edges, engine side: rings are handed out and taken back. The life of an edge
 * is in edge.h; everything here runs under the node's lock.
 */
#include "core/shuffle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"

/* ---- units ------------------------------------------------------------------ */

static bool bit_get(const uint64_t *bits, uint32_t i)
{
    return (bits[i / 64] >> (i % 64) & 1) != 0;
}

static void bits_put(uint64_t *bits, uint32_t first, uint32_t n, bool on)
{
    for (uint32_t i = first; i < first + n; i++) {
        uint64_t bit = 1ull << (i % 64);
        bits[i / 64] = on ? bits[i / 64] | bit : bits[i / 64] & ~bit;
    }
}

/* First run of n free units, UINT32_MAX: none. */
static uint32_t find_units(const uint64_t *bits, uint32_t total, uint32_t n)
{
    uint32_t run = 0;
    for (uint32_t i = 0; i < total; i++) {
        run = bit_get(bits, i) ? 0 : run + 1;
        if (run == n) {
            return i + 1 - n;
        }
    }
    return UINT32_MAX;
}

/* ---- outgoing: WAITING -> OPEN ------------------------------------------------ */

/* Units for one more ring: full size while every other edge that may still
 * come keeps its minimum, else the minimum. */
static uint32_t take_units(struct wi_link *l, struct wi_out *o)
{
    struct wi_engine *e = l->engine;
    uint32_t most = e->cfg.max_shuffles * e->cfg.workers;
    most *= e->budget.per_node ? 1 : e->members[l->member].workers;
    uint32_t reserve = most > l->live_outs ? most - l->live_outs - 1 : 0;
    uint32_t want = e->budget.ring_units;
    if (l->peer_free < reserve + want) {
        want = 1;
    }
    for (uint32_t n = want; n >= 1; n--) {
        uint32_t first = find_units(l->peer_used, l->peer_units, n);
        if (first != UINT32_MAX) {
            o->edge = first;
            o->units = n;
            bits_put(l->peer_used, first, n, true);
            l->peer_free -= n;
            return n;
        }
    }
    return 0;
}

static void give_units(struct wi_link *l, struct wi_out *o)
{
    bits_put(l->peer_used, o->edge, o->units, false);
    l->peer_free += o->units;
    l->out[o->edge] = NULL;
}

/* The end of a frame that is little longer than a write would cost another one:
 * such frames are made shorter. */
static uint32_t fit_writes(const struct wi_link *l, uint32_t frame_bytes)
{
    uint32_t most = l->mapped ? 0 : l->home->ops->write_bytes;
    uint32_t over = most != 0 && most < frame_bytes ? frame_bytes % most : 0;
    return over < frame_bytes / 16 ? frame_bytes - over : frame_bytes;
}

/* Where the ring starts in the peer's area; the slack colours the cache sets
 * differently for each peer. */
static void locate(struct wi_link *l, struct wi_out *o)
{
    uint32_t slack = l->engine->budget.slack_bytes;
    uint32_t colour = l->member * 9 * WI_RING_ALIGN % slack;
    uint64_t units = (uint64_t)o->edge * l->peer_unit_bytes;
    o->remote_off = l->peer_units * sizeof(struct wi_ring_ctl) + units + colour;
    o->frame_bytes = fit_writes(l, l->engine->cfg.frame_bytes);
    uint32_t frames = (o->units * l->peer_unit_bytes - slack) / o->frame_bytes;
    frames = wi_min_u32(frames, l->engine->cfg.ring_frames);
    o->size = frames * o->frame_bytes;
}

static weir_err give_memory(struct wi_link *l, struct wi_out *o,
                            struct weir_error *err)
{
    if (l->mapped) {
        o->mapped = true;
        o->mem = l->peer_area + o->remote_off;
        o->ctl = (struct wi_ring_ctl *)(void *)l->peer_area + o->edge;
        /* rlx: EDGE_OPEN, sent later, orders them */
        wi_store_rlx(&o->ctl->tail, 0);
        wi_store_rlx(&o->ctl->want, 0); /* rlx: as above */
        return WEIR_OK;
    }
    o->ctl = &o->own_ctl;
    o->mem_base = wi_arena_alloc(l->arena, o->size + WI_RING_ALIGN, err);
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
    wi_link_send(l, &m);
}

static void fail_out(struct wi_out *o, weir_err code, const char *text)
{
    struct weir_query *q = wi_query_find(o->link->engine, o->query_id);
    if (q != NULL) {
        wi_query_fail(q, code, text);
    }
}

/* No units: older edges must be on their way out, else it is for ever. */
static void no_units(struct wi_link *l, struct wi_out *o)
{
    uint32_t held = 0;
    wi_list_each(n, &l->outs)
    {
        held++;
    }
    if (held == l->live_outs) {
        char text[WI_TEXT_BYTES];
        (void)snprintf(text, sizeof(text),
                       "%s grants %u rings to this node, all are in use: raise "
                       "its max_shuffles or memory_bytes",
                       wi_engine_member_name(l->engine, l->member),
                       l->peer_units);
        fail_out(o, WEIR_ERR_BUDGET, text);
    }
}

/* False: no units now; some will be free when older edges are closed. */
static bool place_one(struct wi_link *l, struct wi_out *o)
{
    if (take_units(l, o) == 0) {
        no_units(l, o);
        return false;
    }
    struct weir_error err;
    wi_list_remove(&o->item.on_link);
    wi_list_push_back(&l->outs, &o->item.on_link);
    l->out[o->edge] = o;
    locate(l, o);
    if (give_memory(l, o, &err) != WEIR_OK) {
        give_units(l, o);
        wi_list_remove(&o->item.on_link);
        wi_list_push_back(&l->waiting, &o->item.on_link);
        fail_out(o, err.code, err.message);
        return false;
    }
    l->live_outs++;
    o->epoch = ++l->next_epoch;
    o->checksum = (l->caps & WI_WIRE_CAP_CHECKSUM) != 0;
    announce(l, o);
    /* E7 release: the ring's fields; pairs with E7 acquire in lane_ready() */
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

void wi_out_start(struct wi_link *l, struct wi_out *o)
{
    o->link = l;
    wi_list_push_back(&l->waiting, &o->item.on_link);
    wi_out_place(l);
}

/* ---- outgoing: OPEN -> QUIET -> freed ------------------------------------------- */

static void free_out(struct wi_out *o)
{
    wi_list_remove(&o->item.on_link);
    if (o->mem_base != NULL) {
        wi_arena_free(o->link->arena, o->mem_base, o->size + WI_RING_ALIGN);
    }
    free(o);
}

static void go_quiet(struct wi_out *o)
{
    /* rlx: only the engine changes it, under the node's lock */
    if (wi_load_rlx(&o->state) == WI_OUT_OPEN) {
        o->link->live_outs--;
    }
    wi_store_rel(&o->state, WI_OUT_QUIET); /* E7: as place_one() */
}

static void send_edge(struct wi_link *l, enum wi_msg_type type, uint32_t edge,
                      uint32_t epoch)
{
    union wi_msg m;
    wi_msg_init(&m, type);
    m.edge.edge = edge;
    m.edge.epoch = epoch;
    wi_link_send(l, &m);
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
    send_edge(o->link, WI_MSG_EDGE_ABANDON, o->edge, o->epoch);
}

/* Move an out that is over on both ends to limbo, from where it is freed. */
static void out_over(struct wi_out *o)
{
    if (o->closed && o->released) {
        wi_list_remove(&o->item.on_link);
        wi_list_push_back(&o->link->engine->limbo, &o->item.on_link);
        wi_link_rest(o->link);
        wi_engine_kick(o->link->engine);
    }
}

void wi_out_release(struct wi_out *o, bool ended)
{
    struct wi_link *l = o->link;
    o->released = true;
    /* rlx: only the engine changes it, under the node's lock */
    if (wi_load_rlx(&o->state) == WI_OUT_WAITING && l->state != WI_LINK_DEAD) {
        free_out(o);
        return;
    }
    if (l->state == WI_LINK_DEAD) {
        return; /* freed with the link */
    }
    /* rlx: only the engine sets it, under the node's lock */
    if (ended && wi_load_rlx(&o->stop_all) == 0) {
        go_quiet(o);
    } else {
        wi_out_abandon(o);
    }
    out_over(o);
}

static weir_err on_closed(struct wi_link *l, const struct wi_msg_edge *m,
                          struct weir_error *err)
{
    struct wi_out *o = m->edge < l->peer_units ? l->out[m->edge] : NULL;
    if (o == NULL || o->epoch != m->epoch || o->closed) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "CLOSED of edge %u which is not open", m->edge);
    }
    go_quiet(o);
    o->closed = true;
    give_units(l, o);
    out_over(o);
    wi_out_place(l);
    return WEIR_OK;
}

static weir_err on_stop(struct wi_link *l, const struct wi_msg_edge *m)
{
    struct wi_out *o = m->edge < l->peer_units ? l->out[m->edge] : NULL;
    if (o == NULL || o->epoch != m->epoch) {
        return WEIR_OK; /* crossed with our END; nothing to stop */
    }
    /* E7 sc: pairs with E7 acquire in lane_ready(): the worker drops the rows
     * of one stream, or stops writing and says so by wi_out_abandon() */
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
    wi_worker_notify(o->worker, WI_ATTN_EVENT);
    return WEIR_OK;
}

static weir_err on_credit(struct wi_link *l, const struct wi_msg_pos *m,
                          struct weir_error *err)
{
    struct wi_out *o = m->edge < l->peer_units ? l->out[m->edge] : NULL;
    if (o == NULL || o->epoch != m->epoch) {
        return WEIR_OK;
    }
    /* E1 acquire: only to compare; pairs with E1 release in publish(). rlx:
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
        wi_store_rlx(&o->wanted, m->pos); /* rlx: only a hint */
    }
    /* E5 sc: the credit, then the look at `want`; E6: the item is queued next */
    wi_store_sc(&o->credit, m->pos);
    wi_link_post(l, &o->item);
    if (wi_load_sc(&o->ctl->want) != 0) { /* E5 sc: as in reap() */
        wi_worker_notify(o->worker, WI_ATTN_SPACE);
    }
    return WEIR_OK;
}

static void in_over(struct wi_in *in);

/* ---- incoming --------------------------------------------------------------------- */

static weir_err check_open(struct wi_link *l, const struct wi_msg_edge_open *m,
                           uint32_t *units_out, struct weir_error *err)
{
    struct wi_engine *e = l->engine;
    const struct wi_budget *b = &e->budget;
    uint64_t base = b->n_units * sizeof(struct wi_ring_ctl) +
                    (uint64_t)m->edge * b->unit_bytes;
    uint64_t end = m->ring_off + m->ring_bytes;
    if (m->edge >= b->n_units || m->ring_off < base || m->ring_bytes == 0 ||
        m->ring_bytes % WI_RING_ALIGN != 0 ||
        m->ring_off % WI_RING_ALIGN != 0 || m->ring_off > l->area.bytes ||
        end > l->area.bytes ||
        m->producer_worker >= e->members[l->member].workers ||
        (m->consumer_worker >= e->cfg.workers &&
         m->consumer_worker != WI_ANY_WORKER)) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "edge %u at %" PRIu64 "+%u of worker %u to %u is "
                       "outside what was granted",
                       m->edge, m->ring_off, m->ring_bytes, m->producer_worker,
                       m->consumer_worker);
    }
    uint32_t units =
        (uint32_t)((end - base + b->unit_bytes - 1) / b->unit_bytes);
    for (uint32_t i = m->edge; i < m->edge + units; i++) {
        if (i >= b->n_units || bit_get(l->used, i)) {
            return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                           "edge %u overlaps a ring in use", m->edge);
        }
    }
    *units_out = units;
    return WEIR_OK;
}

static void fill_in(struct wi_link *l, struct wi_in *in,
                    const struct wi_msg_edge_open *m)
{
    in->item.kind = WI_ITEM_IN;
    in->link = l;
    in->query_id = m->query;
    in->fingerprint = m->fingerprint;
    in->shuffle_id = m->shuffle;
    in->edge = m->edge;
    in->epoch = m->epoch;
    in->producer_worker = m->producer_worker;
    in->consumer_worker = m->consumer_worker;
    in->size = m->ring_bytes;
    in->mem = (uint8_t *)l->area.base + m->ring_off;
    in->mapped = l->mapped;
    wi_list_init(&in->item.on_link);
    wi_list_init(&in->item.posting);
    if (l->mapped) { /* the producer has set it up, and may have written */
        in->ctl = (struct wi_ring_ctl *)l->area.base + m->edge;
    } else {
        in->ctl = &in->own_ctl; /* zeroed with the rest */
    }
}

static void fill_streams(struct wi_in *in)
{
    bool any = in->consumer_worker == WI_ANY_WORKER;
    for (uint32_t i = 0; i < in->n_streams; i++) {
        struct wi_stream *st = &in->streams[i];
        st->in = in;
        st->worker = any ? (uint16_t)i : in->consumer_worker;
        wi_list_init(&st->ready);
        wi_list_init(&st->owing);
        wi_lq_init(&st->frames);
    }
    wi_store_rlx(&in->live, in->n_streams); /* rlx: published with l->in */
}

static struct wi_in *open_in(struct wi_link *l,
                             const struct wi_msg_edge_open *m, uint32_t units)
{
    bool any = m->consumer_worker == WI_ANY_WORKER;
    uint32_t n = any ? l->engine->cfg.workers : 1;
    size_t bytes = sizeof(struct wi_in) + WI_HELD_MAX * sizeof(struct wi_held) +
                   n * sizeof(struct wi_stream);
    struct wi_in *in =
        aligned_alloc(WI_CACHE_LINE, wi_align_up(bytes, WI_CACHE_LINE));
    if (in == NULL) {
        return NULL;
    }
    memset(in, 0, bytes);
    fill_in(l, in, m);
    in->held =
        (struct wi_held *)(void *)(in + 1); /* one block: freed at once */
    in->streams = (struct wi_stream *)(void *)(in->held + WI_HELD_MAX);
    in->n_streams = n;
    fill_streams(in);
    in->units = units;
    bits_put(l->used, in->edge, units, true);
    wi_list_push_back(&l->ins, &in->item.on_link);
    /* E9 release: the fields of in; pairs with E9 acquire in collect_one() */
    wi_store_rel(&l->in[in->edge], in);
    return in;
}

static weir_err on_open(struct wi_link *l, const struct wi_msg_edge_open *m,
                        struct weir_error *err)
{
    uint32_t units = 0;
    weir_err rc = check_open(l, m, &units, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct wi_in *in = open_in(l, m, units);
    if (in == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for an edge");
    }
    if (l->state == WI_LINK_CLOSING) {
        l->state = WI_LINK_OPEN;   /* the peer still needs it */
        wi_engine_kick(l->engine); /* other times to watch */
        wi_out_place(l);
    }
    struct weir_query *q = wi_query_find(l->engine, m->query);
    if (q != NULL) {
        wi_in_attach(in, q);
    } else if (wi_tomb_find(l->engine, m->query) != NULL) {
        wi_in_refuse(in);
    } else if (l->engine->closing) {
        wi_query_decline(l);
    }
    return WEIR_OK;
}

static weir_err on_notify(struct wi_link *l, const struct wi_msg_pos *m,
                          struct weir_error *err)
{
    struct wi_engine *e = l->engine;
    struct wi_in *in = NULL;
    if (m->edge < e->budget.n_units) {
        /* rlx: only the engine changes the table, under the node's lock */
        in = wi_load_rlx(&l->in[m->edge]);
    }
    if (in == NULL || in->epoch != m->epoch) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "notification for edge %u which is not open", m->edge);
    }
    /* E5 acquire: only to compare; pairs with E5 sc in move_head(). rlx: only
     * the engine writes tail here */
    uint64_t head = wi_load_acq(&in->ctl->head);
    uint64_t tail = wi_load_rlx(&in->ctl->tail); /* rlx: as above */
    if (l->mapped || m->pos < tail || m->pos % WI_RING_ALIGN != 0 ||
        m->pos - head > in->size) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "notification up to %" PRIu64 " on edge %u: had %" PRIu64
                       ", consumed %" PRIu64 ", ring of %u bytes",
                       m->pos, m->edge, tail, head, in->size);
    }
    /* E5 sc: the question, then the look at `hungry` in send_credit(), and
     * before the tail that it speaks of; pairs with E5 sc in send_credit() */
    bool asks = m->hint == 0 && wi_xchg_sc(&in->more, 0) != 0;
    if (m->hint != 0) {
        wi_store_rlx(&in->more, 1); /* rlx: too late sends a credit too many */
    }
    /* E1 release: the transport placed the bytes before (E4); pairs with E1
     * acquire in the reader */
    wi_store_rel(&in->ctl->tail, m->pos);
    if (asks) {
        wi_in_advance(in); /* sends a credit that was held back */
    }
    if (in->consumer_worker == WI_ANY_WORKER) {
        wi_in_dispatch(in);
        return WEIR_OK;
    }
    struct wi_worker *w = &e->workers[in->consumer_worker];
    uint32_t id = l->slot * e->budget.n_units + in->edge;
    if (wi_bell_mark(w->bell, e->n_ids, id) == WI_WAKE_FD) {
        e->ring_fn(e->hook_arg, w->idx);
    }
    return WEIR_OK;
}

static weir_err on_abandon(struct wi_link *l, const struct wi_msg_edge *m,
                           struct weir_error *err)
{
    struct wi_in *in = NULL;
    if (m->edge < l->engine->budget.n_units) {
        /* rlx: as in on_notify() */
        in = wi_load_rlx(&l->in[m->edge]);
    }
    if (in == NULL || in->epoch != m->epoch) {
        return WEIR_OK; /* crossed with our CLOSED */
    }
    if (in->abandoned) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL, "edge %u abandoned twice",
                       m->edge);
    }
    in->abandoned = true;
    if (in->empty) {
        in_over(in);
    } else if (wi_load_rlx(&in->query) == NULL) { /* rlx: engine's */
        wi_in_refuse(in);                         /* nobody ever opened it */
    }
    return WEIR_OK;
}

weir_err wi_edge_message(struct wi_link *l, const union wi_msg *m,
                         struct weir_error *err)
{
    switch (m->head.type) {
    case WI_MSG_EDGE_OPEN:
        return on_open(l, &m->edge_open, err);
    case WI_MSG_EDGE_STOP:
        return on_stop(l, &m->edge);
    case WI_MSG_EDGE_ABANDON:
        return on_abandon(l, &m->edge, err);
    case WI_MSG_EDGE_CLOSED:
        return on_closed(l, &m->edge, err);
    case WI_MSG_NOTIFY:
        return on_notify(l, &m->pos, err);
    default:
        return on_credit(l, &m->pos, err);
    }
}

/* ---- attaching and detaching readers -------------------------------------------- */

static void send_stop(struct wi_in *in, uint32_t worker)
{
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_EDGE_STOP);
    m.edge.edge = in->edge;
    m.edge.epoch = in->epoch;
    m.edge.arg = worker;
    wi_link_send(in->link, &m);
}

/* The last stream that expected frames is gone: nobody reads the ring. */
static void stop_ring(struct wi_in *in)
{
    /* rlx: only the engine sets dead. E10 acquire: streams' ends; pairs with
     * E10 in wi_stream_ended() */
    bool over = wi_load_rlx(&in->dead) != 0 ||
                wi_load_acq(&in->n_ended) == in->n_streams;
    if (!over && !in->stop_sent && !in->closed) {
        in->stop_sent = true;
        send_stop(in, WI_ANY_WORKER);
    }
    wi_in_finish_when_empty(in);
}

void wi_stream_stop(struct wi_stream *st)
{
    struct wi_in *in = st->in;
    /* E10 sc: the dispatcher drops its frames from now on; pairs with E10 in
     * deliver() and sweep() */
    if (wi_xchg_sc(&st->gone, 1) != 0) {
        return;
    }
    if (in->consumer_worker == WI_ANY_WORKER) {
        wi_in_dispatch(in); /* releases what was dispatched to it */
    }
    if (st->ended) {
        return; /* counted when it ended */
    }
    if (wi_add_ar(&in->live, -1u) == 1) { /* E10: the last one */
        stop_ring(in);
    } else if (wi_load_rlx(&in->dead) == 0) { /* rlx: engine's */
        send_stop(in, st->worker);
    }
}

void wi_stream_ended(struct wi_stream *st)
{
    struct wi_in *in = st->in;
    st->ended = true;
    (void)wi_add_ar(&in->n_ended, 1); /* E10: before live; stop_ring() reads */
    if (wi_add_ar(&in->live, -1u) == 1) { /* E10: the last one */
        wi_in_finish_when_empty(in);
    }
}

void wi_in_refuse(struct wi_in *in)
{
    for (uint32_t i = 0; i < in->n_streams; i++) {
        wi_stream_stop(&in->streams[i]);
    }
}

/* Frames of a node ring may have been delivered before this reader was there;
 * the worker then found nobody to give them to. */
static void find_local(struct wi_stream *st, struct wi_worker *w)
{
    /* E12 sc: the reader, then queued; pairs with E12 sc in collect_local(),
     * which clears it and then looks for the reader */
    if (wi_xchg_sc(&st->queued, 1) == 0) {
        wi_lq_put(&w->local, &st->local);
        wi_worker_notify(w, WI_ATTN_EVENT);
    }
}

static void attach_stream(struct wi_stream *st, struct weir_reader *r)
{
    struct wi_worker *w = r->worker;
    uint32_t n = wi_load_rlx(&r->n_streams); /* rlx: only the engine adds */
    r->streams[n] = st;
    /* E9 release: streams[n], and the in's fields; pairs with E9 acquire in
     * the reader */
    wi_store_rel(&st->reader, r);
    wi_store_rel(&r->n_streams, n + 1); /* E9: as above */
    if (r->stopped) {
        wi_stream_stop(st);
        return;
    }
    if (st->in->consumer_worker == WI_ANY_WORKER) {
        find_local(st, w);
    }
    uint32_t id = st->in->link->slot * w->engine->budget.n_units + st->in->edge;
    if (wi_bell_mark(w->bell, w->engine->n_ids, id) == WI_WAKE_FD) {
        w->engine->ring_fn(w->engine->hook_arg, w->idx);
    }
}

static void fail_mismatch(struct wi_in *in, struct weir_shuffle *s)
{
    struct weir_query *q = s->query;
    char text[WI_TEXT_BYTES];
    char schema[128];
    wi_schema_text(s->schema, schema, sizeof(schema));
    (void)snprintf(text, sizeof(text),
                   "%s opened shuffle %u with other options or columns than %s "
                   "(%.80s)",
                   wi_engine_member_name(q->engine, in->link->member), s->id,
                   q->engine->name, schema);
    wi_query_fail(q, WEIR_ERR_MISMATCH, text);
}

/* Streams of a node ring beyond the workers that take part. */
static void drop_spare_streams(struct wi_in *in, const struct weir_shuffle *s)
{
    uint32_t n =
        wi_shuffle_workers(s, s->query->engine->self, s->consumer_workers);
    if (in->consumer_worker == WI_ANY_WORKER && in->n_streams > n) {
        (void)wi_add_ar(&in->live, n - in->n_streams); /* E10: none has begun */
        in->n_streams = n;
    }
}

static bool bind(struct wi_in *in, struct weir_shuffle *s)
{
    if (wi_load_rlx(&in->query) != NULL) { /* rlx: engine's */
        return true;
    }
    if (in->fingerprint != s->fingerprint || !s->self_consumes) {
        fail_mismatch(in, s);
        return false;
    }
    drop_spare_streams(in, s);
    in->schema = s->schema;
    s->query->holds++;
    /* E9 release: pairs with E9 acquire in wi_in_dispatch() */
    wi_store_rel(&in->query, s->query);
    return true;
}

void wi_in_attach(struct wi_in *in, struct weir_query *q)
{
    struct weir_shuffle *s = wi_shuffle_find(q, in->shuffle_id);
    if (s == NULL || !bind(in, s)) {
        return; /* not open here yet; weir_reader_open attaches it */
    }
    for (uint32_t i = 0; i < in->n_streams; i++) {
        struct wi_stream *st = &in->streams[i];
        struct weir_reader *r = s->readers[st->worker];
        /* rlx: only the engine sets them, under the node's lock */
        if (r == NULL || wi_load_rlx(&st->reader) != NULL ||
            wi_load_rlx(&st->gone) != 0) { /* rlx: as above */
            continue;
        }
        if (wi_load_rlx(&r->n_streams) == s->n_sources) { /* rlx: as above */
            wi_query_fail(q, WEIR_ERR_INTEGRITY,
                          "a producer opened an edge twice");
            return;
        }
        attach_stream(st, r);
    }
}

static bool has_readers(const struct wi_in *in)
{
    for (uint32_t i = 0; i < in->n_streams; i++) {
        /* rlx: only the engine sets it, under the node's lock */
        if (wi_load_rlx(&in->streams[i].reader) != NULL) {
            return true;
        }
    }
    return false;
}

/* An in that is empty: CLOSED once the producer has ended, limbo once no reader
 * points to it. */
static void in_over(struct wi_in *in)
{
    struct wi_link *l = in->link;
    /* rlx: only the engine sets it, under the node's lock */
    if (wi_load_rlx(&in->dead) != 0) {
        wi_engine_kick(l->engine); /* freed with the link */
        return;
    }
    if (!in->abandoned &&
        wi_load_acq(&in->n_ended) != in->n_streams) { /* E10: ends */
        return; /* ABANDON is still to come */
    }
    if (!in->closed) {
        in->closed = true;
        if (in->mapped) {
            /* rlx: CLOSED orders it: the next ring there starts at 0 */
            wi_store_rlx(&in->ctl->head, 0);
        }
        wi_store_rel(&l->in[in->edge], NULL); /* E9: freed after RCU */
        bits_put(l->used, in->edge, in->units, false);
        send_edge(l, WI_MSG_EDGE_CLOSED, in->edge, in->epoch);
    }
    if (!has_readers(in)) {
        wi_list_remove(&in->item.on_link);
        wi_list_push_back(&l->engine->limbo, &in->item.on_link);
        wi_link_rest(l);
        wi_engine_kick(l->engine);
    }
}

void wi_in_finish(struct wi_in *in)
{
    in->empty = true;
    in_over(in);
}

void wi_stream_detach(struct wi_stream *st)
{
    struct wi_in *in = st->in;
    wi_stream_stop(st);
    /* E9: workers under RCU may still hold it; freed after them */
    wi_store_rel(&st->reader, NULL);
    wi_list_remove(&st->ready);
    wi_list_remove(&st->owing);
    if (in->empty) {
        in_over(in);
    }
}

static void free_in_parts(struct wi_in *in)
{
    for (uint32_t i = 0; i < WI_HELD_MAX; i++) {
        if (in->held[i].export_ != NULL) {
            wi_export_close(in->held[i].export_);
        }
    }
    for (uint32_t i = 0; i < in->n_streams; i++) {
        free(in->streams[i].image);
    }
    struct weir_query *q = wi_load_rlx(&in->query); /* rlx: engine's */
    if (q != NULL) {
        wi_query_drop(q);
    }
}

/* ---- dead links and limbo -------------------------------------------------------- */

void wi_edges_dead(struct wi_link *l)
{
    wi_list_each(n, &l->ins)
    {
        struct wi_in *in = wi_container_of(n, struct wi_in, item.on_link);
        wi_store_rel(&in->dead, 1); /* E7: read by move_head() */
        if (!has_readers(in)) {
            wi_in_finish_when_empty(in);
        }
    }
}

/* Does a worker's local queue still point to it? That worker finds no reader
 * there, but has to take it off. */
static bool is_stray(const struct wi_in *in)
{
    for (uint32_t i = 0; i < in->n_streams; i++) {
        /* E12 sc: pairs with E12 sc in collect_local(), after which RCU keeps
         * it */
        if (wi_load_sc(&in->streams[i].queued) != 0) {
            return true;
        }
    }
    return false;
}

static void free_item(struct wi_item *it)
{
    if (it->kind == WI_ITEM_OUT) {
        free_out(wi_container_of(it, struct wi_out, item));
        return;
    }
    struct wi_in *in = wi_container_of(it, struct wi_in, item);
    wi_list_remove(&it->on_link);
    free_in_parts(in);
    if (is_stray(in)) {
        wi_list_push_back(&in->link->engine->strays, &it->on_link);
    } else {
        wi_rcu_free(&in->rcu, in);
    }
}

void wi_edges_strays(struct wi_engine *e, bool all)
{
    wi_list_each(n, &e->strays)
    {
        struct wi_in *in = wi_container_of(n, struct wi_in, item.on_link);
        if (all || !is_stray(in)) {
            wi_list_remove(&in->item.on_link);
            wi_rcu_free(&in->rcu, in);
        }
    }
}

static struct wi_link *link_of(struct wi_item *it)
{
    return it->kind == WI_ITEM_OUT
               ? wi_container_of(it, struct wi_out, item)->link
               : wi_container_of(it, struct wi_in, item)->link;
}

void wi_edges_limbo(struct wi_engine *e)
{
    wi_list_each(n, &e->limbo)
    {
        struct wi_item *it = wi_container_of(n, struct wi_item, on_link);
        struct wi_link *l = link_of(it);
        if (l->sealed || l->mapped || wi_link_quiet(l, it)) {
            free_item(it);
        } /* else the send side kicks us when it has moved */
    }
}

static bool in_released(const struct wi_in *in)
{
    return in->empty && !has_readers(in);
}

static bool all_over(const struct wi_list *items)
{
    wi_list_each(n, items)
    {
        struct wi_item *it = wi_container_of(n, struct wi_item, on_link);
        if (it->kind == WI_ITEM_OUT
                ? !wi_container_of(it, struct wi_out, item)->released
                : !in_released(wi_container_of(it, struct wi_in, item))) {
            return false;
        }
    }
    return true;
}

static void free_all(struct wi_list *items)
{
    wi_list_each(n, items)
    {
        free_item(wi_container_of(n, struct wi_item, on_link));
    }
}

bool wi_edges_bury(struct wi_link *l)
{
    if (!all_over(&l->waiting) || !all_over(&l->outs) || !all_over(&l->ins)) {
        return false;
    }
    wi_edges_limbo(l->engine);
    free_all(&l->waiting);
    free_all(&l->outs);
    free_all(&l->ins);
    return true;
}
