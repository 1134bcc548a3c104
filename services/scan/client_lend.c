/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of copies is used again: where pages are new, writing them takes as
 * long as a copy. What is kept for that is at most a quarter of max_bytes.
 */
#include "services/scan/client_lend.h"

#include <stdlib.h>
#include <string.h>

enum {
    ALIGN = 64,
    KEEP_FROM = 64 * 1024, /* smaller ones malloc has */
    LENT_MAX = 256,        /* operations of a fetch are 1024 */
};

_Static_assert(sizeof(struct wi_scan_memory) <= ALIGN, "its bytes follow");

/* ---- memory of copies ---------------------------------------------------- */

static uint8_t *bytes_of(struct wi_scan_memory *m)
{
    return (uint8_t *)m + ALIGN;
}

/* The first that is large enough, and not much too large. */
static struct wi_scan_memory *find_free(struct weir_scan_client *c, uint64_t n)
{
    struct wi_scan_memory *m = NULL;
    (void)pthread_mutex_lock(&c->lock);
    TAILQ_FOREACH(m, &c->free, next)
    {
        if (m->bytes >= n && m->bytes / 2 <= n) {
            TAILQ_REMOVE(&c->free, m, next);
            c->free_bytes -= m->bytes;
            break;
        }
    }
    (void)pthread_mutex_unlock(&c->lock);
    return m;
}

static struct wi_scan_memory *take_memory(struct weir_scan_client *c,
                                          uint64_t n)
{
    struct wi_scan_memory *m = NULL;
    if (n >= KEEP_FROM) {
        m = find_free(c, n);
    }
    if (m == NULL && n < SIZE_MAX / 2) {
        uint64_t bytes = (n + ALIGN - 1) / ALIGN * ALIGN;
        m = aligned_alloc(ALIGN, ALIGN + bytes);
        if (m != NULL) {
            m->bytes = bytes;
        }
    }
    return m;
}

/* Under the lock. True: it is kept. */
static bool keep_memory(struct weir_scan_client *c, struct wi_scan_memory *m)
{
    if (c->closed || m->bytes < KEEP_FROM ||
        c->free_bytes + m->bytes > c->p.max_bytes / 4) {
        return false;
    }
    TAILQ_INSERT_HEAD(&c->free, m, next); /* the warmest first */
    c->free_bytes += m->bytes;
    return true;
}

void wi_scan_lend_fini(struct weir_scan_client *c)
{
    while (!TAILQ_EMPTY(&c->free)) {
        struct wi_scan_memory *m = TAILQ_FIRST(&c->free);
        TAILQ_REMOVE(&c->free, m, next);
        free(m);
    }
    c->free_bytes = 0;
    wi_scan_givens_free(&c->given);
}

/* ---- making -------------------------------------------------------------- */

static struct wi_scan_payload *make(struct weir_scan_client *c, uint64_t n)
{
    struct wi_scan_payload *p = calloc(1, sizeof(*p));
    if (p != NULL) {
        p->client = c;
        p->bytes = n;
        p->holds = 1;
        (void)pthread_mutex_lock(&c->lock);
        c->holds++;
        (void)pthread_mutex_unlock(&c->lock);
    }
    return p;
}

static bool take_copy(struct wi_scan_payload *p)
{
    p->memory = take_memory(p->client, p->bytes);
    p->base = p->memory != NULL ? bytes_of(p->memory) : NULL;
    return p->memory != NULL;
}

struct wi_scan_payload *wi_scan_payload_copy(struct weir_scan_client *c,
                                             const void *bytes, uint64_t n)
{
    struct wi_scan_payload *p = make(c, n);
    if (p == NULL) {
        return NULL;
    }
    if (!take_copy(p)) {
        wi_scan_payload_drop(p);
        return NULL;
    }
    memcpy(bytes_of(p->memory), bytes, n);
    return p;
}

struct wi_scan_payload *wi_scan_payload_make(struct weir_scan_client *c,
                                             uint64_t number, uint64_t slot,
                                             uint64_t n)
{
    struct wi_scan_payload *p = make(c, n);
    struct wi_scan_given *given = malloc(sizeof(*given));
    if (p == NULL || given == NULL) {
        free(given);
        if (p != NULL) {
            wi_scan_payload_drop(p);
        }
        return NULL;
    }
    given->slot = slot;
    p->slot = given;
    p->number = number;
    return p;
}

/* ---- getting ------------------------------------------------------------- */

bool wi_scan_payload_place(struct wi_scan_payload *p, void **dst_out)
{
    struct weir_scan_client *c = p->client;
    (void)pthread_mutex_lock(&c->lock);
    bool lend = !c->copies && c->n_lent < LENT_MAX &&
                p->bytes <= c->p.max_bytes / 2 &&
                c->lent_bytes <= c->p.max_bytes / 2 - p->bytes;
    (void)pthread_mutex_unlock(&c->lock);
    *dst_out = NULL;
    if (lend) {
        return true;
    }
    if (p->memory == NULL && !take_copy(p)) {
        return false;
    }
    *dst_out = bytes_of(p->memory);
    return true;
}

void wi_scan_payload_came(struct wi_scan_payload *p, const struct weir_got *got)
{
    struct weir_scan_client *c = p->client;
    p->base = got->ptr;
    p->got = *got;
    p->shared = got->mapped != 0 && got->lent != 0;
    c->copies = c->copies || (got->lent != 0 && !p->shared);
    (void)pthread_mutex_lock(&c->lock);
    if (p->shared) {
        TAILQ_INSERT_TAIL(&c->lent, p, next);
        c->lent_bytes += p->bytes;
        c->n_lent++;
    } else if (p->slot != NULL) {
        TAILQ_INSERT_TAIL(&c->given, p->slot, next);
        p->slot = NULL;
    }
    (void)pthread_mutex_unlock(&c->lock);
}

void *wi_scan_payload_private(const struct wi_scan_payload *p, uint64_t n)
{
    void *copy = malloc(n + 1);
    if (copy != NULL) {
        memcpy(copy, p->base, n);
    }
    return copy;
}

/* ---- giving back --------------------------------------------------------- */

void wi_scan_payload_hold(struct wi_scan_payload *p)
{
    (void)pthread_mutex_lock(&p->client->lock);
    p->holds++;
    (void)pthread_mutex_unlock(&p->client->lock);
}

/* Under the lock: its memory and slot go where they belong. */
static void put_away(struct wi_scan_payload *p)
{
    struct weir_scan_client *c = p->client;
    if (p->shared) {
        TAILQ_REMOVE(&c->lent, p, next);
        c->lent_bytes -= p->bytes;
        c->n_lent--;
    }
    if (p->slot != NULL && !c->closed) {
        TAILQ_INSERT_TAIL(&c->given, p->slot, next);
        p->slot = NULL;
    }
    if (p->memory != NULL && keep_memory(c, p->memory)) {
        p->memory = NULL;
    }
}

void wi_scan_payload_drop(void *payload)
{
    struct wi_scan_payload *p = payload;
    struct weir_scan_client *c = p->client;
    if (wi_scan_client_inherited(c)) {
        return; /* by a collector in a child; the parent still has it */
    }
    (void)pthread_mutex_lock(&c->lock);
    bool last = --p->holds == 0;
    (void)pthread_mutex_unlock(&c->lock);
    if (!last) {
        return;
    }
    weir_fetch_release(c->fetch, &p->got);
    (void)pthread_mutex_lock(&c->lock);
    put_away(p);
    (void)pthread_mutex_unlock(&c->lock);
    free(p->memory);
    free(p->slot);
    free(p);
    wi_scan_client_drop(c);
}

uint32_t wi_scan_givens_take(struct weir_scan_client *c, uint32_t n,
                             struct wi_scan_givens *out)
{
    uint32_t i = 0;
    TAILQ_INIT(out);
    (void)pthread_mutex_lock(&c->lock);
    for (; i < n && !TAILQ_EMPTY(&c->given); i++) {
        struct wi_scan_given *given = TAILQ_FIRST(&c->given);
        TAILQ_REMOVE(&c->given, given, next);
        TAILQ_INSERT_TAIL(out, given, next);
    }
    (void)pthread_mutex_unlock(&c->lock);
    return i;
}

void wi_scan_givens_return(struct weir_scan_client *c,
                           struct wi_scan_givens *list)
{
    (void)pthread_mutex_lock(&c->lock);
    TAILQ_CONCAT(list, &c->given, next);
    TAILQ_CONCAT(&c->given, list, next);
    (void)pthread_mutex_unlock(&c->lock);
}

void wi_scan_givens_free(struct wi_scan_givens *list)
{
    while (!TAILQ_EMPTY(list)) {
        struct wi_scan_given *given = TAILQ_FIRST(list);
        TAILQ_REMOVE(list, given, next);
        free(given);
    }
}

uint32_t wi_scan_lent_list(struct weir_scan_client *c, uint64_t number,
                           uint32_t n, uint64_t *slots_out)
{
    struct wi_scan_payload *p;
    uint32_t i = 0;
    TAILQ_FOREACH(p, &c->lent, next)
    {
        if (i < n && p->number == number && p->slot != NULL) {
            slots_out[i++] = p->slot->slot;
        }
    }
    return i;
}

void wi_scan_lent_keep(struct weir_scan_client *c, uint64_t number, uint32_t n)
{
    struct wi_scan_payload *p;
    TAILQ_FOREACH(p, &c->lent, next)
    {
        if (n > 0 && p->number == number && p->slot != NULL) {
            free(p->slot);
            p->slot = NULL;
            n--;
        }
    }
}

void wi_scan_lent_forget(struct weir_scan_client *c)
{
    struct wi_scan_payload *p;
    (void)pthread_mutex_lock(&c->lock);
    TAILQ_FOREACH(p, &c->lent, next)
    {
        free(p->slot);
        p->slot = NULL;
    }
    wi_scan_givens_free(&c->given);
    (void)pthread_mutex_unlock(&c->lock);
}
