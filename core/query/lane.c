/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/lane.h"

#include <string.h>

#include "core/format/frame_build.h"
#include "core/link/edge.h"
#include "core/link/edge_out.h"
#include "core/link/engine.h"
#include "core/link/link.h"
#include "core/link/lock.h"
#include "core/link/post.h"
#include "core/link/worker.h"
#include "core/query/lane_pages.h"
#include "core/query/query.h"
#include "core/query/shuffle.h"

/* After this many full frames in a row without a wait, more are expected. */
#define MORE_AFTER 8u

/* Bytes of a frame that counts as sent for latency, not for throughput. */
#define SHORT_FRAME 512u

/* Lanes whose next frames are prefetched. */
#define OWN_LANES 4u

/* ---- the consumer -------------------------------------------------------- */

void wi_lane_ask_credit(struct wi_lane *lane)
{
    struct wi_out *o = lane->out;
    o->run = 0;
    o->held = false;
    if (!o->mapped &&
        wi_load_rlx(&o->follows) != WI_FOLLOWS_NONE) { /* rlx: our own */
        wi_store_rlx(&o->follows,
                     WI_FOLLOWS_NONE); /* rlx: queued after it (E6) */
        wi_link_post(o->link, &o->item);
    }
}

bool wi_lane_is_drained(const struct wi_lane *lane)
{
    struct wi_out *o = lane->out;
    /* E5 sc: read after `producer_waits` was set; pairs as in wi_lane_room() */
    uint64_t consumed = o->mapped
                            ? wi_load_sc(&o->ctl->head)
                            : wi_load_sc(&o->credit); /* E5 sc: as above */
    return consumed >= lane->sent_pos;
}

static struct wi_bell *bell_of(const struct wi_out *o, uint32_t worker)
{
    struct wi_link *l = o->link;
    if (l->self) {
        return l->engine->workers[worker].bell;
    }
    return (struct wi_bell *)(void *)(l->peer_bells +
                                      (size_t)worker * l->peer_bell_stride);
}

static struct wi_bell *consumer_bell(const struct wi_lane *lane)
{
    return bell_of(lane->out, lane->worker);
}

/* Whom to ring: if any worker may take the rows, one that sleeps. */
static uint32_t whom(const struct wi_lane *lane)
{
    for (uint32_t i = 0; i < lane->takers; i++) {
        uint32_t k = (lane->worker + i) % lane->takers;
        /* E17 sc: after the tail; pairs with E17 sc in wi_common_look() */
        if (wi_load_sc(&bell_of(lane->out, k)->parked) != WI_AWAKE) {
            return k;
        }
    }
    return lane->worker;
}

bool wi_lane_consumer_waits(const struct wi_lane *lane)
{
    struct wi_out *o = lane->out;
    if (o->mapped) {
        /* Reading `head` costs a cache miss while the consumer works. */
        return wi_bell_asleep(consumer_bell(lane)) && wi_lane_is_drained(lane);
    }
    return wi_load_rlx(&o->reader_waited) >=
           lane->sent_pos; /* rlx: only a hint */
}

/* Tell the consumer that the ring has data. */
static void ring_consumer(struct wi_lane *lane)
{
    struct wi_out *o = lane->out;
    struct wi_link *l = o->link;
    if (!o->mapped) {
        /* Two frames at a time, and the last one with the END: one
         * wake-up. rlx: our own */
        o->held = !o->held && wi_load_rlx(&o->follows) >= WI_FOLLOWS_SOON;
        if (!o->held) {
            wi_link_post(l, &o->item);
        }
        return;
    }
    if (wi_unlikely(!wi_lq_empty(&l->ctl))) {
        wi_link_pump(l); /* it may not have read yet that this ring opens */
    }
    uint32_t base =
        l->self ? l->slot * l->engine->budget.n_units : l->peer_bell_base;
    uint32_t n_ids = l->self ? l->engine->n_ids : l->peer_bell_ids;
    uint32_t worker = whom(lane);
    if (wi_bell_mark(bell_of(o, worker), n_ids, base + o->edge) != WI_WAKE_FD) {
        return;
    }
    if (l->self) {
        l->engine->ring_fn(l->engine->hook_arg, worker);
        return;
    }
    /* E6 sc: pairs with the exchange in send_bells() */
    (void)wi_or_sc(&l->bells, 1ull << worker);
    wi_link_pump(l);
}

/* ---- frames -------------------------------------------------------------- */

/* Sets the span. False: no room as far as `head_seen` says. */
static bool reserve(struct wi_lane *lane, uint32_t want, uint32_t least)
{
    struct wi_out *o = lane->out;
    lane->span = wi_ring_reserve(o->size, o->tail, o->head_seen, want, least);
    return lane->span.bytes != 0;
}

/* Looks at what the consumer has released. */
static bool look_for_room(struct wi_lane *lane, uint32_t want, uint32_t least)
{
    struct wi_out *o = lane->out;
    /* E5 acquire: the consumer is done with the bytes; pairs with E5 sc in
     * move_head() (mapped) and reap() (posted) */
    o->head_seen = wi_load_acq(&o->ctl->head);
    if (reserve(lane, want, least)) {
        return true;
    }
    /* E5 sc: the wish, then a last look; pairs with E5 sc in move_head() and
     * tell_producer(), reap(): head, then the wish */
    wi_store_sc(&o->ctl->producer_waits, WI_WAITS_FOR_ROOM);
    o->head_seen = wi_load_sc(&o->ctl->head); /* E5 sc: as above */
    bool found = reserve(lane, want, least);
    if (!found) {
        wi_lane_ask_credit(lane);
    }
    return found;
}

/* The span is known: it needs pages. */
static bool has_pages(struct weir_writer *w, const struct wi_lane *lane)
{
    const struct wi_out *o = lane->out;
    return wi_likely(o->pages_bytes == o->size) ||
           (lane->span.pad == 0 &&
            lane->span.off + lane->span.bytes <= o->pages_bytes) ||
           wi_lane_take_pages(w, lane);
}

bool wi_lane_room(struct weir_writer *w, struct wi_lane *lane, uint32_t want,
                  uint32_t least)
{
    return (wi_likely(reserve(lane, want, least)) ||
            look_for_room(lane, want, least)) &&
           has_pages(w, lane);
}

static void put_header(const struct wi_lane *lane, uint8_t *mem, uint64_t pos)
{
    struct wi_frame_header *h = (struct wi_frame_header *)(void *)mem;
    h->pos = pos;
    h->worker = lane->worker;
    h->epoch = lane->out->epoch;
}

void wi_lanes_fetch(const struct weir_writer *w)
{
    uint32_t n = wi_min_u32(w->n_lanes, OWN_LANES);
    for (uint32_t i = 0; i < n; i++) {
        const struct wi_lane *lane = &w->lanes[i];
        /* E7 acquire: the ring's fields; as in wi_lane_ready() */
        if (!wi_lane_has_rows(lane) &&
            wi_load_acq(&lane->out->state) == WI_OUT_OPEN) {
            uintptr_t mem = (uintptr_t)lane->out->mem + lane->out->tail_off;
            wi_prefetch_write(mem);
            wi_prefetch_write(mem + WI_CACHE_LINE);
            wi_prefetch_write(mem + 2 * (uintptr_t)WI_CACHE_LINE);
        }
    }
}

/* Before publishing, while the header is ours: its consumer may be a peer. */
static void tally(struct weir_writer *w, struct wi_lane *lane,
                  const struct wi_frame_header *h)
{
    if (h->kind != WI_FRAME_END) {
        lane->rows += h->rows;
        lane->bytes += h->bytes;
        lane->checksum += h->checksum;
        lane->frames++;
        wi_stat_add(&w->worker->stats.rows_sent, h->rows);
        wi_stat_add(&w->worker->stats.bytes_sent, h->bytes);
        wi_stat_add(&w->worker->stats.frames_sent, 1);
    }
}

uint64_t wi_lane_now(const struct weir_writer *w)
{
    return wi_worker_now(w->worker);
}

/* Push the lines of a short frame out of this core's cache: a reader that waits
 * is about to fetch them, and gets them sooner from the cache that cores
 * share. */
static void hand_over(const uint8_t *mem, uint32_t bytes)
{
    if (bytes <= SHORT_FRAME) {
        for (uint32_t off = 0; off < bytes; off += WI_CACHE_LINE) {
            wi_demote((uintptr_t)mem + off);
        }
    }
}

void wi_lane_put(struct weir_writer *w, struct wi_lane *lane, uint32_t bytes,
                 enum wi_follows follows)
{
    struct wi_out *o = lane->out;
    uint8_t *mem = o->mem + lane->span.off;
    o->run = follows != WI_FOLLOWS_NONE ? o->run + 1 : 0;
    /* rlx: the item is queued after it (E6) */
    bool expected = o->run > MORE_AFTER || follows == WI_FOLLOWS_END;
    wi_store_rlx(&o->follows, expected ? follows : WI_FOLLOWS_NONE);
    if (lane->span.pad != 0) {
        uint64_t pos = lane->span.pos - lane->span.pad;
        wi_frame_put_pad(o->mem + pos % o->size, lane->span.pad);
        put_header(lane, o->mem + pos % o->size, pos);
    }
    put_header(lane, mem, lane->span.pos);
    tally(w, lane, (const void *)mem);
    o->tail = lane->span.pos + bytes;
    o->tail_off = lane->span.off + bytes;
    o->tail_off = o->tail_off == o->size ? 0 : o->tail_off;
    lane->sent_pos = o->tail;
    /* E1 release: frame bytes before tail; pairs with E1 acquire in the
     * consumer (mapped) or post_limit() (posted) */
    wi_store_rel(&o->ctl->tail, o->tail);
    if (lane->takers != 0) {
        /* E17 sc: the same, before the look in whom() */
        wi_store_sc(&o->ctl->tail, o->tail);
    }
    hand_over(mem, bytes);
    ring_consumer(lane);
    if (wi_unlikely(o->start_bytes < o->frame_bytes)) {
        wi_lane_grow(o, bytes);
    }
    lane->sent_ns = wi_lane_now(w); /* nobody waits for this any more */
}

void wi_lane_drop(struct weir_writer *w, struct wi_lane *lane)
{
    lane->open = false;
    lane->staged = 0;
    wi_builder_drop(lane->builder);
    if (!lane->done) {
        lane->done = true;
        w->n_done++;
    }
}

/* Nobody reads the ring any more: all its lanes are done. */
static WI_COLD void ring_stopped(struct weir_writer *w, struct wi_out *o)
{
    struct weir_node *node = w->shuffle->query->node;
    for (uint32_t d = 0; d < w->n_lanes; d++) {
        if (w->lanes[d].out == o) {
            wi_lane_drop(w, &w->lanes[d]);
            w->lanes[d].ended = true;
        }
    }
    wi_node_lock(node);
    wi_out_abandon(o);
    wi_node_unlock(node);
}

bool wi_lane_ready(struct weir_writer *w, struct wi_lane *lane)
{
    struct wi_out *o = lane->out;
    /* E7 acquire: stop-sending; pairs with E7 in wi_out_on_stop() */
    if (wi_unlikely(wi_load_acq(&o->stop_all) != 0)) {
        if (!lane->ended) {
            ring_stopped(w, o);
        }
        return false;
    }
    /* E7 acquire: as above; the lane's END is still owed */
    if (wi_unlikely(wi_load_acq(&o->stopped) >> lane->worker & 1)) {
        wi_lane_drop(w, lane);
    }
    /* E7 acquire: the ring's fields; pairs with E7 release in place_one() */
    return wi_load_acq(&o->state) == WI_OUT_OPEN;
}

/* Copy the finished frame in the stage to the ring. False: no room. */
static bool put_staged(struct weir_writer *w, struct wi_lane *lane,
                       enum wi_follows follows)
{
    uint32_t bytes = lane->staged;
    if (!wi_lane_room(w, lane, bytes, bytes)) {
        return false;
    }
    memcpy(lane->out->mem + lane->span.off, lane->stage, bytes);
    lane->staged = 0;
    wi_lane_put(w, lane, bytes, follows);
    return true;
}

/* Finish the open frame. Returns its bytes; 0: it had no rows. */
static uint32_t finish(struct wi_lane *lane)
{
    lane->open = false;
    /* A spinning reader has this line: fetch it while the frame is summed. */
    wi_prefetch_write((uintptr_t)&lane->out->ctl->tail);
    return wi_builder_finish(lane->builder, lane->out->checksum);
}

void wi_lane_publish(struct weir_writer *w, struct wi_lane *lane,
                     enum wi_follows follows)
{
    uint32_t bytes = lane->staged != 0 ? lane->staged : finish(lane);
    if (bytes == 0) {
        return;
    }
    if (lane->stage != NULL) {
        lane->staged = bytes;
        (void)put_staged(w, lane, follows);
    } else {
        lane->whole = false;
        wi_lane_put(w, lane, bytes, follows);
    }
}

/* Round the size of a frame at the ring's end: short frames come to lie there
 * by the dozen, each a little further on, and each size needs a layout of its
 * own. */
static void shorten(struct wi_span *span, uint32_t full, uint32_t least)
{
    uint32_t step = (uint32_t)wi_align_up(full / 8, WI_CACHE_LINE);
    uint32_t bytes = span->bytes / step * step;
    span->bytes = bytes > least ? bytes : least;
}

static uint32_t full_bytes(const struct weir_writer *w,
                           const struct wi_lane *lane)
{
    const struct wi_out *o = lane->out;
    return wi_likely(o->start_bytes == o->frame_bytes)
               ? o->frame_bytes
               : wi_lane_start_bytes(w, lane);
}

/* Fewest bytes that a frame of `full` bytes may have where the ring ends. */
static uint32_t least_bytes(const struct weir_writer *w,
                            const struct wi_lane *lane, uint32_t full)
{
    if (lane->whole || w->shuffle->schema->n_var != 0) {
        return full;
    }
    return wi_min_u32(full, wi_max_u32(full / 4 / 64 * 64, w->row_bytes));
}

/* An empty frame in the lane's span. */
static void lane_start(struct wi_lane *lane, uint32_t full, uint32_t least)
{
    struct wi_out *o = lane->out;
    if (wi_unlikely(lane->span.bytes < full)) {
        shorten(&lane->span, full, least);
    }
    lane->open = true;
    wi_builder_start(lane->builder, o->mem + lane->span.off, lane->span.bytes,
                     0);
    if (o->mapped && !o->link->self) {
        wi_builder_around(lane->builder);
    }
}

/* An empty frame in the stage. */
static bool stage_start(struct weir_writer *w, struct wi_lane *lane)
{
    if (lane->staged != 0 && !put_staged(w, lane, WI_FOLLOWS_NONE)) {
        return false;
    }
    lane->open = true;
    wi_builder_start(lane->builder, lane->stage,
                     wi_min_u32(w->stage_bytes, lane->out->frame_bytes), 0);
    return true;
}

bool wi_lane_open(struct weir_writer *w, struct wi_lane *lane)
{
    if (lane->stage != NULL) {
        return stage_start(w, lane);
    }
    uint32_t full = full_bytes(w, lane);
    uint32_t least = least_bytes(w, lane, full);
    if (!wi_lane_room(w, lane, full, least)) {
        return false;
    }
    lane_start(lane, full, least);
    return true;
}

void wi_lane_reopen(struct weir_writer *w, struct wi_lane *lane)
{
    if (lane->stage != NULL) {
        return; /* nothing to gain: it was in this core's cache all the time */
    }
    uint32_t full = full_bytes(w, lane);
    uint32_t least = least_bytes(w, lane, full);
    if (reserve(lane, full, least) && has_pages(w, lane)) {
        lane_start(lane, full, least);
    }
}
