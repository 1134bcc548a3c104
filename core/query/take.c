/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/take.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/frame_check.h"
#include "core/link/common.h"
#include "core/link/engine.h"
#include "core/link/in_ring.h"
#include "core/link/link.h"
#include "core/link/stream.h"
#include "core/link/worker.h"
#include "core/query/ring_fail.h"

/* A batch that owns its memory: reassembled from chunks, or detached. */
struct owned {
    struct wi_export *export_;
    uint8_t *image;
};

/* ---- release ------------------------------------------------------------- */

static void release_held(struct ArrowArray *batch)
{
    struct wi_held *h = batch->private_data;
    struct wi_in *in = h->in;
    batch->release = NULL;
    if (wi_unlikely(wi_engine_inherited(in->link->engine))) {
        return; /* the ring is the parent's, which reads on */
    }
    /* E10 release: the user's reads; pairs with E10 acquire in
     * advance_once() */
    wi_store_rel(&h->released, 1);
    wi_in_advance(in);
}

static void release_owned(struct ArrowArray *batch)
{
    struct owned *o = batch->private_data;
    batch->release = NULL;
    wi_export_close(o->export_);
    free(o->image);
    free(o);
}

/* Check the frame in image and make *out own it. */
static weir_err export_owned(const struct wi_schema *s, uint8_t *image,
                             struct ArrowArray *out, struct weir_error *err)
{
    struct owned *o = malloc(sizeof(*o));
    struct wi_export *x = wi_export_open(s);
    weir_err rc = WEIR_ERR_NO_MEMORY;
    if (o != NULL && x != NULL) {
        struct wi_frame_header h;
        memcpy(&h, image, sizeof(h));
        rc = wi_frame_export(x, &(struct wi_frame_at){.h = &h, .mem = image},
                             out, err);
    }
    if (rc != WEIR_OK) {
        free(o);
        wi_export_close(x);
        return rc;
    }
    *o = (struct owned){.export_ = x, .image = image};
    out->release = release_owned;
    out->private_data = o;
    return WEIR_OK;
}

weir_err weir_batch_detach(struct ArrowArray *batch)
{
    if (batch == NULL || batch->release == NULL) {
        return WEIR_ERR_ARG;
    }
    if (batch->release != release_held) {
        return WEIR_OK; /* owns its memory already */
    }
    struct wi_held *h = batch->private_data;
    uint8_t *image = aligned_alloc(WI_CACHE_LINE, h->header.bytes);
    if (image == NULL) {
        return WEIR_ERR_NO_MEMORY;
    }
    struct wi_frame_header header = h->header;
    header.checksum = 0; /* compared already */
    memcpy(image, h->frame, header.bytes);
    memcpy(image, &header, sizeof(header));
    struct ArrowArray copy;
    weir_err rc = export_owned(h->in->schema, image, &copy, NULL);
    if (rc != WEIR_OK) {
        free(image);
        return rc;
    }
    release_held(batch);
    *batch = copy;
    return WEIR_OK;
}

/* ---- taking frames ------------------------------------------------------- */

static void tally(struct weir_reader *r, struct wi_stream *st,
                  const struct wi_frame_header *h)
{
    st->rows += h->rows;
    st->bytes += h->bytes;
    st->checksum += h->checksum;
    st->n_frames++;
    struct wi_worker_stats *s = &r->worker->stats;
    wi_stat_add(&s->rows_received, h->rows);
    wi_stat_add(&s->bytes_received, h->bytes);
    wi_stat_add(&s->frames_received, 1);
}

static weir_err take_data(struct weir_reader *r, struct wi_stream *st,
                          struct wi_held *slot, struct ArrowArray *out)
{
    struct wi_in *in = st->in;
    struct weir_error err;
    if (wi_unlikely(slot->export_ == NULL)) {
        slot->export_ = wi_export_open(in->schema);
        if (slot->export_ == NULL) {
            return wi_query_fail_ring(in, WEIR_ERR_QUERY_MEMORY, "no memory");
        }
    }
    struct wi_frame_at at = {.h = &slot->header, .mem = slot->frame};
    if (in->offsets != NULL) {
        at.offsets = in->offsets + (slot->frame - in->mem);
    }
    weir_err rc = wi_frame_export(slot->export_, &at, out, &err);
    if (wi_unlikely(rc != WEIR_OK)) {
        rc = rc == WEIR_ERR_NO_MEMORY ? WEIR_ERR_QUERY_MEMORY : rc;
        return wi_query_fail_ring(in, rc, err.message);
    }
    out->release = release_held;
    out->private_data = slot;
    tally(r, st, &slot->header);
    return WEIR_OK;
}

static weir_err take_end(struct weir_reader *r, struct wi_stream *st,
                         const struct wi_held *slot)
{
    struct wi_frame_end end = wi_frame_get_end(slot->frame);
    if (end.rows != st->rows || end.bytes != st->bytes ||
        end.frames != st->n_frames || end.checksum != st->checksum ||
        st->image != NULL) {
        char why[160];
        (void)snprintf(why, sizeof(why),
                       "%" PRIu64 " rows in %" PRIu64
                       " frames were sent, %" PRIu64 " in %" PRIu64
                       " came (checksums %s)",
                       end.rows, end.frames, st->rows, st->n_frames,
                       end.checksum == st->checksum ? "agree" : "differ");
        return wi_query_fail_ring(st->in, WEIR_ERR_INTEGRITY, why);
    }
    wi_stream_ended(st);
    if (r->common != NULL) {
        wi_common_ended(r->common);
    } else {
        r->n_ended++;
    }
    return WEIR_DONE;
}

/* Find memory to collect the chunks of a large row; false: they do not fit. */
static bool chunk_room(struct wi_stream *st, const struct wi_frame_header *h,
                       const uint8_t *mem)
{
    if (st->image == NULL && h->total_bytes % 64 == 0) {
        st->image = aligned_alloc(WI_CACHE_LINE, h->total_bytes);
        st->image_bytes = h->total_bytes;
        st->image_used = 0;
    }
    return st->image != NULL && h->chunk_off == st->image_used &&
           h->total_bytes == st->image_bytes &&
           h->chunk_bytes <= st->image_bytes - st->image_used &&
           (h->checksum == 0 || wi_frame_checksum(h, mem) == h->checksum);
}

/* All chunks of a row are there: it is a frame of one row. */
static weir_err take_row(struct wi_stream *st, struct ArrowArray *out)
{
    struct weir_error err = {.message = "malformed"};
    struct wi_frame_header row;
    memcpy(&row, st->image, sizeof(row));
    weir_err rc = WEIR_ERR_PEER_PROTOCOL;
    if (row.magic == WI_FRAME_MAGIC && row.kind == WI_FRAME_DATA &&
        row.rows == 1 && row.bytes == st->image_bytes) {
        rc = export_owned(st->in->schema, st->image, out, &err);
    }
    if (rc == WEIR_ERR_NO_MEMORY) {
        return wi_query_fail_ring(st->in, WEIR_ERR_QUERY_MEMORY, "no memory");
    }
    if (rc != WEIR_OK) {
        return wi_query_fail_ring(st->in, rc, err.message);
    }
    st->image = NULL;
    return WEIR_OK;
}

static weir_err take_chunk(struct weir_reader *r, struct wi_stream *st,
                           const struct wi_held *slot, struct ArrowArray *out)
{
    const struct wi_frame_header *h = &slot->header;
    if (h->total_bytes > st->in->link->engine->cfg.max_row_bytes) {
        return wi_query_fail_ring(st->in, WEIR_ERR_QUERY_MEMORY,
                                  "a row is larger than max_row_bytes here");
    }
    if (!chunk_room(st, h, slot->frame)) {
        return wi_query_fail_ring(st->in, WEIR_ERR_INTEGRITY,
                                  "the chunks of a row do not fit together");
    }
    memcpy(st->image + st->image_used, slot->frame + sizeof(*h),
           h->chunk_bytes);
    st->image_used += h->chunk_bytes;
    tally(r, st, h);
    return st->image_used < st->image_bytes ? WEIR_DONE : take_row(st, out);
}

weir_err wi_take_frame(struct weir_reader *r, struct wi_stream *st,
                       struct wi_held *slot, struct ArrowArray *out)
{
    weir_err rc = WEIR_DONE;
    switch (slot->header.kind) {
    case WI_FRAME_DATA:
        rc = take_data(r, st, slot, out);
        if (rc == WEIR_OK) {
            return rc; /* the slot is released with the batch */
        }
        break;
    case WI_FRAME_CHUNK:
        rc = take_chunk(r, st, slot, out);
        break;
    case WI_FRAME_END:
        rc = take_end(r, st, slot);
        break;
    default:
        break;
    }
    wi_store_rel(&slot->released, 1); /* E10: as in release_held() */
    wi_in_advance(st->in);
    return rc;
}
