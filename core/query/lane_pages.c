/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/lane_pages.h"

#include "core/link/edge.h"
#include "core/link/link.h"
#include "core/link/lock.h"
#include "core/query/query.h"
#include "core/query/query_fail.h"
#include "core/query/shuffle.h"
#include "core/transport.h"

#define GROWTH 4u

static WI_COLD bool fail(const struct weir_writer *w,
                         const struct weir_error *why)
{
    struct weir_query *q = w->shuffle->query;
    if (w->locked) {
        wi_query_fail(q, WEIR_ERR_QUERY_MEMORY, why->message);
    } else {
        wi_node_lock(q->node);
        wi_query_fail(q, WEIR_ERR_QUERY_MEMORY, why->message);
        wi_node_unlock(q->node);
    }
    return false;
}

/* The end of the page in which the ring's byte `end` lies. */
static uint32_t page_end(const struct wi_out *o, uint32_t end)
{
    uint64_t to = wi_align_up(o->remote_off + end, WI_PAGE) - o->remote_off;
    return (uint32_t)wi_min_u64(to, o->size);
}

WI_COLD bool wi_lane_take_pages(struct weir_writer *w,
                                const struct wi_lane *lane)
{
    struct wi_out *o = lane->out;
    struct wi_link *l = o->link;
    /* Padding ends the ring's first lap: its header is at the old tail. */
    uint32_t end =
        lane->span.pad != 0 ? o->size : lane->span.off + lane->span.bytes;
    end = page_end(o, end);
    const struct wi_mem_part part = {
        .base = l->peer_area,
        .bytes = l->peer_area_bytes,
        .from = o->remote_off + o->pages_bytes,
        .to = o->remote_off + end,
    };
    struct weir_error why;
    if (l->home->ops->mem_take(l->home, &part, &why) != WEIR_OK) {
        return fail(w, &why);
    }
    o->pages_bytes = end;
    /* rlx: who has the ring next may see less, and takes them again */
    wi_store_rlx(&l->peer_pages[o->edge], end);
    return true;
}

uint32_t wi_lane_start_bytes(const struct weir_writer *w,
                             const struct wi_lane *lane)
{
    const struct wi_out *o = lane->out;
    if (lane->whole) {
        return o->frame_bytes;
    }
    return wi_min_u32(o->frame_bytes, wi_max_u32(o->start_bytes, w->row_bytes));
}

WI_COLD void wi_lane_grow(struct wi_out *o, uint32_t bytes)
{
    if (bytes >= o->start_bytes / 2) {
        uint64_t next = (uint64_t)o->start_bytes * GROWTH;
        o->start_bytes = (uint32_t)wi_min_u64(next, o->frame_bytes);
    }
}
