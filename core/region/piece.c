/* SPDX-License-Identifier: Apache-2.0 */
#include "core/region/piece.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/link/send.h"
#include "core/link/worker.h"
#include "core/region/extent.h"
#include "core/region/op_found.h"
#include "core/region/tally.h"
#include "core/transport.h"

/* ---- finds --------------------------------------------------------------- */

static struct wi_find *find_of(struct wi_list *n)
{
    return wi_container_of(n, struct wi_find, on_share);
}

/* The owner may have answered before an operation began that comes later. */
static void wait_for(struct wi_find *f, struct wi_op *op)
{
    op->call = f->call;
    op->state = WI_OP_FINDING;
    wi_list_remove(&op->on_call);
    wi_list_push_back(op->begun <= f->begun ? &f->ops : &f->late, &op->on_call);
}

static void send_find(struct wi_share *s, const struct wi_find *f)
{
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_FIND);
    m.find.call = f->call;
    m.find.space = f->name.space;
    m.find.id = f->name.id;
    m.find.off = f->off;
    m.find.access = f->access;
    wi_link_send_soon(s->link, &m);
}

bool wi_piece_find(struct wi_share *s, struct wi_op *op)
{
    uint32_t access = op->kind == WI_OP_PUT ? WI_ACCESS_WRITE : WI_ACCESS_READ;
    wi_list_each(n, &s->finds)
    {
        struct wi_find *f = find_of(n);
        if (wi_name_equal(&f->name, &op->name) && f->access == access &&
            f->off == wi_op_place(op)) {
            wait_for(f, op);
            return true;
        }
    }
    if (s->n_found == WI_CALLS_MAX) {
        return false;
    }
    struct wi_find *f = calloc(1, sizeof(*f));
    if (f == NULL) {
        wi_op_fail(op, WEIR_ERR_NO_MEMORY, "no memory to look for it");
        return true;
    }
    wi_list_init(&f->ops);
    wi_list_init(&f->late);
    f->begun = s->link->engine->regions->begun;
    f->name = op->name;
    f->off = wi_op_place(op);
    f->access = access;
    f->call = ++s->last_call;
    wi_list_push_back(&s->finds, &f->on_share);
    s->n_found++;
    wait_for(f, op);
    send_find(s, f);
    return true;
}

/* The next operation of a list of a find, or NULL. */
static struct wi_op *take_op(struct wi_list *ops)
{
    struct wi_list *n = wi_list_take(ops);
    if (n == NULL) {
        return NULL;
    }
    struct wi_op *op = wi_container_of(n, struct wi_op, on_call);
    op->state = WI_OP_LANDED; /* the find is not its business any more */
    return op;
}

static void end_find(struct wi_share *s, struct wi_find *f)
{
    struct wi_op *op;
    while ((op = take_op(&f->late)) != NULL) {
        wi_list_push_back(&s->looking, &op->on_call);
        s->room = true;
    }
    wi_list_remove(&f->on_share);
    s->n_found--;
    free(f);
}

static struct wi_find *by_call(struct wi_share *s, uint32_t call)
{
    wi_list_each(n, &s->finds)
    {
        if (find_of(n)->call == call) {
            return find_of(n);
        }
    }
    return NULL;
}

void wi_find_leave(struct wi_op *op)
{
    struct wi_share *s = op->share;
    struct wi_find *f = by_call(s, op->call);
    wi_list_remove(&op->on_call);
    if (f != NULL && wi_list_empty(&f->ops) && wi_list_empty(&f->late)) {
        union wi_msg m;
        wi_msg_init(&m, WI_MSG_LEAVE);
        m.word.arg = f->call;
        if (s->link->state != WI_LINK_DEAD) {
            wi_link_send_soon(s->link, &m);
        }
        end_find(s, f);
    }
}

/* ---- FOUND --------------------------------------------------------------- */

static weir_err check(const struct wi_msg_found *m, const struct wi_find *f,
                      struct weir_error *err)
{
    bool beyond = m->bytes == 0 && (f == NULL || f->off >= m->region_bytes);
    bool inside =
        m->bytes != 0 && m->off <= m->region_bytes &&
        m->bytes <= m->region_bytes - m->off &&
        m->origin <= UINT64_MAX - m->bytes &&
        (f == NULL || (f->off >= m->off && f->off - m->off < m->bytes));
    if (!inside && !beyond) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "FOUND %" PRIu64 " bytes at %" PRIu64
                       " of a region of %" PRIu64,
                       m->bytes, m->off, m->region_bytes);
    }
    return WEIR_OK;
}

static weir_err map(struct wi_share *s, struct wi_piece *p,
                    struct weir_error *err)
{
    struct wi_link *l = s->link;
    void *base = NULL;
    if (l->self) {
        struct wi_extent *part = (struct wi_extent *)(uintptr_t)p->key;
        if (part->region->closed) { /* between FOUND and now: no REVOKE comes */
            return wi_fail(err, WEIR_ERR_NOT_FOUND, "the region was closed");
        }
        p->part = part; /* of this node */
        p->base = part->mem.base;
        return WEIR_OK;
    }
    if (!l->mapped) {
        return WEIR_OK;
    }
    if (p->origin > p->map_bytes || p->bytes > p->map_bytes - p->origin) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "a piece is longer than its memory");
    }
    weir_err rc =
        l->home->ops->map(l->ep, p->key, p->map_bytes, p->access, &base, err);
    if (rc == WEIR_OK) {
        p->base = (uint8_t *)base + p->origin;
        p->home = l->home;
    }
    return rc;
}

static weir_err make_piece(struct wi_share *s, const struct wi_msg_found *m,
                           const struct wi_find *f, struct wi_piece **out,
                           struct weir_error *err)
{
    wi_pieces_make_room(s);
    struct wi_piece *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a piece");
    }
    p->engine = s->link->engine;
    p->share = s;
    p->member = s->link->member;
    p->name = f->name;
    p->access = f->access;
    p->handle = m->handle;
    p->key = m->key;
    p->origin = m->origin;
    p->region_bytes = m->region_bytes;
    p->off = m->off;
    p->bytes = m->bytes;
    p->map_bytes = m->map_bytes;
    p->incarnation = s->link->peer_incarnation;
    p->once = !wi_tally_take(s, m) || (m->flags & WI_FOUND_ONCE) != 0;
    weir_err rc = map(s, p, err);
    if (rc != WEIR_OK) {
        free(p);
        return rc;
    }
    if (s->tally != NULL) {
        p->tally = s->tally;
        p->tally->users++;
    }
    wi_store_rlx(&p->users, 1); /* rlx: nobody knows it yet */
    wi_piece_list(p);
    *out = p;
    return WEIR_OK;
}

static void fail_all(struct wi_share *s, struct wi_find *f, weir_err code,
                     const char *text)
{
    struct wi_op *op;
    while ((op = take_op(&f->ops)) != NULL) {
        wi_op_fail(op, code, "%s", text);
    }
    end_find(s, f);
}

static void give(struct wi_share *s, struct wi_find *f, struct wi_piece *p)
{
    struct wi_op *op;
    p->asked = wi_max_u64(p->asked, f->begun);
    while ((op = take_op(&f->ops)) != NULL) {
        wi_piece_hold(p);
        wi_op_found(op, p);
    }
    end_find(s, f);
}

/* What is known of a key cannot change, and a key is for one access to one
 * name: what was checked and mapped is what the piece was made of. */
static weir_err check_known(const struct wi_piece *p,
                            const struct wi_msg_found *m,
                            const struct wi_find *f, struct weir_error *err)
{
    if (p->bytes != m->bytes || p->region_bytes != m->region_bytes ||
        p->origin != m->origin || p->map_bytes != m->map_bytes ||
        p->access != f->access || !wi_name_equal(&p->name, &f->name)) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "FOUND of a key that is in use for something else");
    }
    return WEIR_OK;
}

/* Nothing is at that place, but now it is known how long the region is. */
static void beyond(struct wi_share *s, struct wi_find *f,
                   const struct wi_msg_found *m)
{
    struct wi_op *op;
    while ((op = take_op(&f->ops)) != NULL) {
        wi_op_beyond(op, m->handle, m->region_bytes);
    }
    end_find(s, f);
}

/* Nobody waits for it any more. */
static void return_piece(struct wi_share *s, const struct wi_msg_found *m)
{
    struct wi_piece *p = wi_piece_known(s, m);
    if (s->link->self) {
        if (m->bytes != 0) {
            wi_piece_leave_part((struct wi_extent *)(uintptr_t)m->key);
        }
    } else if (p != NULL) {
        p->founds++;
    } else if (m->bytes != 0) {
        wi_piece_send_drop(s, m->handle, m->key, 1);
    }
}

weir_err wi_piece_on_found(struct wi_share *s, const struct wi_msg_found *m,
                           struct weir_error *err)
{
    struct wi_find *f = by_call(s, m->call);
    struct weir_error why;
    if (m->code != WEIR_OK) {
        if (f != NULL) {
            fail_all(s, f, wi_peer_code(m->code), m->text);
        }
        s->room = true;
        return WEIR_OK;
    }
    weir_err rc = check(m, f, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (f == NULL) {
        return_piece(s, m);
        return WEIR_OK;
    }
    if (m->bytes == 0) {
        beyond(s, f, m);
        s->room = true;
        return WEIR_OK;
    }
    struct wi_piece *p = wi_piece_known(s, m);
    if (p != NULL) {
        rc = check_known(p, m, f, &why);
    } else {
        rc = make_piece(s, m, f, &p, &why);
    }
    if (rc == WEIR_ERR_PEER_PROTOCOL) {
        return wi_fail(err, rc, "%s", why.message);
    }
    if (rc != WEIR_OK) {
        fail_all(s, f, rc, why.message);
        return_piece(s, m);
    } else {
        p->founds++;
        give(s, f, p);
        /* Revoked while FOUND was queued; or nobody would find it again. */
        if (p->part != NULL && (p->part->revoked || p->once)) {
            wi_piece_unlist(p);
        }
    }
    s->room = true; /* the step goes on, after all that has come */
    return WEIR_OK;
}

/* ---- ends ---------------------------------------------------------------- */

/* Else memory, and the disk of a removed file, would be held by who sleeps. */
static void purge_caches(struct wi_engine *e)
{
    for (uint32_t i = 0; i < e->cfg.workers; i++) {
        wi_worker_notify(&e->workers[i], WI_ATTN_EVENT);
    }
}

void wi_piece_on_revoke(struct wi_share *s, const struct wi_msg_grant *m)
{
    bool mapped = false;
    wi_list_each(n, wi_pieces_of(s, m->handle))
    {
        struct wi_piece *p = wi_piece_of(n);
        if (p->handle == m->handle && (m->key == 0 || m->key == p->key)) {
            mapped |= p->home != NULL;
            wi_ops_let_go(s, p);
            wi_piece_unlist(p);
        }
    }
    wi_tally_hear(s);
    if (mapped) {
        purge_caches(s->link->engine);
    }
}

void wi_pieces_revoke_own(struct wi_engine *e, const struct wi_extent *part)
{
    wi_list_each(k, &e->regions->shares)
    {
        struct wi_share *s = wi_container_of(k, struct wi_share, on_regions);
        wi_list_each(n, wi_pieces_of(s, part->region->handle))
        {
            if (wi_piece_of(n)->part == part) {
                wi_piece_unlist(wi_piece_of(n));
            }
        }
    }
    purge_caches(e);
}

static struct wi_piece *on_share(struct wi_list *n)
{
    return wi_container_of(n, struct wi_piece, on_share);
}

void wi_pieces_forget(struct wi_share *s)
{
    struct wi_list *n;
    while (!wi_list_empty(&s->pieces)) {
        struct wi_piece *p = on_share(s->pieces.next);
        wi_piece_unlist(p);
    }
    while ((n = wi_list_take(&s->leaving)) != NULL) {
        on_share(n)->share = NULL;
    }
    while ((n = s->finds.next) != &s->finds) {
        struct wi_find *f = find_of(n);
        while (take_op(&f->ops) != NULL || take_op(&f->late) != NULL) {
        } /* they are told later */
        end_find(s, f);
    }
}
