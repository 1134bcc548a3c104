/* SPDX-License-Identifier: Apache-2.0 */
#include "core/region/tally.h"

#include <stdlib.h>

#include "core/base/err.h"
#include "core/ring/arena.h"
#include "core/transport.h"

#define TALLY_VOID UINT64_MAX

static bool agreed(const struct wi_link *l)
{
    return !l->self && (l->caps & WI_WIRE_CAP_TALLY) != 0;
}

/* It needs memory of its own, which is granted. */
static bool needs_word(const struct wi_link *l)
{
    return agreed(l) && (l->home->ops->caps & WI_CAP_TALLY) == 0;
}

/* ---- the owner's side ---------------------------------------------------- */

static void tell(struct wi_share *s, uint64_t count)
{
    _Atomic uint64_t *word = s->tally_mem.base;
    s->told = count;
    if (s->link->ep != NULL && agreed(s->link)) {
        /* E16 release: what the program did before, the look of a reader who
         * was told of it after; pairs with E16 acquire in wi_tally_is_even(),
         * and in queue_answers() of tcp_send.c */
        wi_store_rel(&s->link->ep->tally_told, count);
    }
    if (word != NULL) {
        wi_store_rel(word, count); /* E16 release: as above */
    }
}

void wi_tally_count(struct wi_share *s)
{
    tell(s, s->told + 1);
}

void wi_tally_void(struct wi_share *s)
{
    tell(s, TALLY_VOID);
}

/* Of the memory of the node, whose cap counts it, too. */
static weir_err open_page(struct wi_share *s)
{
    struct wi_engine *e = s->link->engine;
    struct wi_transport *home = s->link->home;
    struct weir_error err;
    if (e->mem_bytes + WI_PAGE > e->cfg.memory_bytes) {
        return WEIR_ERR_BUDGET;
    }
    weir_err rc = home->ops->mem_open(home, WI_PAGE, &s->tally_mem, &err);
    if (rc != WEIR_OK) {
        s->tally_mem.base = NULL;
        return rc;
    }
    e->mem_bytes += WI_PAGE;
    e->mem_peak = wi_max_u64(e->mem_peak, e->mem_bytes);
    return WEIR_OK;
}

static weir_err make_word(struct wi_share *s)
{
    struct wi_link *l = s->link;
    struct weir_error err;
    if (s->tally_mem.base == NULL) {
        weir_err rc = open_page(s);
        if (rc != WEIR_OK) {
            return rc;
        }
        tell(s, s->told);
    }
    return l->home->ops->grant(l->ep, &s->tally_mem, WI_ACCESS_READ,
                               &s->tally_key, &err);
}

weir_err wi_tally_grant(struct wi_share *s, struct wi_msg_found *m)
{
    if (!needs_word(s->link)) {
        return WEIR_OK;
    }
    if (s->tally_key == 0 && !s->tally_lacks) {
        weir_err rc = make_word(s);
        if (rc == WEIR_AGAIN) {
            return rc;
        }
        s->tally_lacks = rc != WEIR_OK;
    }
    m->tally_key = s->tally_lacks ? 0 : s->tally_key;
    m->tally_off = s->tally_mem.origin;
    return WEIR_OK;
}

/* ---- the reader's side --------------------------------------------------- */

static struct wi_tally *map_word(struct wi_share *s,
                                 const struct wi_msg_found *m)
{
    struct wi_link *l = s->link;
    struct weir_error err;
    void *base = NULL;
    struct wi_tally *t = calloc(1, sizeof(*t));
    if (t == NULL || l->home->ops->map(l->ep, m->tally_key, WI_PAGE,
                                       WI_ACCESS_READ, &base, &err) < 0) {
        free(t);
        return NULL;
    }
    t->word = base;
    t->home = l->home;
    t->users = 1;
    wi_store_rlx(&t->heard, s->heard); /* rlx: nobody knows it yet */
    return t;
}

/* Where the link's transfers read it to. */
static void place_word(struct wi_link *l, const struct wi_msg_found *m)
{
    struct weir_error err;
    bool any = (l->home->ops->caps & WI_CAP_LOCAL_ANY) != 0;
    l->tally_into =
        any ? &l->tally_read : wi_arena_alloc(l->arena, WI_CACHE_LINE, &err);
    l->tally_key = m->tally_key;
    l->tally_off = m->tally_off;
}

bool wi_tally_take(struct wi_share *s, const struct wi_msg_found *m)
{
    struct wi_link *l = s->link;
    if (!needs_word(l)) {
        return true;
    }
    if (!s->tally_taken && m->tally_key != 0 && l->mapped) {
        s->tally = map_word(s, m);
    } else if (!s->tally_taken && m->tally_key != 0) {
        place_word(l, m);
    }
    s->tally_taken = true; /* with the first FOUND, or never: a key is mapped
                              once, and nothing is posted yet */
    return l->mapped ? s->tally != NULL : l->tally_into != NULL;
}

void wi_tally_hear(struct wi_share *s)
{
    s->heard++;
    if (s->tally != NULL) {
        /* E16 release: the pieces are revoked, then this; pairs with E16
         * acquire in wi_tally_is_even() */
        wi_store_rel(&s->tally->heard, s->heard);
    }
}

bool wi_tally_was_even(const struct wi_share *s)
{
    const struct wi_link *l = s->link;
    if (!agreed(l)) {
        return true;
    }
    if (l->ep == NULL) {
        return false;
    }
    /* rlx: the read that brought it is complete (E4) */
    uint64_t told = wi_load_rlx(
        l->tally_into != NULL ? l->tally_into : &l->ep->tally_heard); /* rlx */
    return s->heard >= told;
}

void wi_tally_drop(struct wi_tally *t)
{
    if (t != NULL && --t->users == 0) {
        t->home->ops->unmap(t->home, (void *)(uintptr_t)t->word, WI_PAGE);
        free(t);
    }
}

void wi_tally_link_over(struct wi_share *s)
{
    struct wi_link *l = s->link;
    if (s->tally_mem.base != NULL) {
        l->engine->mem_bytes -= s->tally_mem.bytes;
        l->home->ops->mem_close(l->home, &s->tally_mem);
    }
    wi_tally_drop(s->tally);
    s->tally = NULL;
    if (l->tally_into != NULL && l->tally_into != &l->tally_read) {
        wi_arena_free(l->arena, l->tally_into, WI_CACHE_LINE);
    }
    l->tally_into = NULL;
}
