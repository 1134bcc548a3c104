/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams, engine side: what one consuming worker gets over a ring is given to
 * its reader, and stopped when that has enough or goes away. Under the node's
 * lock, but for wi_stream_ended().
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/bitmap.h"
#include "core/base/cc.h"
#include "core/base/err.h"
#include "core/query/shuffle.h"

/* ---- attaching readers ------------------------------------------------------- */

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

/* The sender has a part in the query, but not the one that it takes. */
static WI_COLD bool fail_pretender(const struct wi_in *in,
                                   struct weir_shuffle *s, const char *what)
{
    char text[WI_TEXT_BYTES];
    uint32_t member = in->link->member;
    (void)snprintf(
        text, sizeof(text),
        "%s (member %u) opened an edge of shuffle %u from its worker %u, %s",
        wi_engine_member_name(s->query->engine, member), member, s->id,
        in->producer_worker, what);
    wi_query_fail(s->query, WEIR_ERR_PEER_PROTOCOL, text);
    return false;
}

/* Are both ends of the edge in the shuffle, and where they say they are? */
static bool check_ends(const struct wi_in *in, struct weir_shuffle *s)
{
    uint32_t member = in->link->member;
    uint32_t n =
        wi_shuffle_workers(s, s->query->engine->self, s->consumer_workers);
    if (in->fingerprint != s->fingerprint) {
        wi_shuffle_differ(in->link, s);
        return false;
    }
    if (wi_shuffle_source(s, member, in->producer_worker) == UINT32_MAX) {
        return fail_pretender(in, s, "which does not produce");
    }
    if (!s->self_consumes ||
        (in->consumer_worker >= n && in->consumer_worker != WI_ANY_WORKER)) {
        return fail_pretender(in, s, "to one that does not consume");
    }
    return true;
}

/* Where offsets of texts are copied to before they are checked, unless the peer
 * cannot change them afterwards. For all rings of the link, with the first that
 * needs it, and in no cap: only what holds offsets is ever touched. */
static bool hide_offsets(struct wi_in *in, const struct wi_schema *s)
{
    struct wi_link *l = in->link;
    if (s->n_var == 0 || l->self || (l->home->ops->caps & WI_CAP_GUARD) != 0) {
        return true;
    }
    if (l->offsets == NULL) {
        l->offsets = aligned_alloc(WI_PAGE, l->area.bytes);
    }
    if (l->offsets != NULL) {
        in->offsets = l->offsets + (in->mem - (const uint8_t *)l->area.base);
    }
    return l->offsets != NULL;
}

static bool bind(struct wi_in *in, struct weir_shuffle *s)
{
    if (wi_load_rlx(&in->query) != NULL) { /* rlx: engine's */
        return true;
    }
    if (!check_ends(in, s)) {
        return false;
    }
    if (!hide_offsets(in, s->schema)) {
        wi_query_fail(s->query, WEIR_ERR_QUERY_MEMORY,
                      "no memory for the offsets of texts");
        return false;
    }
    drop_spare_streams(in, s);
    in->schema = s->schema;
    s->query->holds++;
    /* E9 release: pairs with E9 acquire in wi_in_dispatch() */
    wi_store_rel(&in->query, s->query);
    return true;
}

/* First stream of its source for this reader? A reader that has ended counts
 * distinct sources: nobody ends for another one. */
static bool is_first(const struct wi_in *in, struct weir_reader *r)
{
    uint32_t source =
        wi_shuffle_source(r->shuffle, in->link->member, in->producer_worker);
    if (wi_bitmap_test(r->came, source)) {
        return false;
    }
    wi_bitmap_mark(r->came, source, 1, true);
    return true;
}

static WI_COLD void turn_away(struct wi_in *in, const struct weir_query *q)
{
    /* rlx: only the engine sets it, under the node's lock */
    if (wi_load_rlx(&in->streams[0].gone) == 0) {
        wi_query_turn_away(in->link, q->id);
        wi_in_refuse(in);
    }
}

void wi_in_attach(struct wi_in *in, struct weir_query *q)
{
    if (!wi_query_has(q, in->link->member)) {
        turn_away(in, q);
        return;
    }
    struct weir_shuffle *s = wi_shuffle_find(q, in->shuffle_id);
    if (s == NULL || !bind(in, s)) {
        return; /* not open here yet; weir_reader_open attaches it */
    }
    for (uint32_t i = 0; i < in->n_streams; i++) {
        struct wi_stream *st = &in->streams[i];
        struct weir_reader *r = s->readers[st->worker];
        if ((s->was_read >> st->worker & 1) != 0) {
            wi_stream_stop(st); /* nobody will ever read it */
            continue;
        }
        /* rlx: only the engine sets them, under the node's lock */
        if (r == NULL || wi_load_rlx(&st->reader) != NULL ||
            wi_load_rlx(&st->gone) != 0) { /* rlx: as above */
            continue;
        }
        if (!is_first(in, r)) {
            (void)fail_pretender(in, s, "which has one to the same worker");
            return;
        }
        attach_stream(st, r);
    }
}

/* ---- stopping and detaching -------------------------------------------------- */

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
    if (wi_load_rlx(&st->ended)) { /* rlx: the reader's worker is with us */
        return;                    /* counted when it ended */
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
    wi_store_rlx(&st->ended, true); /* rlx: its worker's; reports look at it */
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

bool wi_in_has_readers(const struct wi_in *in)
{
    for (uint32_t i = 0; i < in->n_streams; i++) {
        /* rlx: only the engine sets it, under the node's lock */
        if (wi_load_rlx(&in->streams[i].reader) != NULL) {
            return true;
        }
    }
    return false;
}

void wi_stream_detach(struct wi_stream *st)
{
    struct wi_in *in = st->in;
    wi_stream_stop(st);
    /* E9: workers under RCU may still hold it; freed after them */
    wi_store_rel(&st->reader, NULL);
    wi_list_remove(&st->ready);
    wi_list_remove(&st->owing);
    wi_list_remove(&st->full);
    if (in->empty) {
        wi_in_finish(in); /* this may have been the last reader */
    }
}
