/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/row_image.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/frame_build.h"
#include "core/link/engine.h"
#include "core/link/lock.h"
#include "core/query/lane.h"
#include "core/query/query.h"
#include "core/query/query_fail.h"
#include "core/query/shuffle.h"

static WI_COLD bool fail_row(struct weir_writer *w, uint64_t bytes)
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
    return false;
}

WI_COLD bool wi_image_make(struct weir_writer *w, struct wi_lane *lane,
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
    return true;
}

/* It fits a frame, though not a stage: it is one. False: no room. */
static bool send_whole(struct weir_writer *w, struct wi_lane *lane)
{
    if (!wi_lane_room(w, lane, w->image_bytes, w->image_bytes)) {
        return false;
    }
    memcpy(lane->out->mem + lane->span.off, w->image, w->image_bytes);
    wi_lane_put(w, lane, w->image_bytes, WI_FOLLOWS_NONE);
    w->image_used = w->image_bytes;
    return true;
}

WI_COLD bool wi_image_send(struct weir_writer *w, struct wi_lane *lane)
{
    if (w->image_bytes <= lane->out->frame_bytes && !send_whole(w, lane)) {
        return false;
    }
    while (w->image_used < w->image_bytes) {
        struct wi_out *o = lane->out;
        if (!wi_lane_room(w, lane, o->frame_bytes, o->frame_bytes)) {
            return false;
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
    return true;
}
