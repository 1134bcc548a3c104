/* SPDX-License-Identifier: Apache-2.0 */
#include "core/region/extent.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/link/send.h"
#include "core/region/gone.h"
#include "core/region/piece.h"
#include "core/region/tally.h"
#include "core/transport.h"

static struct wi_extent *part_of(struct wi_list *n)
{
    return wi_container_of(n, struct wi_extent, on_region);
}

static struct wi_extent *staged_of(struct wi_list *n)
{
    return wi_container_of(n, struct wi_extent, on_staged);
}

/* ---- ends ---------------------------------------------------------------- */

static void close_mem(struct wi_extent *p)
{
    if (p->home == NULL) { /* a copy for this node itself */
        free(p->mem.base);
    } else {
        p->home->ops->mem_close(p->home, &p->mem);
    }
}

static void free_part(struct wi_extent *p)
{
    wi_list_remove(&p->on_region);
    if (p->staged) {
        struct wi_engine *e = &p->region->node->engine;
        wi_list_remove(&p->on_staged);
        wi_list_remove(&p->on_fill);
        e->mem_bytes -= p->mem.bytes;
        e->regions->staged_bytes -= p->mem.bytes;
    }
    if (p->own_mem) {
        close_mem(p);
    }
    free(p);
}

static bool unused(const struct wi_extent *p)
{
    return p->users == 0 && wi_list_empty(&p->holders);
}

void wi_extent_rest(struct wi_extent *p)
{
    struct weir_region *r = p->region;
    if (p->staged && unused(p)) {
        free_part(p);
    }
    wi_region_settle(r);
}

static void revoke_part(struct wi_extent *p)
{
    struct wi_engine *e = &p->region->node->engine;
    union wi_msg m;
    p->revoked = true;
    p->until_ns = wi_time_add(e->now_ns, e->cfg.detect_ns);
    wi_engine_due(e, p->until_ns);
    wi_list_each(k, &p->holders)
    {
        struct wi_holder *h = wi_container_of(k, struct wi_holder, on_part);
        wi_msg_init(&m, WI_MSG_REVOKE);
        m.grant.handle = p->region->handle;
        m.grant.key = h->key;
        if (h->share->link->state != WI_LINK_DEAD) {
            wi_link_send_soon(h->share->link, &m);
            wi_tally_count(h->share);
        }
    }
    if (p->users != 0) {
        wi_pieces_revoke_own(e, p);
    }
}

void wi_region_revoke(struct weir_region *r)
{
    wi_list_each(n, &r->parts)
    {
        revoke_part(part_of(n));
    }
}

void wi_region_settle(struct weir_region *r)
{
    struct wi_engine *e = &r->node->engine;
    if (!r->closed) {
        return;
    }
    wi_list_each(n, &r->parts)
    {
        if (unused(part_of(n))) {
            free_part(part_of(n));
        }
    }
    if (!wi_list_empty(&r->parts)) {
        return;
    }
    wi_list_remove(&r->on_regions);
    if (r->mem.base != NULL) {
        e->mem_bytes -= r->mem.bytes;
        e->ops->mem_close(e->transport, &r->mem);
    }
    if (r->kind == WEIR_REGION_FILE) {
        wi_gone_let(e, &(struct wi_gone){
                           .base = r->constant ? r->base - r->file_off : NULL,
                           .bytes = r->file_off + r->bytes,
                           .fd = r->fd});
    }
    if (r->release != NULL) {
        r->release(r->release_arg);
    }
    free(r);
}

/* ---- copies -------------------------------------------------------------- */

/* Copies may take a quarter of the node's memory, beside rings. One copy may
 * always be there. */
static bool has_room(const struct wi_engine *e, uint64_t bytes)
{
    uint64_t staged = e->regions->staged_bytes;
    return e->mem_bytes + bytes <= e->cfg.memory_bytes &&
           (staged == 0 || staged + bytes <= e->cfg.memory_bytes / 4);
}

/* Free the least recently found copy that nobody uses; what was made just now
 * is for a FIND that waits. */
static bool free_oldest(struct wi_regions *rs)
{
    wi_list_each(n, &rs->staged)
    {
        struct wi_extent *p = staged_of(n);
        if (unused(p) && wi_list_empty(&p->on_fill)) {
            free_part(p);
            return true;
        }
    }
    return false;
}

/* The readers of the least recently found one are to let go. False: there is
 * no copy at all. */
static bool revoke_oldest(struct wi_regions *rs)
{
    wi_list_each(n, &rs->staged)
    {
        struct wi_extent *p = staged_of(n);
        if (!p->revoked && !p->filling && wi_list_empty(&p->on_fill)) {
            revoke_part(p);
            break;
        }
    }
    return !wi_list_empty(&rs->staged);
}

static weir_err open_mem(struct wi_extent *p, uint64_t bytes,
                         struct weir_error *err)
{
    if (p->home != NULL) {
        return p->home->ops->mem_open(p->home, bytes, &p->mem, err);
    }
    p->mem.base = aligned_alloc(WI_PAGE, bytes);
    p->mem.bytes = bytes;
    return p->mem.base != NULL ? WEIR_OK
                               : wi_fail(err, WEIR_ERR_NO_MEMORY,
                                         "no memory for a copy of a part");
}

static weir_err stage(struct wi_extent *p, uint64_t off, struct weir_error *err)
{
    struct weir_region *r = p->region;
    struct wi_engine *e = &r->node->engine;
    struct wi_regions *rs = e->regions;
    p->off = off - off % WI_STAGED_BYTES;
    p->span = wi_min_u64(WI_STAGED_BYTES, r->bytes - p->off);
    p->bytes = 0;
    uint64_t bytes = wi_align_up(p->span, WI_PAGE);
    while (!has_room(e, bytes) && free_oldest(rs)) {
    }
    if (!has_room(e, bytes)) {
        return revoke_oldest(rs) ? WEIR_AGAIN
                                 : wi_fail(err, WEIR_ERR_BUDGET,
                                           "%s has no memory to copy %" PRIu64
                                           " bytes to: raise its memory_bytes",
                                           e->name, bytes);
    }
    weir_err rc = open_mem(p, bytes, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    e->mem_bytes += p->mem.bytes;
    e->mem_peak = wi_max_u64(e->mem_peak, e->mem_bytes);
    rs->staged_bytes += p->mem.bytes;
    p->own_mem = true;
    p->staged = true;
    p->filling = true;
    p->users = 1; /* who makes it */
    wi_list_push_back(&rs->staged, &p->on_staged);
    wi_list_push_back(&rs->to_fill, &p->on_fill);
    wi_engine_kick(e);
    return WEIR_OK;
}

struct wi_extent *wi_extent_take(struct wi_engine *e)
{
    struct wi_list *n;
    while ((n = wi_list_take(&e->regions->to_fill)) != NULL) {
        struct wi_extent *p = wi_container_of(n, struct wi_extent, on_fill);
        if (!p->region->closed) {
            p->from = e->regions->last_id;
            return p;
        }
        wi_extent_filled(p, 0);
    }
    return NULL;
}

void wi_extent_filled(struct wi_extent *p, uint64_t bytes)
{
    struct wi_engine *e = &p->region->node->engine;
    p->bytes = bytes;
    p->good = p->from;
    p->filling = false;
    p->users--;
    wi_list_push_back(&e->regions->filled, &p->on_fill);
    wi_region_settle(p->region);
    wi_engine_kick(e);
}

void wi_extent_stale(struct wi_extent *p)
{
    struct wi_engine *e = &p->region->node->engine;
    p->filling = false;
    p->users--;
    if (!p->revoked) {
        revoke_part(p);
    }
    wi_extent_rest(p);
    wi_engine_kick(e);
}

bool wi_extent_may_age(const struct wi_extent *p)
{
    const struct weir_region *r = p->region;
    bool file = r->kind == WEIR_REGION_FILE;
    return p->staged && (file ? !r->constant : r->writable);
}

static void compare(struct wi_extent *p)
{
    struct wi_engine *e = &p->region->node->engine;
    p->filling = true;
    p->users++; /* who does it */
    wi_list_remove(&p->on_fill);
    wi_list_push_back(&e->regions->to_fill, &p->on_fill);
    wi_engine_kick(e);
}

void wi_extents_told(struct wi_engine *e)
{
    struct wi_list *n;
    while ((n = wi_list_take(&e->regions->filled)) != NULL) {
        struct wi_extent *p = wi_container_of(n, struct wi_extent, on_fill);
        p->why.code = WEIR_OK;
        if (p->bytes == 0 && unused(p)) {
            free_part(p);
        }
    }
}

/* ---- finding ------------------------------------------------------------- */

/* The memory of a region as links of one transport see it. */
static weir_err fill_part(struct wi_extent *p, struct wi_link *l, uint64_t off,
                          struct weir_error *err)
{
    struct weir_region *r = p->region;
    p->home = l->self ? NULL : l->home;
    if (r->kind == WEIR_REGION_FILE && !r->constant) {
        return stage(p, off, err);
    }
    p->bytes = r->bytes;
    p->span = r->bytes;
    if (l->self) {
        p->mem.base = r->base;
        return WEIR_OK;
    }
    if (r->mem.base != NULL && (l->mapped || l->home == l->engine->transport)) {
        p->mem = r->mem;
        return WEIR_OK;
    }
    uint32_t access = WI_ACCESS_READ | (r->writable ? WI_ACCESS_WRITE : 0);
    bool can = (l->caps & WI_WIRE_CAP_FILE) != 0;
    const struct wi_borrow what = {r->base, r->bytes, r->constant,
                                   can ? r->fd : -1, r->file_off};
    weir_err rc =
        l->home->ops->mem_borrow(l->home, &what, access, &p->mem, err);
    p->own_mem = rc == WEIR_OK;
    return rc == WEIR_ERR_UNSUPPORTED ? stage(p, off, err) : rc;
}

static weir_err make_part(const struct wi_wanted *w, struct wi_extent **out,
                          struct weir_error *err)
{
    struct weir_region *r = w->region;
    struct wi_extent *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a part");
    }
    p->region = r;
    wi_list_init(&p->holders);
    wi_list_init(&p->on_staged);
    wi_list_init(&p->on_fill);
    weir_err rc = fill_part(p, w->link, w->off, err);
    if (rc != WEIR_OK) {
        free(p);
        return rc;
    }
    wi_list_push_back(&r->parts, &p->on_region);
    *out = p;
    return p->filling ? WEIR_AGAIN : WEIR_OK;
}

/* Made for links like this one: a file's own pages have no base here. */
static bool is_for(const struct wi_extent *p, const struct wi_link *l)
{
    return p->home == (l->self ? NULL : l->home) &&
           (p->filling || p->mem.base != NULL ||
            (l->caps & WI_WIRE_CAP_FILE) != 0);
}

/* The last to go. */
static void touch(struct wi_extent *p)
{
    if (p->staged) {
        wi_list_remove(&p->on_staged);
        wi_list_push_back(&p->region->node->engine.regions->staged,
                          &p->on_staged);
    }
}

weir_err wi_extent_find(const struct wi_wanted *w, struct wi_extent **out,
                        struct weir_error *err)
{
    wi_list_each(n, &w->region->parts)
    {
        struct wi_extent *p = part_of(n);
        bool old = wi_extent_may_age(p) && p->good < w->since;
        if (!is_for(p, w->link) || p->revoked || w->off < p->off ||
            w->off - p->off >= p->span) {
            continue;
        }
        bool there = w->off - p->off < p->bytes;
        if (there && !old) { /* also while it is compared for another */
            touch(p);
            *out = p;
            return WEIR_OK;
        }
        if (there && !p->filling) {
            touch(p);
            compare(p);
        }
        if (p->filling) {
            return WEIR_AGAIN;
        }
        if (p->why.code != WEIR_OK && !old) {
            return wi_fail(err, p->why.code, "%s", p->why.message);
        }
    }
    return make_part(w, out, err);
}
