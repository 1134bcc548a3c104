/* SPDX-License-Identifier: Apache-2.0 */
#include "core/region/owner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/link/post.h"
#include "core/link/send.h"
#include "core/region/piece.h"
#include "core/transport.h"

static struct wi_extent *part_of(struct wi_list *n)
{
    return wi_container_of(n, struct wi_extent, on_region);
}

struct weir_region *wi_region_by_name(const struct wi_engine *e,
                                      const struct weir_name *name)
{
    const struct wi_regions *rs = e->regions;
    wi_list_each(n, &rs->regions)
    {
        struct weir_region *r =
            wi_container_of(n, struct weir_region, on_regions);
        if (r->published && wi_name_equal(&r->name, name)) {
            return r;
        }
    }
    return NULL;
}

/* ---- parts --------------------------------------------------------------- */

static void free_part(struct wi_extent *p)
{
    wi_list_remove(&p->on_region);
    if (p->staged) {
        p->region->node->engine.mem_bytes -= p->mem.bytes;
    }
    if (p->own_mem) {
        p->home->ops->mem_close(p->home, &p->mem);
    }
    free(p);
}

static void revoke_part(struct wi_extent *p)
{
    union wi_msg m;
    wi_list_each(k, &p->holders)
    {
        struct wi_holder *h = wi_container_of(k, struct wi_holder, on_part);
        wi_msg_init(&m, WI_MSG_REVOKE);
        m.grant.handle = p->region->handle;
        m.grant.key = h->key;
        if (h->share->link->state != WI_LINK_DEAD) {
            wi_link_send_soon(h->share->link, &m);
        }
    }
}

/* Too much is copied: the readers of copies are to let go. False: there are
 * none. */
static bool shed(struct wi_engine *e)
{
    bool any = false;
    wi_list_each(n, &e->regions->regions)
    {
        struct weir_region *r =
            wi_container_of(n, struct weir_region, on_regions);
        wi_list_each(k, &r->parts)
        {
            struct wi_extent *p = part_of(k);
            any = any || p->staged;
            if (p->staged && wi_list_empty(&p->holders)) {
                free_part(p);
            } else if (p->staged && !p->revoked) {
                p->revoked = true;
                p->until_ns = wi_time_add(e->now_ns, e->cfg.detect_ns);
                wi_engine_due(e, p->until_ns);
                revoke_part(p);
            }
        }
    }
    return any;
}

/* Memory of the program cannot be mapped by others: a copy of the part that is
 * wanted can. */
static weir_err stage(struct wi_extent *p, struct wi_link *l, uint64_t off,
                      struct weir_error *err)
{
    struct wi_engine *e = l->engine;
    struct weir_region *r = p->region;
    p->off = off - off % WI_STAGED_BYTES;
    p->bytes = wi_min_u64(WI_STAGED_BYTES, r->bytes - p->off);
    uint64_t bytes = wi_align_up(p->bytes, WI_PAGE);
    if (e->mem_bytes + bytes > e->cfg.memory_bytes) {
        return shed(e) ? WEIR_AGAIN
                       : wi_fail(err, WEIR_ERR_BUDGET,
                                 "%s has no memory to copy %" PRIu64
                                 " bytes to: raise its memory_bytes",
                                 e->name, bytes);
    }
    weir_err rc = l->home->ops->mem_open(l->home, bytes, &p->mem, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    memcpy(p->mem.base, r->base + p->off, p->bytes);
    e->mem_bytes += bytes;
    e->mem_peak = wi_max_u64(e->mem_peak, e->mem_bytes);
    p->staged = true;
    p->own_mem = true;
    return WEIR_OK;
}

/* The memory of a region as links of one transport see it. */
static weir_err fill_part(struct wi_extent *p, struct wi_link *l, uint64_t off,
                          struct weir_error *err)
{
    struct weir_region *r = p->region;
    p->bytes = r->bytes;
    if (r->base == NULL) {
        return wi_fail(err, WEIR_ERR_UNSUPPORTED, "files are not there yet");
    }
    if (l->self) {
        p->mem.base = r->base;
        return WEIR_OK;
    }
    p->home = l->home;
    if (l->mapped && r->mem.base == NULL) {
        return stage(p, l, off, err);
    }
    if (r->mem.base != NULL && (l->mapped || l->home == l->engine->transport)) {
        p->mem = r->mem;
        return WEIR_OK;
    }
    uint32_t access = WI_ACCESS_READ | (r->writable ? WI_ACCESS_WRITE : 0);
    weir_err rc = l->home->ops->mem_borrow(l->home, r->base, r->bytes, access,
                                           &p->mem, err);
    p->own_mem = rc == WEIR_OK;
    return rc;
}

static weir_err find_part(struct weir_region *r, struct wi_link *l,
                          uint64_t off, struct wi_extent **out,
                          struct weir_error *err)
{
    struct wi_transport *home = l->self ? NULL : l->home;
    wi_list_each(n, &r->parts)
    {
        struct wi_extent *p = part_of(n);
        if (p->home == home && !p->revoked && off >= p->off &&
            off - p->off < p->bytes) {
            *out = p;
            return WEIR_OK;
        }
    }
    struct wi_extent *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a part");
    }
    p->region = r;
    wi_list_init(&p->holders);
    weir_err rc = fill_part(p, l, off, err);
    if (rc != WEIR_OK) {
        free(p);
        return rc;
    }
    wi_list_push_back(&r->parts, &p->on_region);
    *out = p;
    return WEIR_OK;
}

void wi_extent_leave(struct wi_extent *p)
{
    p->users--;
    wi_region_settle(p->region);
}

/* ---- grants -------------------------------------------------------------- */

static struct wi_holder *held(struct wi_list *n)
{
    return wi_container_of(n, struct wi_holder, on_share);
}

static weir_err grant(struct wi_share *s, struct wi_extent *p, uint32_t access,
                      struct wi_holder **out, struct weir_error *err)
{
    struct wi_link *l = s->link;
    wi_list_each(n, &s->holders)
    {
        struct wi_holder *h = held(n);
        if (h->part == p && h->access == access && !h->ending) {
            *out = h;
            return WEIR_OK;
        }
    }
    struct wi_holder *h = calloc(1, sizeof(*h));
    if (h == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a grant");
    }
    weir_err rc = l->home->ops->grant(l->ep, &p->mem, access, &h->key, err);
    if (rc != WEIR_OK) {
        free(h);
        return rc;
    }
    h->part = p;
    h->share = s;
    h->access = access;
    wi_list_push_back(&p->holders, &h->on_part);
    wi_list_push_back(&s->holders, &h->on_share);
    *out = h;
    return WEIR_OK;
}

static void free_holder(struct wi_holder *h)
{
    struct wi_extent *p = h->part;
    struct weir_region *r = p->region;
    wi_list_remove(&h->on_part);
    wi_list_remove(&h->on_share);
    free(h);
    if (p->staged && wi_list_empty(&p->holders)) {
        free_part(p);
    }
    wi_region_settle(r);
}

void wi_owner_ungrant(struct wi_share *s)
{
    struct wi_link *l = s->link;
    wi_list_each(n, &s->holders)
    {
        struct wi_holder *h = held(n);
        if (!h->ending || l->state == WI_LINK_DEAD) {
            continue;
        }
        weir_err rc = wi_link_ungrant(l, &h->part->mem, h->key);
        if (rc == WEIR_AGAIN) {
            return; /* whoever posts kicks us afterwards */
        }
        if (rc == WEIR_OK) {
            free_holder(h);
        } else { /* CLOSED follows, until when the memory stays */
            h->ending = false;
        }
    }
}

weir_err wi_owner_on_drop(struct wi_share *s, const struct wi_msg_grant *m,
                          struct weir_error *err)
{
    wi_list_each(n, &s->holders)
    {
        struct wi_holder *h = held(n);
        if (h->key != m->key || h->part->region->handle != m->handle ||
            h->ending) {
            continue;
        }
        if (m->founds > h->founds) {
            break;
        }
        h->founds -= m->founds;
        if (h->founds == 0) {
            h->ending = true;
            wi_owner_ungrant(s);
        }
        return WEIR_OK;
    }
    return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                   "DROP of a grant that it does not have");
}

void wi_owner_link_over(struct wi_share *s)
{
    while (!wi_list_empty(&s->holders)) {
        free_holder(held(s->holders.next));
    }
}

void wi_owner_on_sync(struct wi_share *s, uint32_t call)
{
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_SYNCED);
    m.word.arg = call;
    wi_link_send_soon(s->link, &m);
}

/* ---- FIND ---------------------------------------------------------------- */

void wi_owner_refuse(struct wi_share *s, uint32_t call, weir_err code,
                     const char *text)
{
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_FOUND);
    m.found.call = call;
    m.found.code = (int32_t)code;
    wi_text_put(m.found.text, WI_TEXT_BYTES, text);
    wi_link_send_soon(s->link, &m);
}

static weir_err give(struct wi_share *s, struct weir_region *r,
                     const struct wi_msg_find *find, struct wi_msg_found *f,
                     struct weir_error *err)
{
    struct wi_extent *p = NULL;
    struct wi_holder *h = NULL;
    weir_err rc = find_part(r, s->link, find->off, &p, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (p->staged && find->access != WI_ACCESS_READ) {
        return wi_fail(err, WEIR_ERR_UNSUPPORTED,
                       "borrowed memory is copied for who maps memory, and "
                       "cannot be written");
    }
    if (s->link->self) {
        p->users++;
        f->key = (uint64_t)(uintptr_t)p;
    } else {
        rc = grant(s, p, find->access, &h, err);
        if (rc != WEIR_OK) {
            return rc;
        }
        h->founds++;
        f->key = h->key;
    }
    f->off = p->off;
    f->bytes = p->bytes;
    f->origin = p->mem.origin;
    f->map_bytes = p->mem.bytes;
    return WEIR_OK;
}

weir_err wi_owner_find(struct wi_share *s, const struct wi_msg_find *find)
{
    struct weir_name name = {find->space, find->id};
    struct weir_region *r = wi_region_by_name(s->link->engine, &name);
    struct weir_error err;
    union wi_msg m;
    if (r == NULL) {
        char text[96];
        (void)snprintf(text, sizeof(text),
                       "no region %" PRIu64 "/%" PRIu64 " is published",
                       name.space, name.id);
        wi_owner_refuse(s, find->call, WEIR_ERR_NOT_FOUND, text);
        return WEIR_OK;
    }
    if (find->access != WI_ACCESS_READ && !r->writable) {
        wi_owner_refuse(s, find->call, WEIR_ERR_STATE,
                        "the region is not writable");
        return WEIR_OK;
    }
    wi_msg_init(&m, WI_MSG_FOUND);
    m.found.call = find->call;
    m.found.handle = r->handle;
    m.found.region_bytes = r->bytes;
    weir_err rc =
        find->off < r->bytes ? give(s, r, find, &m.found, &err) : WEIR_OK;
    if (rc == WEIR_AGAIN) {
        return rc;
    }
    if (rc != WEIR_OK) {
        wi_owner_refuse(s, find->call, rc, err.message);
    } else {
        wi_link_send_soon(s->link, &m);
    }
    return WEIR_OK;
}

/* ---- ends ---------------------------------------------------------------- */

void wi_region_revoke(struct weir_region *r)
{
    wi_list_each(n, &r->parts)
    {
        revoke_part(part_of(n));
    }
    wi_pieces_revoke_own(&r->node->engine, r);
}

void wi_region_settle(struct weir_region *r)
{
    struct wi_engine *e = &r->node->engine;
    if (!r->closed) {
        return;
    }
    wi_list_each(n, &r->parts)
    {
        struct wi_extent *p = part_of(n);
        if (p->users == 0 && wi_list_empty(&p->holders)) {
            free_part(p);
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
    if (r->fd >= 0) {
        (void)close(r->fd);
    }
    if (r->release != NULL) {
        r->release(r->release_arg);
    }
    free(r);
}
