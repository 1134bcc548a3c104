/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/writer.h"

#include <stdlib.h>

#include "core/base/err.h"
#include "core/format/frame_build.h"
#include "core/format/frame_fan.h"
#include "core/link/engine.h"
#include "core/link/worker.h"
#include "core/query/filter.h"
#include "core/query/lane.h"
#include "core/query/push_check.h"
#include "core/query/query.h"
#include "core/query/row_image.h"
#include "core/query/shuffle.h"
#include "core/query/writer_flush.h"

enum step { STEP_DONE, STEP_BLOCKED, STEP_FAILED };

/* ---- the scatter --------------------------------------------------------- */

/* The open frame took nothing: it is at the ring's end and too short for this
 * row, or the row needs an image. */
static WI_COLD enum step large_row(struct weir_writer *w, struct wi_lane *lane,
                                   uint64_t row)
{
    lane->open = false;
    wi_builder_drop(lane->builder);
    if (lane->stage == NULL && !lane->whole &&
        lane->span.bytes < lane->out->frame_bytes) {
        lane->whole = true;
        return STEP_DONE;
    }
    if (!wi_image_make(w, lane, row)) {
        return STEP_FAILED;
    }
    lane->taken++;
    return wi_image_send(w, lane) ? STEP_DONE : STEP_BLOCKED;
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
        if (!wi_image_send(w, lane)) {
            return STEP_BLOCKED;
        }
    }
    const uint32_t *idx =
        w->split.idx != NULL ? w->split.idx + w->split.begin[d] : NULL;
    return lane_fill(w, lane, idx, w->split.first, n);
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
        enum step st = lane_step(w, wi_writer_lane_at(w, i));
        if (st == STEP_FAILED) {
            return st;
        }
        if (st == STEP_BLOCKED) {
            all = STEP_BLOCKED;
        }
    }
    return w->image != NULL && all == STEP_DONE ? STEP_BLOCKED : all;
}

static void forget_taken(struct weir_writer *w)
{
    for (uint32_t d = 0; d < w->n_lanes; d++) {
        w->lanes[d].taken = 0;
    }
    w->split_valid = true;
}

static void next_split(struct weir_writer *w, uint32_t n)
{
    wi_partition_split(w->partition, w->views, (uint32_t)w->row, n, w->dest,
                       &w->split);
    wi_writer_sift(w);
    forget_taken(w);
}

/* One row that had no room in its open frame, or none was open. */
static enum step one_row(struct weir_writer *w, uint32_t d, uint32_t row)
{
    struct wi_lane *lane = &w->lanes[d];
    lane->taken = 0;
    bool ready = !lane->done && wi_lane_ready(w, lane);
    if (lane->done) {
        lane->taken = 1; /* nobody wants it */
        return STEP_DONE;
    }
    return ready ? lane_fill(w, lane, &row, 0, 1) : STEP_BLOCKED;
}

/* Scatter the next rows in their order. Where that is blocked, lists are made
 * of what is left of them, so that a full ring holds up its own rows only. */
static enum step scatter(struct weir_writer *w, const uint16_t *dest,
                         uint32_t n)
{
    enum step st = STEP_DONE;
    uint32_t first = (uint32_t)w->row;
    uint32_t done = 0;
    while (st == STEP_DONE) {
        done += wi_fan_scatter(w->fan, w->views, dest + done, first + done,
                               n - done);
        if (done == n) {
            w->row += n;
            return STEP_DONE;
        }
        st = one_row(w, dest[done], first + done);
        done += w->lanes[dest[done]].taken;
    }
    wi_partition_lists(w->partition, first, n, done, &w->split);
    w->split.n = n; /* with those that are gone */
    forget_taken(w);
    return st;
}

/* Rows of the batch that are not taken yet, as many as make a split. Filters
 * take rows out of lists. */
static enum step next_rows(struct weir_writer *w)
{
    uint64_t left = w->batch_rows - w->row;
    uint32_t n = (uint32_t)wi_min_u64(left, WI_SPLIT_ROWS);
    if (w->fan != NULL && !wi_writer_sifts(w)) {
        const uint16_t *dest = wi_partition_dest(w->partition, w->views,
                                                 (uint32_t)w->row, n, w->dest);
        if (dest != NULL) {
            return scatter(w, dest, n);
        }
    }
    next_split(w, n);
    return STEP_DONE;
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

weir_err weir_writer_flush(weir_writer *w)
{
    if (wi_unlikely(w == NULL)) {
        return WEIR_ERR_ARG;
    }
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        struct wi_lane *lane = &w->lanes[wi_writer_lane_at(w, i)];
        if (wi_lane_has_rows(lane) && wi_lane_ready(w, lane) &&
            wi_lane_has_rows(lane)) {
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
    weir_err rc = wi_query_code(w->shuffle->query);
    wi_lanes_fetch(w);
    wi_writer_flow(w);
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
        enum step st = w->split_valid ? STEP_DONE : next_rows(w);
        if (w->split_valid && st != STEP_FAILED) {
            st = split_step(w);
        }
        if (st == STEP_BLOCKED) {
            wi_stat_add(&w->worker->stats.pushes_blocked, 1);
            w->worker->blocked = true;
            return WEIR_AGAIN;
        }
        if (st == STEP_FAILED) {
            return weir_query_status(w->shuffle->query, NULL);
        }
        if (w->split_valid) {
            w->split_valid = false;
            w->row += w->split.n;
        }
    }
    w->pushing = false;
    notice_stops(w);
    wi_writer_flush_waiting(w, true);
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
    uint64_t now_ns = wi_engine_coarse_ns(w->worker->engine);
    if (now_ns - w->polled_ns >= WI_DENSE_NS) {
        w->polled_ns = now_ns;
        wi_writer_flush_waiting(w, false);
    }
    return w->n_done == w->n_lanes ? WEIR_DONE : WEIR_OK;
}

/* ---- ending -------------------------------------------------------------- */

static bool lane_end(struct weir_writer *w, struct wi_lane *lane)
{
    if (!wi_lane_ready(w, lane)) {
        return lane->ended;
    }
    if (wi_lane_has_rows(lane)) {
        wi_lane_publish(w, lane, WI_FOLLOWS_END);
    }
    if (lane->staged != 0) {
        return false;
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
        struct wi_lane *lane = &w->lanes[wi_writer_lane_at(w, i)];
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
