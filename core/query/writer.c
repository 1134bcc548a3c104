/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/writer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/format/frame_build.h"
#include "core/link/engine.h"
#include "core/link/lock.h"
#include "core/link/worker.h"
#include "core/query/filter.h"
#include "core/query/lane.h"
#include "core/query/push_check.h"
#include "core/query/query.h"
#include "core/query/query_fail.h"
#include "core/query/shuffle.h"

/* Lanes looked at for early flushing in one push. */
#define FLUSH_LOOK 64u

enum step { STEP_DONE, STEP_BLOCKED, STEP_FAILED };

/* ---- rows in chunks ------------------------------------------------------ */

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
        if (!wi_lane_room(w, lane, o->frame_bytes, o->frame_bytes)) {
            return STEP_BLOCKED;
        }
        uint32_t most =
            lane->span.bytes - (uint32_t)sizeof(struct wi_frame_header);
        uint32_t n = wi_min_u32(most, w->image_bytes - w->image_used);
        uint32_t bytes =
            wi_frame_put_chunk(o->mem + lane->span.off, w->image,
                               w->image_bytes, w->image_used, n, o->checksum);
        w->image_used += n;
        wi_lane_put(w, lane, bytes, WI_FOLLOWS_NONE);
    }
    free(w->image);
    w->image = NULL;
    return STEP_DONE;
}

/* ---- the scatter --------------------------------------------------------- */

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

/* What follows a full frame. With several lanes the consumers wait for one
 * another, and asking for credits costs more than sending them. */
static enum wi_follows what_follows(const struct weir_writer *w,
                                    const struct wi_lane *lane)
{
    if (w->n_lanes != 1) {
        return WI_FOLLOWS_NONE;
    }
    uint64_t left = w->batch_rows - w->row - lane->taken;
    return left >= wi_builder_rows(lane->builder) ? WI_FOLLOWS_SOON
                                                  : WI_FOLLOWS_LIKELY;
}

/* Put rows [taken, n) of this lane's list into frames. */
static enum step lane_fill(struct weir_writer *w, struct wi_lane *lane,
                           const uint32_t *idx, uint32_t first, uint32_t n)
{
    while (lane->taken < n) {
        if (!lane->open && !wi_lane_open(w, lane)) {
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
        wi_lane_publish(w, lane, what_follows(w, lane));
    }
    return STEP_DONE;
}

/* The lane being served needs no row in chunks any more; the reader of a
 * stopped stream does not look at the pieces that were sent. */
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
    bool ready = !lane->done && wi_lane_ready(w, lane);
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
 * place: if all began with the first consumer, all would send to it first, then
 * to the second, and most ports would be idle most of the time. */
static uint32_t lane_at(const struct weir_writer *w, uint32_t i)
{
    uint32_t d = w->first_lane + i;
    return d < w->n_lanes ? d : d - w->n_lanes;
}

/* One split over all lanes. A large row in chunks holds up the other lanes, as
 * the writer has only one image. */
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
    wi_writer_sift(w);
    for (uint32_t d = 0; d < w->n_lanes; d++) {
        w->lanes[d].taken = 0;
    }
    w->split_valid = true;
}

/* ---- flushing ------------------------------------------------------------ */

/* Consumers that want no more: also of lanes that get no rows. */
static void notice_stops(struct weir_writer *w)
{
    /* E7 acquire: stops before their count; pairs with E7 release in
     * wi_out_on_stop() */
    uint32_t stops = wi_load_acq(&w->worker->stops);
    if (wi_likely(stops == w->stops_seen)) {
        return;
    }
    w->stops_seen = stops;
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        if (!w->lanes[i].done) {
            (void)wi_lane_ready(w, &w->lanes[i]);
        }
    }
}

/* Is part of a frame to go out now? To a consumer that sleeps on an empty ring;
 * to one that does not, and yet has nothing of this lane to read, later. */
static bool is_wanted(const struct wi_lane *lane, uint64_t age_ns)
{
    return wi_lane_consumer_waits(lane) ||
           (age_ns > WI_LATE_NS && wi_lane_is_drained(lane));
}

/* Consumers that wait get what there is, unless the stream is dense. Looks at a
 * limited number of lanes, in turn. */
static void flush_to_waiting(struct weir_writer *w)
{
    uint32_t n = wi_min_u32(w->n_lanes, FLUSH_LOOK);
    uint64_t now_ns = wi_lane_now(w);
    for (uint32_t i = 0; i < n; i++) {
        struct wi_lane *lane = &w->lanes[w->flush_next];
        w->flush_next = w->flush_next + 1 < w->n_lanes ? w->flush_next + 1 : 0;
        if (lane->out->held) {
            wi_lane_ask_credit(lane); /* what should follow did not come */
        }
        uint64_t age_ns = now_ns - lane->sent_ns;
        if (!wi_lane_has_rows(lane) || age_ns <= WI_DENSE_NS) {
            continue;
        }
        if (is_wanted(lane, age_ns)) {
            wi_lane_publish(w, lane, WI_FOLLOWS_NONE);
        } else {
            wi_lane_ask_credit(lane);
        }
    }
}

bool wi_writer_flush_idle(struct weir_writer *w, uint64_t keep_ns)
{
    bool left = false;
    uint64_t now_ns = wi_lane_now(w);
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        struct wi_lane *lane = &w->lanes[lane_at(w, i)];
        /* E7 acquire: as in wi_lane_ready(); stop-sending is left to the next
         * push, because the node's lock is held here */
        if (!wi_lane_has_rows(lane) || wi_load_acq(&lane->out->stop_all) != 0 ||
            wi_load_acq(&lane->out->state) != WI_OUT_OPEN) { /* E7 */
            continue;
        }
        if (keep_ns != 0 && now_ns - lane->sent_ns <= keep_ns) {
            left = true;
            continue;
        }
        /* E5 sc: the wish to be told when the ring is empty, then the look; as
         * in wi_lane_room() */
        wi_store_sc(&lane->out->ctl->producer_waits, WI_WAITS_FOR_EMPTY);
        if (wi_lane_is_drained(lane)) {
            wi_lane_publish(w, lane, WI_FOLLOWS_NONE);
        } else {
            wi_lane_ask_credit(lane);
        }
    }
    return left;
}

weir_err weir_writer_flush(weir_writer *w)
{
    if (wi_unlikely(w == NULL)) {
        return WEIR_ERR_ARG;
    }
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        struct wi_lane *lane = &w->lanes[lane_at(w, i)];
        if (wi_lane_has_rows(lane) && wi_lane_ready(w, lane) && lane->open) {
            wi_lane_publish(w, lane, WI_FOLLOWS_NONE);
            wi_lane_reopen(w, lane);
        }
    }
    return weir_query_status(w->shuffle->query, NULL);
}

/* ---- pushing ------------------------------------------------------------- */

static weir_err push(struct weir_writer *w, const struct ArrowArray *batch,
                     const uint32_t *dest)
{
    /* E8 acquire: as in weir_query_status() */
    weir_err rc = (weir_err)wi_load_acq(&w->shuffle->query->code);
    wi_lanes_fetch(w);
    if (wi_likely(rc == WEIR_OK)) {
        rc = w->pushing ? wi_push_resume(w, batch, dest)
                        : wi_push_begin(w, batch, dest);
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
            wi_stat_add(&w->worker->stats.pushes_blocked, 1);
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
    notice_stops(w);
    flush_to_waiting(w);
    return w->n_done == w->n_lanes ? WEIR_DONE : WEIR_OK;
}

weir_err weir_writer_push(weir_writer *writer, const struct ArrowArray *batch)
{
    if (wi_unlikely(writer == NULL)) {
        return WEIR_ERR_ARG;
    }
    return push(writer, batch, NULL);
}

weir_err weir_writer_push_to(weir_writer *writer,
                             const struct ArrowArray *batch,
                             const uint32_t *dest)
{
    if (wi_unlikely(writer == NULL)) {
        return WEIR_ERR_ARG;
    }
    if (wi_unlikely(dest == NULL)) {
        return wi_fail_null(&writer->error, "dest");
    }
    return push(writer, batch, dest);
}

weir_err weir_writer_poll(weir_writer *w)
{
    if (wi_unlikely(w == NULL)) {
        return WEIR_ERR_ARG;
    }
    weir_err rc = weir_query_status(w->shuffle->query, NULL);
    if (rc != WEIR_OK || w->pushing) {
        return rc;
    }
    notice_stops(w);
    uint64_t now_ns = wi_lane_now(w);
    if (now_ns - w->polled_ns >= WI_DENSE_NS) {
        w->polled_ns = now_ns;
        flush_to_waiting(w);
    }
    return w->n_done == w->n_lanes ? WEIR_DONE : WEIR_OK;
}

/* ---- ending -------------------------------------------------------------- */

static bool lane_end(struct weir_writer *w, struct wi_lane *lane)
{
    if (!wi_lane_ready(w, lane)) {
        return lane->ended;
    }
    wi_lane_take_ring(w, lane);
    if (lane->open) {
        wi_lane_publish(w, lane, WI_FOLLOWS_NONE);
    }
    uint32_t bytes = (uint32_t)wi_align_up(
        sizeof(struct wi_frame_header) + sizeof(struct wi_frame_end), 64);
    if (!wi_lane_room(w, lane, bytes, bytes)) {
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
    wi_lane_drop(w, lane);
    wi_lane_put(w, lane, bytes, WI_FOLLOWS_NONE);
    return true;
}

weir_err weir_writer_finish(weir_writer *w)
{
    if (wi_unlikely(w == NULL)) {
        return WEIR_ERR_ARG;
    }
    weir_err rc = weir_query_status(w->shuffle->query, NULL);
    if (rc != WEIR_OK || wi_load_rlx(&w->finished)) { /* rlx: our own */
        return rc;
    }
    if (w->pushing) {
        return wi_fail(&w->error, WEIR_ERR_STATE,
                       "finish: a batch is not taken yet: push it until the "
                       "answer is not WEIR_AGAIN, then finish");
    }
    w->finishing = true;
    bool all = true;
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        struct wi_lane *lane = &w->lanes[lane_at(w, i)];
        if (!lane->ended && !lane_end(w, lane)) {
            all = false;
        }
    }
    wi_store_rlx(&w->finished, all); /* rlx: our own; reports look at it */
    return all ? WEIR_OK : WEIR_AGAIN;
}

weir_err weir_writer_error(const weir_writer *writer, struct weir_error *err)
{
    if (writer == NULL) {
        return wi_fail_null(err, "writer");
    }
    return wi_error_of(writer->shuffle->query, &writer->error, err);
}
