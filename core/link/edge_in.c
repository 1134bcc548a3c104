/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/edge_in.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bitmap.h"
#include "core/base/err.h"
#include "core/link/edge_out.h"
#include "core/link/engine.h"
#include "core/link/in_end.h"
#include "core/link/in_ring.h"
#include "core/link/in_use.h"
#include "core/link/life.h"
#include "core/link/scan.h"
#include "core/link/stream.h"

/* ---- opening ------------------------------------------------------------- */

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
        if (i >= b->n_units || wi_bitmap_test(l->used, i)) {
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
    in->opened_ns = l->engine->now_ns;
    wi_list_init(&in->item.on_link);
    wi_list_init(&in->item.posting);
    if (l->mapped) { /* set up by the producer, which may have written */
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
        wi_list_init(&st->full);
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
    wi_bitmap_mark(l->used, in->edge, units, true);
    wi_in_count_units(l, (int32_t)units);
    wi_list_push_back(&l->ins, &in->item.on_link);
    wi_list_push_back(&l->engine->ins_of[wi_query_list(in->query_id)],
                      &in->on_query);
    /* E9 release: the fields of in; pairs with E9 acquire in collect_one() */
    wi_store_rel(&l->in[in->edge], in);
    return in;
}

/* ---- writes into open rings ---------------------------------------------- */

/* The open ring at this offset of the area, or NULL. */
static const struct wi_in *ring_at(const struct wi_link *l, uint64_t off)
{
    const struct wi_budget *b = &l->engine->budget;
    uint64_t base = b->n_units * sizeof(struct wi_ring_ctl);
    if (off < base) {
        return NULL;
    }
    uint64_t unit = (off - base) / b->unit_bytes;
    const struct wi_in *in = NULL;
    for (uint64_t u = unit + 1; in == NULL && u > 0 && u <= b->n_units &&
                                wi_bitmap_test(l->used, (uint32_t)u - 1);
         u--) {
        /* rlx: only the engine changes the table, under the node's lock */
        in = wi_load_rlx(&l->in[u - 1]);
    }
    return in;
}

bool wi_in_may_write(void *arg, uint64_t off, uint64_t bytes)
{
    const struct wi_link *l = arg;
    const struct wi_in *in = ring_at(l, off);
    if (in == NULL) {
        return false;
    }
    uint64_t at = off - (uint64_t)(in->mem - (const uint8_t *)l->area.base);
    if (off < at || at >= in->size || bytes > in->size - at) {
        return false;
    }
    /* rlx: only the engine writes tail here */
    uint64_t tail = wi_load_rlx(&in->ctl->tail);
    /* E5 acquire: what lies before it was read; pairs with E5 sc in
     * move_head() */
    uint64_t head = wi_load_acq(&in->ctl->head);
    uint64_t pos = tail + (at + in->size - tail % in->size) % in->size;
    return pos + bytes <= head + in->size;
}

/* ---- messages ------------------------------------------------------------ */

static bool are_taken(const struct wi_link *l, uint32_t first, uint32_t n)
{
    uint32_t i = first;
    while (i < first + n && wi_bitmap_test(l->taken, i)) {
        i++;
    }
    return i == first + n;
}

/* The pages of a ring that opens, unless its units had one before. A mapped
 * one's producer takes them itself, as its frames come to them. */
static weir_err take_pages(const struct wi_link *l,
                           const struct wi_msg_edge_open *m, uint32_t units,
                           struct weir_error *err)
{
    const struct wi_budget *b = &l->engine->budget;
    uint64_t base = b->n_units * sizeof(struct wi_ring_ctl);
    if (l->mapped || are_taken(l, m->edge, units)) {
        return WEIR_OK;
    }
    const struct wi_mem_part part = {
        .base = l->area.base,
        .bytes = l->area.bytes,
        .from = base + (uint64_t)m->edge * b->unit_bytes,
        .to = base + (uint64_t)(m->edge + units) * b->unit_bytes};
    weir_err rc = l->home->ops->mem_take(l->home, &part, err);
    if (rc == WEIR_OK) {
        wi_bitmap_mark(l->taken, m->edge, units, true);
    }
    return rc;
}

weir_err wi_in_on_open(struct wi_link *l, const union wi_msg *msg,
                       struct weir_error *err)
{
    const struct wi_msg_edge_open *m = &msg->edge_open;
    uint32_t units = 0;
    weir_err rc = check_open(l, m, &units, err);
    if (rc == WEIR_OK) {
        rc = take_pages(l, m, units, err);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    struct wi_in *in = open_in(l, m, units);
    if (in == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for an edge");
    }
    wi_link_revive(l);
    l->engine->up->edge_opened(in);
    return WEIR_OK;
}

weir_err wi_in_on_notify(struct wi_link *l, const union wi_msg *msg,
                         struct weir_error *err)
{
    const struct wi_msg_pos *m = &msg->pos;
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
    /* E5 sc: the question before the tail that it belongs to, and before the
     * look at `reader_waits`; pairs with E5 sc in send_credit() */
    bool asks = m->hint == 0 && wi_xchg_sc(&in->more_follows, 0) != 0;
    if (m->hint != 0) {
        wi_store_rlx(&in->more_follows,
                     1); /* rlx: too late sends a credit too many */
    }
    /* E1 release: the transport placed the bytes before (E4); pairs with E1
     * acquire in the reader */
    wi_store_rel(&in->ctl->tail, m->pos);
    if (asks) {
        wi_in_advance(in); /* sends a credit that was held back */
    }
    if (in->consumer_worker == WI_ANY_WORKER) {
        wi_in_came(in);
        return WEIR_OK;
    }
    wi_in_mark(in, in->consumer_worker);
    return WEIR_OK;
}

weir_err wi_in_on_abandon(struct wi_link *l, const union wi_msg *msg,
                          struct weir_error *err)
{
    const struct wi_msg_edge *m = &msg->edge;
    struct wi_in *in = NULL;
    if (m->edge < l->engine->budget.n_units) {
        /* rlx: as in wi_in_on_notify() */
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
        wi_in_over(in);
    } else if (wi_load_rlx(&in->query) == NULL) { /* rlx: engine's */
        wi_in_refuse(in);                         /* its query was never here */
    }
    return WEIR_OK;
}
