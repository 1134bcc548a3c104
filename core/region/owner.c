/* SPDX-License-Identifier: Apache-2.0 */
#include "core/region/owner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/link/post.h"
#include "core/link/send.h"
#include "core/region/extent.h"
#include "core/region/tally.h"
#include "core/transport.h"

struct weir_region *wi_region_by_name(const struct wi_engine *e,
                                      const struct weir_name *name)
{
    uint64_t hash = wi_hash_words(name->space, name->id);
    wi_list_each(n, wi_table_chain(&e->regions->names, hash))
    {
        struct weir_region *r =
            wi_container_of(n, struct weir_region, by_name.chain);
        if (wi_name_equal(&r->name, name)) {
            return r;
        }
    }
    return NULL;
}

void wi_owner_name(struct weir_region *r, const struct weir_name *name)
{
    struct wi_regions *rs = r->node->engine.regions;
    r->name = *name;
    r->published = true;
    wi_table_put(&rs->names, &r->by_name, wi_hash_words(name->space, name->id));
}

void wi_owner_unname(struct weir_region *r)
{
    if (r->published) {
        r->published = false;
        wi_table_drop(&r->node->engine.regions->names, &r->by_name);
    }
}

/* ---- grants -------------------------------------------------------------- */

static struct wi_holder *held(struct wi_list *n)
{
    return wi_container_of(n, struct wi_holder, on_share);
}

static uint64_t hash_of(uint64_t handle, uint64_t key)
{
    return wi_hash_words(handle, key);
}

static void hold(struct wi_holder *h)
{
    struct wi_share *s = h->share;
    h->ending = false;
    wi_list_push_back(&s->holders, &h->on_share);
    wi_table_put(&s->held, &h->by_key,
                 hash_of(h->part->region->handle, h->key));
}

/* To be ungranted, or freed. */
static void let_go(struct wi_holder *h)
{
    h->ending = true;
    wi_list_remove(&h->on_share);
    wi_table_drop(&h->share->held, &h->by_key);
}

static weir_err grant(struct wi_share *s, struct wi_extent *p, uint32_t access,
                      struct wi_holder **out, struct weir_error *err)
{
    struct wi_link *l = s->link;
    wi_list_each(n, &p->holders) /* no more than links, twice */
    {
        struct wi_holder *h = wi_container_of(n, struct wi_holder, on_part);
        if (h->share == s && h->access == access && !h->ending) {
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
    hold(h);
    *out = h;
    return WEIR_OK;
}

static void free_holder(struct wi_holder *h)
{
    struct wi_extent *p = h->part;
    if (!h->ending) {
        let_go(h);
    }
    wi_list_remove(&h->on_part);
    wi_list_remove(&h->on_share);
    free(h);
    wi_extent_rest(p);
}

void wi_owner_ungrant(struct wi_share *s)
{
    struct wi_link *l = s->link;
    wi_list_each(n, &s->ending)
    {
        struct wi_holder *h = held(n);
        if (l->state == WI_LINK_DEAD) {
            return;
        }
        weir_err rc = wi_link_ungrant(l, &h->part->mem, h->key);
        if (rc == WEIR_AGAIN) {
            return; /* whoever posts kicks us afterwards */
        }
        if (rc == WEIR_OK) {
            free_holder(h);
        } else { /* CLOSED follows, until when the memory stays */
            wi_list_remove(&h->on_share);
            hold(h);
        }
    }
}

weir_err wi_owner_on_drop(struct wi_share *s, const struct wi_msg_grant *m,
                          struct weir_error *err)
{
    uint64_t hash = hash_of(m->handle, m->key);
    wi_list_each(n, wi_table_chain(&s->held, hash))
    {
        struct wi_holder *h =
            wi_container_of(n, struct wi_holder, by_key.chain);
        if (h->key != m->key || h->part->region->handle != m->handle) {
            continue;
        }
        if (m->founds > h->founds) {
            break;
        }
        h->founds -= m->founds;
        if (h->founds == 0) {
            let_go(h);
            wi_list_push_back(&s->ending, &h->on_share);
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
    while (!wi_list_empty(&s->ending)) {
        free_holder(held(s->ending.next));
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
    wi_text_put(m.found.text, WI_FOUND_TEXT_BYTES, text);
    wi_link_send_soon(s->link, &m);
}

static weir_err give(struct wi_share *s, const struct wi_wanted *w,
                     uint32_t access, struct wi_msg_found *f,
                     struct weir_error *err)
{
    struct wi_extent *p = NULL;
    struct wi_holder *h = NULL;
    weir_err rc = wi_extent_find(w, &p, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (p->staged && access != WI_ACCESS_READ) {
        return wi_fail(err, WEIR_ERR_UNSUPPORTED,
                       "borrowed memory is copied for who maps memory, and "
                       "cannot be written");
    }
    rc = wi_tally_grant(s, f);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (s->link->self) {
        p->users++;
        f->key = (uint64_t)(uintptr_t)p;
    } else {
        rc = grant(s, p, access, &h, err);
        if (rc != WEIR_OK) {
            return rc;
        }
        h->founds++;
        f->key = h->key;
    }
    if (wi_extent_may_age(p) && (s->link->caps & WI_WIRE_CAP_TALLY) != 0) {
        f->flags |= WI_FOUND_ONCE;
    }
    f->off = p->off;
    f->bytes = p->bytes;
    f->origin = p->mem.origin;
    f->map_bytes = p->mem.bytes;
    return WEIR_OK;
}

weir_err wi_owner_find(struct wi_share *s, const struct wi_msg_find *find,
                       uint64_t since)
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
    const struct wi_wanted w = {r, s->link, find->off, since};
    weir_err rc = find->off < r->bytes
                      ? give(s, &w, find->access, &m.found, &err)
                      : WEIR_OK;
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
