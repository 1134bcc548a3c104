/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writers: the producing half of a row's path.
 *
 *   batch --import--> views --split--> a list of rows per lane
 *         --append--> open frame of the lane's ring --publish--> consumer
 *
 * A push is resumable: the split, and how far each lane got with it, stay in
 * the writer while the caller is away after WEIR_AGAIN.
 */
#include "core/shuffle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"

/* Lanes looked at for early flushing per push. */
#define FLUSH_LOOK 64u

/* So many full frames in a row, with no wait between, and more are expected. */
#define MORE_AFTER 8u

/* Bytes of a frame that is sent for its latency and not for its size. */
#define SHORT_FRAME 512u

/* Lanes whose next frames are fetched ahead. */
#define OWN_LANES 4u

enum step { STEP_DONE, STEP_BLOCKED, STEP_FAILED };

/* ---- rings ------------------------------------------------------------------------ */

/* The lane waits for its consumer: to have read, or to wait for what there is.
 * That of a posted ring was told that more comes, and keeps its credit back. */
static void ask(struct wi_lane *lane)
{
    struct wi_out *o = lane->out;
    o->run = 0;
    o->held = false;
    if (!o->mapped &&
        wi_load_rlx(&o->more) != WI_MORE_NONE) { /* rlx: our own */
        wi_store_rlx(&o->more, WI_MORE_NONE); /* rlx: queued behind it (E6) */
        wi_link_post(o->link, &o->item);
    }
}

/* Room for a frame in the lane's ring, into its span; false: full, and `want` is
 * set, so that the worker is woken when there is room. */
static bool out_room(struct wi_lane *lane, uint32_t want, uint32_t least)
{
    struct wi_out *o = lane->out;
    lane->span = wi_ring_reserve(o->size, o->tail, o->head_seen, want, least);
    if (wi_likely(lane->span.bytes != 0)) {
        return true;
    }
    /* E5 acquire: the consumer is done with the bytes; pairs with E5 sc in
     * move_head() (mapped) and reap() (posted) */
    o->head_seen = wi_load_acq(&o->ctl->head);
    lane->span = wi_ring_reserve(o->size, o->tail, o->head_seen, want, least);
    if (lane->span.bytes != 0) {
        return true;
    }
    /* E5 sc: the wish, then a last look; pairs with E5 sc in move_head() and
     * tell_producer(), reap(): head, then the wish */
    wi_store_sc(&o->ctl->want, 1);
    o->head_seen = wi_load_sc(&o->ctl->head); /* E5 sc: as above */
    lane->span = wi_ring_reserve(o->size, o->tail, o->head_seen, want, least);
    if (lane->span.bytes == 0) {
        ask(lane);
    }
    return lane->span.bytes != 0;
}

/* How far the consumer has got. */
static uint64_t consumed(struct wi_out *o)
{
    /* E5 sc: read after `want` was set; pairs as in out_room() */
    return o->mapped ? wi_load_sc(&o->ctl->head)
                     : wi_load_sc(&o->credit); /* E5 sc: as above */
}

static struct wi_bell *consumer_bell(const struct wi_lane *lane)
{
    struct wi_link *l = lane->out->link;
    if (l->self) {
        return l->engine->workers[lane->worker].bell;
    }
    return (struct wi_bell *)(void *)(l->peer_bells + (size_t)lane->worker *
                                                          l->peer_bell_stride);
}

/* Tell the consumer that the ring has data. */
static void ring_consumer(struct wi_lane *lane)
{
    struct wi_out *o = lane->out;
    struct wi_link *l = o->link;
    if (!o->mapped) {
        /* Two at a time wake the consumer once. rlx: our own */
        o->held = !o->held && wi_load_rlx(&o->more) == WI_MORE_SOON;
        if (!o->held) {
            wi_link_post(l, &o->item);
        }
        return;
    }
    uint32_t base =
        l->self ? l->slot * l->engine->budget.n_units : l->peer_bell_base;
    uint32_t n_ids = l->self ? l->engine->n_ids : l->peer_bell_ids;
    if (wi_bell_mark(consumer_bell(lane), n_ids, base + o->edge) !=
        WI_WAKE_FD) {
        return;
    }
    if (l->self) {
        l->engine->ring_fn(l->engine->hook_arg, lane->worker);
        return;
    }
    /* E6 sc: pairs with the exchange in send_bells() */
    (void)wi_or_sc(&l->bells, 1ull << lane->worker);
    wi_link_pump(l);
}

static void put_header(const struct wi_lane *lane, uint8_t *mem, uint64_t pos)
{
    struct wi_frame_header *h = (struct wi_frame_header *)(void *)mem;
    h->pos = pos;
    h->worker = lane->worker;
    h->epoch = lane->out->epoch;
}

static void count(_Atomic uint64_t *c, uint64_t n)
{
    /* rlx: a statistic; only the worker writes it */
    wi_store_rlx(c, wi_load_rlx(c) + n);
}

static bool has_rows(const struct wi_lane *lane)
{
    return lane->open && wi_builder_rows(lane->builder) != 0;
}

/* Get the first lines of the next frames at the beginning of a push, while the
 * batch is looked at. The consumers had them last, and later than the last
 * publish: one that waits for each frame has its cache read on, into the next. */
static void own_frames(const struct weir_writer *w)
{
    uint32_t n = wi_min_u32(w->n_lanes, OWN_LANES);
    for (uint32_t i = 0; i < n; i++) {
        const struct wi_lane *lane = &w->lanes[i];
        /* E7 acquire: the ring's fields; as in lane_ready() */
        if (!has_rows(lane) && wi_load_acq(&lane->out->state) == WI_OUT_OPEN) {
            uintptr_t mem = (uintptr_t)lane->out->mem + lane->out->tail_off;
            wi_prefetch_write(mem);
            wi_prefetch_write(mem + WI_CACHE_LINE);
            wi_prefetch_write(mem + 2 * (uintptr_t)WI_CACHE_LINE);
        }
    }
}

/* While the header is ours: its consumer may be a peer. */
static void tally(struct weir_writer *w, struct wi_lane *lane,
                  const struct wi_frame_header *h)
{
    if (h->kind != WI_FRAME_END) {
        lane->rows += h->rows;
        lane->bytes += h->bytes;
        lane->checksum += h->checksum;
        lane->frames++;
        count(&w->worker->stats.rows_sent, h->rows);
        count(&w->worker->stats.bytes_sent, h->bytes);
        count(&w->worker->stats.frames_sent, 1);
    }
}

static uint64_t now(const struct weir_writer *w)
{
    const struct wi_engine *e = w->worker->engine;
    return e->cfg.manual ? e->now_ns : wi_clock_coarse();
}

/* The lines of a short frame leave this core's cache: its reader, if it waits,
 * is about to fetch them, and takes them sooner from the cache of both. */
static void hand_over(const uint8_t *mem, uint32_t bytes)
{
    if (bytes <= SHORT_FRAME) {
        for (uint32_t off = 0; off < bytes; off += WI_CACHE_LINE) {
            wi_demote((uintptr_t)mem + off);
        }
    }
}

/* Make the frame in the lane's span, `bytes` long, visible to the consumer. */
static void publish(struct weir_writer *w, struct wi_lane *lane, uint32_t bytes,
                    enum wi_more more)
{
    struct wi_out *o = lane->out;
    uint8_t *mem = o->mem + lane->span.off;
    o->run = more != WI_MORE_NONE ? o->run + 1 : 0;
    /* rlx: the item is queued behind it (E6) */
    wi_store_rlx(&o->more, o->run > MORE_AFTER ? more : WI_MORE_NONE);
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
    /* E1 release: frame bytes before tail; pairs with E1 acquire in the
     * consumer (mapped) or post_limit() (posted) */
    wi_store_rel(&o->ctl->tail, o->tail);
    hand_over(mem, bytes);
    ring_consumer(lane);
    lane->sent_ns = now(w); /* nobody waits for this any more */
}

/* ---- lanes --------------------------------------------------------------------------- */

static void lane_drop(struct weir_writer *w, struct wi_lane *lane)
{
    if (lane->out->filling == lane) {
        lane->out->filling = NULL;
    }
    lane->open = false;
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
            lane_drop(w, &w->lanes[d]);
            w->lanes[d].ended = true;
        }
    }
    wi_node_lock(node);
    wi_out_abandon(o);
    wi_node_unlock(node);
}

/* Ready for frames? Notices stop-sending. */
static bool lane_ready(struct weir_writer *w, struct wi_lane *lane)
{
    struct wi_out *o = lane->out;
    /* E7 acquire: stop-sending; pairs with E7 in on_stop() */
    if (wi_unlikely(wi_load_acq(&o->stop_all) != 0)) {
        if (!lane->ended) {
            ring_stopped(w, o);
        }
        return false;
    }
    /* E7 acquire: as above; the lane's END is still owed */
    if (wi_unlikely(wi_load_acq(&o->stopped) >> lane->worker & 1)) {
        lane_drop(w, lane);
    }
    /* E7 acquire: the ring's fields; pairs with E7 release in place_one() */
    return wi_load_acq(&o->state) == WI_OUT_OPEN;
}

static void lane_publish(struct weir_writer *w, struct wi_lane *lane,
                         enum wi_more more)
{
    lane->out->filling = NULL;
    lane->open = false;
    /* A reader that spins has this line: it comes while the frame is summed. */
    wi_prefetch_write((uintptr_t)&lane->out->ctl->tail);
    uint32_t bytes = wi_builder_finish(lane->builder, lane->out->checksum);
    if (bytes != 0) {
        lane->whole = false;
        publish(w, lane, bytes, more);
    }
}

/* A ring has one open frame: another lane's is published first. */
static void take_ring(struct weir_writer *w, struct wi_lane *lane)
{
    struct wi_lane *other = lane->out->filling;
    if (other != NULL && other != lane) {
        lane_publish(w, other, WI_MORE_NONE);
    }
}

/* A frame at the ring's end, in steps: short frames come to lie there by the
 * dozen, each a little further on, and each size has a layout of its own. */
static void shorten(struct wi_span *span, uint32_t full, uint32_t least)
{
    uint32_t step = (uint32_t)wi_align_up(full / 8, WI_CACHE_LINE);
    uint32_t bytes = span->bytes / step * step;
    span->bytes = bytes > least ? bytes : least;
}

/* The least that a frame may have where the ring ends. */
static uint32_t least_bytes(const struct weir_writer *w,
                            const struct wi_lane *lane)
{
    uint32_t full = lane->out->frame_bytes;
    if (lane->whole || w->shuffle->schema->n_var != 0) {
        return full;
    }
    return wi_min_u32(full, wi_max_u32(full / 4 / 64 * 64, w->row_bytes));
}

/* An empty frame in the lane's span. */
static void lane_start(struct wi_lane *lane, uint32_t least)
{
    struct wi_out *o = lane->out;
    if (wi_unlikely(lane->span.bytes < o->frame_bytes)) {
        shorten(&lane->span, o->frame_bytes, least);
    }
    lane->open = true;
    o->filling = lane;
    wi_builder_start(lane->builder, o->mem + lane->span.off, lane->span.bytes,
                     0);
}

static bool lane_open(struct weir_writer *w, struct wi_lane *lane)
{
    uint32_t least = least_bytes(w, lane);
    take_ring(w, lane);
    if (!out_room(lane, lane->out->frame_bytes, least)) {
        return false;
    }
    lane_start(lane, least);
    return true;
}

/* After a flush: the next frame, if there is room for it, while the consumer is
 * busy with the last one. */
static void lane_reopen(const struct weir_writer *w, struct wi_lane *lane)
{
    struct wi_out *o = lane->out;
    uint32_t least = least_bytes(w, lane);
    lane->span =
        wi_ring_reserve(o->size, o->tail, o->head_seen, o->frame_bytes, least);
    if (lane->span.bytes != 0) {
        lane_start(lane, least);
    }
}

/* ---- rows in chunks --------------------------------------------------------------------- */

static WI_COLD enum step fail_row(struct weir_writer *w, uint64_t bytes)
{
    char text[160];
    struct weir_query *q = w->shuffle->query;
    uint64_t most = q->engine->cfg.max_row_bytes;
    (void)snprintf(text, sizeof(text),
                   "%s: a row of %" PRIu64 " bytes; max_row_bytes is %" PRIu64,
                   q->engine->name, bytes, most);
    wi_node_lock(q->node);
    wi_query_fail(q, WEIR_ERR_QUERY_MEMORY, text);
    wi_node_unlock(q->node);
    return STEP_FAILED;
}

/* Build the frame of one large row outside the ring. */
static WI_COLD enum step make_image(struct weir_writer *w, struct wi_lane *lane,
                                    uint64_t row)
{
    const struct wi_schema *s = w->shuffle->schema;
    uint64_t bytes = wi_frame_row_bytes(s, w->views, row);
    w->image_lane = (uint32_t)(lane - w->lanes);
    if (bytes > w->shuffle->query->engine->cfg.max_row_bytes ||
        bytes > UINT32_MAX / 2) {
        return fail_row(w, bytes);
    }
    w->image = aligned_alloc(WI_CACHE_LINE, bytes);
    if (w->image == NULL) {
        return fail_row(w, bytes);
    }
    wi_builder_start(lane->builder, w->image, (uint32_t)bytes, 1);
    uint32_t idx = (uint32_t)row;
    uint32_t taken = wi_builder_append(lane->builder, w->views, &idx, 0, 1);
    assert(taken == 1);
    (void)taken;
    w->image_bytes = wi_builder_finish(lane->builder, lane->out->checksum);
    w->image_used = 0;
    return STEP_DONE;
}

static WI_COLD enum step send_image(struct weir_writer *w, struct wi_lane *lane)
{
    while (w->image_used < w->image_bytes) {
        struct wi_out *o = lane->out;
        if (!out_room(lane, o->frame_bytes, o->frame_bytes)) {
            return STEP_BLOCKED;
        }
        uint32_t most =
            lane->span.bytes - (uint32_t)sizeof(struct wi_frame_header);
        uint32_t n = wi_min_u32(most, w->image_bytes - w->image_used);
        uint32_t bytes =
            wi_frame_put_chunk(o->mem + lane->span.off, w->image,
                               w->image_bytes, w->image_used, n, o->checksum);
        w->image_used += n;
        publish(w, lane, bytes, WI_MORE_NONE);
    }
    free(w->image);
    w->image = NULL;
    return STEP_DONE;
}

/* ---- the scatter ---------------------------------------------------------------------------- */

/* The open frame took nothing: it is at the ring's end and too short for this
 * row, or the row needs chunks. */
static WI_COLD enum step large_row(struct weir_writer *w, struct wi_lane *lane,
                                   uint64_t row)
{
    lane->open = false;
    lane->out->filling = NULL;
    if (lane->span.bytes < lane->out->frame_bytes && !lane->whole) {
        lane->whole = true;
        return STEP_DONE;
    }
    enum step st = make_image(w, lane, row);
    if (st == STEP_DONE) {
        lane->taken++;
        st = send_image(w, lane);
    }
    return st;
}

/* After a full frame. With several lanes the consumers wait for one another, and
 * the questions cost more than the credits. */
static enum wi_more what_follows(const struct weir_writer *w,
                                 const struct wi_lane *lane)
{
    if (w->n_lanes != 1) {
        return WI_MORE_NONE;
    }
    uint64_t left = w->batch_rows - w->row - lane->taken;
    return left >= wi_builder_rows(lane->builder) ? WI_MORE_SOON
                                                  : WI_MORE_LIKELY;
}

/* Rows [taken, n) of this lane's list into frames. */
static enum step lane_fill(struct weir_writer *w, struct wi_lane *lane,
                           const uint32_t *idx, uint32_t first, uint32_t n)
{
    while (lane->taken < n) {
        if (!lane->open && !lane_open(w, lane)) {
            return STEP_BLOCKED;
        }
        uint32_t from = lane->taken;
        uint32_t k = wi_builder_append(lane->builder, w->views,
                                       idx != NULL ? idx + from : NULL,
                                       first + from, n - from);
        lane->taken += k;
        if (lane->taken == n && wi_builder_room(lane->builder) != 0) {
            break;
        }
        if (k == 0 && wi_builder_rows(lane->builder) == 0) {
            uint64_t row = idx != NULL ? idx[from] : first + from;
            enum step st = large_row(w, lane, row);
            if (st != STEP_DONE) {
                return st;
            }
            continue;
        }
        lane_publish(w, lane, what_follows(w, lane));
    }
    return STEP_DONE;
}

/* The lane whose turn it is has no use for the row in chunks any more; the
 * reader of a stopped stream does not look at the pieces that went out. */
static void drop_image(struct weir_writer *w)
{
    free(w->image);
    w->image = NULL;
}

static enum step lane_step(struct weir_writer *w, uint32_t d)
{
    struct wi_lane *lane = &w->lanes[d];
    uint32_t n = w->split.count[d];
    if (lane->taken >= n && w->image == NULL) {
        return STEP_DONE;
    }
    bool ready = !lane->done && lane_ready(w, lane);
    if (lane->done) {
        lane->taken = n; /* nobody wants them */
        drop_image(w);
        return STEP_DONE;
    }
    if (!ready) {
        return STEP_BLOCKED;
    }
    if (wi_unlikely(w->image != NULL)) {
        enum step st = send_image(w, lane);
        if (st != STEP_DONE) {
            return st;
        }
    }
    const uint32_t *idx =
        w->split.idx != NULL ? w->split.idx + w->split.begin[d] : NULL;
    return lane_fill(w, lane, idx, w->split.first, n);
}

/* The i-th lane in this writer's own order. Every producer begins after its own
 * place: if all began with the first consumer, they would all send to it at a
 * time, then to the second, and each port would be idle most of the time. */
static uint32_t lane_at(const struct weir_writer *w, uint32_t i)
{
    uint32_t d = w->first_lane + i;
    return d < w->n_lanes ? d : d - w->n_lanes;
}

/* One split over all lanes. A large row in chunks holds up the other lanes:
 * the writer has one image. */
static enum step split_step(struct weir_writer *w)
{
    enum step all = STEP_DONE;
    if (wi_unlikely(w->image != NULL)) {
        all = lane_step(w, w->image_lane);
    }
    for (uint32_t i = 0; i < w->n_lanes && w->image == NULL; i++) {
        enum step st = lane_step(w, lane_at(w, i));
        if (st == STEP_FAILED) {
            return st;
        }
        if (st == STEP_BLOCKED) {
            all = STEP_BLOCKED;
        }
    }
    return w->image != NULL && all == STEP_DONE ? STEP_BLOCKED : all;
}

static void next_split(struct weir_writer *w, const struct ArrowArray *batch)
{
    uint64_t left = (uint64_t)batch->length - w->row;
    uint32_t n = (uint32_t)wi_min_u64(left, WI_SPLIT_ROWS);
    wi_partition_split(w->partition, w->views, (uint32_t)w->row, n, w->dest,
                       &w->split);
    for (uint32_t d = 0; d < w->n_lanes; d++) {
        w->lanes[d].taken = 0;
    }
    w->split_valid = true;
}

/* ---- flushing -------------------------------------------------------------------------------- */

/* Does the consumer wait, with nothing of this lane to read? */
static bool is_wanted(const struct wi_lane *lane)
{
    struct wi_out *o = lane->out;
    if (o->mapped) {
        /* The line with `head` is dear while the consumer works. */
        return wi_bell_asleep(consumer_bell(lane)) && consumed(o) == o->tail;
    }
    return wi_load_rlx(&o->wanted) == o->tail; /* rlx: only a hint */
}

/* At the end of a push: consumers that sleep on an empty ring get what there
 * is, unless the stream is dense. A bounded look per push, round robin over the
 * lanes. */
static void flush_hungry(struct weir_writer *w)
{
    uint32_t n = wi_min_u32(w->n_lanes, FLUSH_LOOK);
    uint64_t now_ns = now(w);
    for (uint32_t i = 0; i < n; i++) {
        struct wi_lane *lane = &w->lanes[w->flush_next];
        w->flush_next = w->flush_next + 1 < w->n_lanes ? w->flush_next + 1 : 0;
        if (!lane->done) {
            (void)lane_ready(w, lane); /* stopped? It may get no rows at all */
        }
        if (lane->out->held) {
            ask(lane); /* what was to follow did not */
        }
        if (!has_rows(lane) || now_ns - lane->sent_ns <= WI_DENSE_NS) {
            continue;
        }
        if (is_wanted(lane)) {
            lane_publish(w, lane, WI_MORE_NONE);
        } else {
            ask(lane);
        }
    }
}

bool wi_writer_flush_idle(struct weir_writer *w, uint64_t keep_ns)
{
    bool left = false;
    uint64_t now_ns = now(w);
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        struct wi_lane *lane = &w->lanes[lane_at(w, i)];
        /* E7 acquire: as in lane_ready(); stop-sending is left to the next
         * push, because the node's lock is held here */
        if (!has_rows(lane) || wi_load_acq(&lane->out->stop_all) != 0 ||
            wi_load_acq(&lane->out->state) != WI_OUT_OPEN) { /* E7 */
            continue;
        }
        if (keep_ns != 0 && now_ns - lane->sent_ns <= keep_ns) {
            left = true;
            continue;
        }
        /* E5 sc: the wish to be told when the ring is empty, then the look; as
         * in out_room() */
        wi_store_sc(&lane->out->ctl->want, 1);
        if (consumed(lane->out) == lane->out->tail) {
            lane_publish(w, lane, WI_MORE_NONE);
        } else {
            ask(lane);
        }
    }
    return left;
}

weir_err weir_writer_flush(weir_writer *w)
{
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        struct wi_lane *lane = &w->lanes[lane_at(w, i)];
        if (has_rows(lane) && lane_ready(w, lane) && lane->open) {
            lane_publish(w, lane, WI_MORE_NONE);
            lane_reopen(w, lane);
        }
    }
    return weir_query_status(w->shuffle->query, NULL);
}

/* ---- pushing ---------------------------------------------------------------------------------- */

/* Is no row larger than max_row_bytes? Row by row only if the whole batch is
 * larger. */
static bool rows_fit(const struct weir_writer *w,
                     const struct ArrowArray *batch)
{
    const struct wi_schema *s = w->shuffle->schema;
    uint64_t most = w->shuffle->query->engine->cfg.max_row_bytes;
    uint64_t n = (uint64_t)batch->length;
    uint64_t sum = w->row_bytes + 64ull * s->n_var;
    if (wi_likely(s->n_var == 0 && sum <= most)) {
        return true;
    }
    for (uint32_t i = 0; s->n_var > 0 && n > 0 && i < s->n_columns; i++) {
        if (s->columns[i].kind == WI_KIND_VAR) {
            const int32_t *ends = w->views[i].values;
            ends += w->views[i].offset;
            sum += (uint32_t)(ends[n] - ends[0]);
        }
    }
    for (uint64_t row = 0; sum > most && row < n; row++) {
        if (wi_frame_row_bytes(s, w->views, row) > most) {
            return false;
        }
    }
    return true;
}

static weir_err begin_push(struct weir_writer *w,
                           const struct ArrowArray *batch, const uint32_t *dest)
{
    weir_err rc = wi_schema_import(w->shuffle->schema, batch, w->views, NULL);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (w->finished || (dest != NULL) != (w->shuffle->kind == WEIR_VECTOR) ||
        batch->length > UINT32_MAX) {
        return w->finished ? WEIR_ERR_STATE : WEIR_ERR_ARG;
    }
    for (int64_t i = 0; dest != NULL && i < batch->length; i++) {
        if (dest[i] >= w->n_lanes) {
            return WEIR_ERR_ARG;
        }
    }
    if (!rows_fit(w, batch)) {
        return WEIR_ERR_DATA;
    }
    w->dest = dest;
    w->row = 0;
    w->batch_rows = (uint64_t)batch->length;
    w->split_valid = false;
    w->pushing = true;
    return WEIR_OK;
}

static weir_err push(struct weir_writer *w, const struct ArrowArray *batch,
                     const uint32_t *dest)
{
    /* E8 acquire: as in weir_query_status() */
    weir_err rc = (weir_err)wi_load_acq(&w->shuffle->query->code);
    own_frames(w);
    if (wi_likely(rc == WEIR_OK) && !w->pushing) {
        rc = begin_push(w, batch, dest);
    }
    if (wi_unlikely(rc != WEIR_OK)) {
        return rc;
    }
    w->worker->blocked = false;
    w->worker->settled = false;
    w->worker->progress++;
    while (w->row < (uint64_t)batch->length && w->n_done < w->n_lanes) {
        if (!w->split_valid) {
            next_split(w, batch);
        }
        enum step st = split_step(w);
        if (st == STEP_BLOCKED) {
            count(&w->worker->stats.pushes_blocked, 1);
            w->worker->blocked = true;
            return WEIR_AGAIN;
        }
        if (st == STEP_FAILED) {
            return weir_query_status(w->shuffle->query, NULL);
        }
        w->split_valid = false;
        w->row += w->split.n;
    }
    w->pushing = false;
    flush_hungry(w);
    return w->n_done == w->n_lanes ? WEIR_DONE : WEIR_OK;
}

weir_err weir_writer_push(weir_writer *writer, const struct ArrowArray *batch)
{
    return push(writer, batch, NULL);
}

weir_err weir_writer_push_to(weir_writer *writer,
                             const struct ArrowArray *batch,
                             const uint32_t *dest)
{
    return push(writer, batch, dest);
}

weir_err weir_writer_push_wait(weir_writer *writer,
                               const struct ArrowArray *batch)
{
    weir_node *node = writer->shuffle->query->node;
    weir_err rc;
    while ((rc = push(writer, batch, NULL)) == WEIR_AGAIN) {
        (void)weir_worker_wait(node, writer->worker->idx, WEIR_FOREVER);
    }
    return rc;
}

/* ---- ending ------------------------------------------------------------------------------------- */

static bool lane_end(struct weir_writer *w, struct wi_lane *lane)
{
    if (!lane_ready(w, lane)) {
        return lane->ended;
    }
    take_ring(w, lane);
    if (lane->open) {
        lane_publish(w, lane, WI_MORE_NONE);
    }
    uint32_t bytes = (uint32_t)wi_align_up(
        sizeof(struct wi_frame_header) + sizeof(struct wi_frame_end), 64);
    if (!out_room(lane, bytes, bytes)) {
        return false;
    }
    struct wi_frame_end end = {
        .rows = lane->rows,
        .bytes = lane->bytes,
        .checksum = lane->checksum,
        .frames = lane->frames,
    };
    bytes = wi_frame_put_end(lane->out->mem + lane->span.off, &end);
    lane->ended = true;
    lane_drop(w, lane);
    publish(w, lane, bytes, WI_MORE_NONE);
    return true;
}

weir_err weir_writer_finish(weir_writer *w)
{
    weir_err rc = weir_query_status(w->shuffle->query, NULL);
    if (rc != WEIR_OK || w->finished) {
        return rc;
    }
    if (w->pushing) {
        return WEIR_ERR_STATE;
    }
    bool all = true;
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        struct wi_lane *lane = &w->lanes[lane_at(w, i)];
        if (!lane->ended && !lane_end(w, lane)) {
            all = false;
        }
    }
    w->finished = all;
    return all ? WEIR_OK : WEIR_AGAIN;
}

weir_err weir_writer_finish_wait(weir_writer *writer)
{
    weir_node *node = writer->shuffle->query->node;
    weir_err rc;
    while ((rc = weir_writer_finish(writer)) == WEIR_AGAIN) {
        (void)weir_worker_wait(node, writer->worker->idx, WEIR_FOREVER);
    }
    return rc;
}

/* ---- opening and closing --------------------------------------------------------------------------- */

static struct wi_out *open_out(struct weir_writer *w, uint32_t member,
                               uint32_t worker)
{
    struct weir_shuffle *s = w->shuffle;
    struct wi_engine *e = s->query->engine;
    struct wi_link *l = wi_link_need(e, member);
    struct wi_out *o = aligned_alloc(WI_CACHE_LINE, sizeof(*o));
    if (l == NULL || o == NULL) {
        free(o);
        return NULL;
    }
    memset(o, 0, sizeof(*o));
    o->item.kind = WI_ITEM_OUT;
    wi_list_init(&o->item.on_link);
    wi_list_init(&o->item.posting);
    o->query_id = s->query->id;
    o->shuffle_id = s->id;
    o->fingerprint = s->fingerprint;
    o->producer_worker = (uint16_t)w->worker->idx;
    o->consumer_worker = (uint16_t)worker;
    o->worker = w->worker;
    wi_out_start(l, o);
    return o;
}

/* The lanes to one member: a ring each, or one ring for all of them. */
static weir_err open_member(struct weir_writer *w, uint32_t member,
                            struct weir_error *err)
{
    struct weir_shuffle *s = w->shuffle;
    uint32_t n = wi_shuffle_workers(s, member, s->consumer_workers);
    bool shared = s->query->engine->budget.per_node && n > 1;
    struct wi_out *o = NULL;
    for (uint32_t k = 0; k < n; k++) {
        bool owner = o == NULL || !shared;
        if (owner) {
            o = open_out(w, member, shared ? WI_ANY_WORKER : k);
        }
        if (o == NULL) {
            return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for an edge");
        }
        struct wi_lane *lane = &w->lanes[w->n_lanes++];
        *lane =
            (struct wi_lane){.out = o, .worker = (uint16_t)k, .owner = owner};
        weir_err rc = wi_builder_open(s->schema, &lane->builder, err);
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    return WEIR_OK;
}

/* Lanes to the consumers before the k-th one. */
static uint32_t lanes_before(const struct weir_writer *w, uint32_t k)
{
    const struct weir_shuffle *s = w->shuffle;
    uint32_t n = 0;
    for (uint32_t i = 0; i < k; i++) {
        n += wi_shuffle_workers(s, s->consumers[i], s->consumer_workers);
    }
    return n;
}

/* In the order of lane_at(): links take turns in the order in which they first
 * had something to send. */
static weir_err open_lanes(struct weir_writer *w, struct weir_error *err)
{
    struct weir_shuffle *s = w->shuffle;
    const struct wi_engine *e = s->query->engine;
    weir_err rc = WEIR_OK;
    uint32_t n = s->n_consumers;
    uint64_t place = (e->self + 1ull) * n / e->n_members;
    w->first_lane = lanes_before(w, (uint32_t)(place % n));
    w->n_lanes = w->first_lane;
    for (uint32_t i = 0; i < n && rc == WEIR_OK; i++) {
        uint32_t k = (uint32_t)((place + i) % n);
        w->n_lanes = k == 0 ? 0 : w->n_lanes;
        rc = open_member(w, s->consumers[k], err);
    }
    w->n_lanes = lanes_before(w, n); /* those not opened are zero */
    return rc == WEIR_OK ? weir_query_status(s->query, err) : rc;
}

static weir_err open_locked(struct weir_shuffle *s, uint32_t worker,
                            struct weir_writer **out, struct weir_error *err)
{
    struct wi_engine *e = s->query->engine;
    uint32_t n = s->self_produces
                     ? wi_shuffle_workers(s, e->self, s->producer_workers)
                     : 0;
    if (worker >= n) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "worker %u of %s does not produce for shuffle %u",
                       worker, e->name, s->id);
    }
    if (s->writers[worker] != NULL) {
        return wi_fail(err, WEIR_ERR_DUPLICATE,
                       "worker %u has a writer of shuffle %u", worker, s->id);
    }
    struct weir_writer *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a writer");
    }
    wi_list_init(&w->on_worker);
    w->shuffle = s;
    w->worker = &e->workers[worker];
    w->partition = s->partitions[worker];
    w->row_bytes = wi_frame_min_bytes(s->schema);
    w->lanes = calloc(s->n_dest, sizeof(*w->lanes));
    w->views = calloc(s->schema->n_columns, sizeof(*w->views));
    s->writers[worker] = w;
    wi_list_push_back(&w->worker->writers, &w->on_worker);
    weir_err rc = w->lanes != NULL && w->views != NULL
                      ? open_lanes(w, err)
                      : wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory");
    if (rc != WEIR_OK) {
        wi_writer_free(w);
        return rc;
    }
    *out = w;
    return WEIR_OK;
}

weir_err weir_writer_open(weir_shuffle *shuffle, uint32_t worker,
                          weir_writer **writer_out, struct weir_error *err)
{
    wi_node_lock(shuffle->query->node);
    weir_err rc = weir_query_status(shuffle->query, err);
    if (rc == WEIR_OK) {
        rc = open_locked(shuffle, worker, writer_out, err);
    }
    wi_node_unlock(shuffle->query->node);
    return rc;
}

weir_err weir_writer_stats(const weir_writer *writer, uint32_t dest,
                           struct weir_edge_stats *stats_out)
{
    if (dest >= writer->n_lanes) {
        return WEIR_ERR_ARG;
    }
    const struct wi_lane *lane = &writer->lanes[dest];
    *stats_out = (struct weir_edge_stats){
        .rows = lane->rows, .bytes = lane->bytes, .frames = lane->frames};
    return WEIR_OK;
}

void wi_writer_free(struct weir_writer *w)
{
    for (uint32_t d = 0; d < w->n_lanes; d++) {
        if (w->lanes[d].owner) {
            wi_out_release(w->lanes[d].out, w->finished);
        }
        if (w->lanes[d].builder != NULL) {
            wi_builder_close(w->lanes[d].builder);
        }
    }
    w->shuffle->writers[w->worker->idx] = NULL;
    w->shuffle->wrote |= (uint64_t)w->finished << w->worker->idx;
    wi_list_remove(&w->on_worker);
    free(w->image);
    free(w->lanes);
    free(w->views);
    free(w);
}

void weir_writer_close(weir_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    struct weir_query *q = writer->shuffle->query;
    wi_node_lock(q->node);
    if (!writer->finished) {
        wi_query_abort(q, "a writer");
    }
    wi_writer_free(writer);
    wi_node_unlock(q->node);
}
