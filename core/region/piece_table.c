/* SPDX-License-Identifier: Apache-2.0 */
#include "core/region/piece_table.h"

#include <stdlib.h>

#include "core/base/err.h"
#include "core/link/send.h"
#include "core/region/extent.h"
#include "core/region/gone.h"
#include "core/region/tally.h"
#include "core/transport.h"

/* ---- users --------------------------------------------------------------- */

static struct wi_piece *piece_of(struct wi_list *n)
{
    return wi_container_of(n, struct wi_piece, on_share);
}

void wi_piece_hold(struct wi_piece *p)
{
    (void)wi_add_rlx(&p->users, 1); /* rlx: the caller has one already */
}

void wi_piece_drop(struct wi_piece *p)
{
    struct wi_engine *e = p->engine;
    /* E14 both: what the user read or wrote, before it is unmapped; pairs with
     * itself, the last of them frees */
    if (wi_add_ar(&p->users, UINT32_MAX) == 1) {
        wi_lq_put(&e->regions->unused, &p->unused);
        wi_engine_kick(e);
    }
}

void wi_piece_send_drop(struct wi_share *s, uint64_t handle, uint64_t key,
                        uint32_t founds)
{
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_DROP);
    m.grant.handle = handle;
    m.grant.key = key;
    m.grant.founds = founds;
    wi_link_send_soon(s->link, &m);
}

static uint64_t hash_name(const struct weir_name *name, uint64_t unit)
{
    return wi_hash_words(wi_hash_words(name->space, name->id), unit);
}

void wi_piece_list(struct wi_piece *p)
{
    struct wi_share *s = p->share;
    wi_list_push_back(&s->pieces, &p->on_share);
    wi_table_put(&s->by_name, &p->by_name,
                 hash_name(&p->name, wi_piece_unit(p)));
    wi_table_put(&s->by_handle, &p->by_handle, wi_hash_words(p->handle, 0));
    s->n_pieces++;
    p->engine->regions->n_pieces++;
}

void wi_piece_unlist(struct wi_piece *p)
{
    struct wi_share *s = p->share;
    wi_list_remove(&p->on_share);
    wi_table_drop(&s->by_name, &p->by_name);
    wi_table_drop(&s->by_handle, &p->by_handle);
    s->n_pieces--;
    p->engine->regions->n_pieces--;
    wi_store_rlx(&p->revoked, 1); /* rlx: users keep the memory, see E14 */
    (void)wi_add_rlx(&p->engine->regions->revokes, 1); /* rlx: a hint */
    if (p->base != NULL) {
        if (p->part == NULL && s->link->state != WI_LINK_DEAD) {
            wi_piece_send_drop(s, p->handle, p->key, p->founds);
        }
        p->share = NULL;
    } else {
        wi_list_push_back(&s->leaving, &p->on_share);
    }
    wi_piece_drop(p);
}

void wi_piece_leave_part(struct wi_extent *part)
{
    part->users--;
    wi_extent_rest(part);
}

uint32_t wi_pieces_sweep(struct wi_engine *e)
{
    uint32_t n = 0;
    struct wi_lq_node *node;
    while ((node = wi_lq_take(&e->regions->unused)) != NULL) {
        struct wi_piece *p = wi_container_of(node, struct wi_piece, unused);
        if (p->share != NULL) {
            wi_list_remove(&p->on_share); /* of those on their way out */
            wi_piece_send_drop(p->share, p->handle, p->key, p->founds);
        }
        if (p->home != NULL) {
            wi_gone_let(e, &(struct wi_gone){.home = p->home,
                                             .base = p->base - p->origin,
                                             .bytes = p->map_bytes,
                                             .fd = -1});
        }
        if (p->part != NULL) {
            wi_piece_leave_part(p->part);
        }
        wi_tally_drop(p->tally);
        free(p);
        n++;
    }
    return n;
}

/* ---- the table ----------------------------------------------------------- */

static struct wi_piece *look(const struct wi_share *s, const struct wi_op *op,
                             uint64_t unit)
{
    uint32_t access = op->kind == WI_OP_PUT ? WI_ACCESS_WRITE : WI_ACCESS_READ;
    uint64_t at = wi_op_place(op);
    wi_list_each(n, wi_table_chain(&s->by_name, hash_name(&op->name, unit)))
    {
        struct wi_piece *p = wi_container_of(n, struct wi_piece, by_name.chain);
        if (wi_name_equal(&p->name, &op->name) && (p->access & access) != 0 &&
            at >= p->off && at - p->off < p->bytes) {
            return p;
        }
    }
    return NULL;
}

struct wi_piece *wi_piece_get(struct wi_share *s, const struct wi_op *op)
{
    uint64_t unit = wi_op_place(op) >> WI_STAGED_SHIFT;
    struct wi_piece *p = look(s, op, 0);
    if (p == NULL && unit != 0) {
        p = look(s, op, unit);
    }
    if (p != NULL) {
        wi_list_remove(&p->on_share);
        wi_list_push_back(&s->pieces, &p->on_share);
        wi_piece_hold(p);
    }
    return p;
}

static bool has_room(const struct wi_share *s)
{
    const struct wi_link *l = s->link;
    return s->n_pieces < WI_PIECES_OF_LINK ||
           (!l->mapped && !l->self &&
            l->engine->regions->n_pieces < WI_PIECES_OF_NODE);
}

void wi_pieces_make_room(struct wi_share *s)
{
    wi_list_each(n, &s->pieces)
    {
        if (has_room(s)) {
            return;
        }
        /* What is mapped stays while a second FOUND of its key may come: keys
         * are mapped once. rlx: only the table has it, so nobody takes it
         * meanwhile. */
        if ((!s->link->mapped || s->n_found <= 1) &&
            wi_load_rlx(&piece_of(n)->users) == 1) {
            wi_piece_unlist(piece_of(n));
        }
    }
}

struct wi_piece *wi_piece_known(struct wi_share *s,
                                const struct wi_msg_found *m)
{
    wi_list_each(n, wi_pieces_of(s, m->handle))
    {
        struct wi_piece *p = wi_piece_of(n);
        if (p->handle == m->handle && p->key == m->key && p->off == m->off &&
            p->part == NULL) {
            return p;
        }
    }
    return NULL;
}
