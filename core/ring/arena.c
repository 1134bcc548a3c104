/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jemalloc over registered chunks. It is found with dlopen, so that its malloc
 * can never replace the host program's; only mallocx, dallocx and mallctl are
 * used, on an arena of our own without thread cache.
 *
 * Debian's jemalloc needs 2.6 KB of static TLS, more than glibc keeps for
 * libraries that are loaded late, so dlopen finds it only in programs that are
 * linked with it (docs/embed.md says how, without handing it malloc). Elsewhere
 * chunks are cut by first fit into blocks of whole units (budget.h), and freed
 * neighbours are joined. Every hole is then large enough for the smallest ring,
 * so the plan's sum holds whatever sizes came before.
 */
#include "core/ring/arena.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cc.h"
#include "core/base/err.h"
#include "core/base/list.h"

#define CHUNK_BYTES (4ull << 20)
#define MAX_CHUNKS 1024u
/* A jemalloc arena takes 4 MiB of chunks before its first block. */
#define JE_MIN_BYTES (64ull << 20)

/* jemalloc's public constants (jemalloc(3), "mallocx flags"). */
#define JE_ALIGN(a) ((int)(__builtin_ctzll(a)))
#define JE_ZERO ((int)0x40)
#define JE_ARENA(a) ((((int)(a)) + 1) << 20)
#define JE_TCACHE_NONE ((int)0x100)

/* jemalloc's extent hooks (jemalloc(3), "arena.<i>.extent_hooks"). */
struct extent_hooks {
    void *(*alloc)(struct extent_hooks *, void *, size_t, size_t, _Bool *,
                   _Bool *, unsigned);
    _Bool (*dalloc)(struct extent_hooks *, void *, size_t, _Bool, unsigned);
    void (*destroy)(struct extent_hooks *, void *, size_t, _Bool, unsigned);
    _Bool (*commit)(struct extent_hooks *, void *, size_t, size_t, size_t,
                    unsigned);
    _Bool (*decommit)(struct extent_hooks *, void *, size_t, size_t, size_t,
                      unsigned);
    _Bool (*purge_lazy)(struct extent_hooks *, void *, size_t, size_t, size_t,
                        unsigned);
    _Bool (*purge_forced)(struct extent_hooks *, void *, size_t, size_t, size_t,
                          unsigned);
    _Bool (*split)(struct extent_hooks *, void *, size_t, size_t, size_t, _Bool,
                   unsigned);
    _Bool (*merge)(struct extent_hooks *, void *, size_t, void *, size_t, _Bool,
                   unsigned);
};

static struct {
    void *(*mallocx)(size_t, int);
    void (*dallocx)(void *, int);
    int (*mallctl)(const char *, void *, size_t *, void *, size_t);
    char kind[32];
} je;
static pthread_once_t je_once = PTHREAD_ONCE_INIT;

/* Without jemalloc: a free block, which it lies in. Sorted by address; no two
 * touch. */
struct hole {
    size_t bytes;
    struct hole *next;
};

/* A node of many workers has thousands of rings, but few sizes to a peer. */
#define KEPT_LISTS 256u

/* Kept for a peer; lies in the block. */
struct kept {
    size_t bytes;
    struct wi_list on_arena;
    uint32_t peer;
};

struct chunk {
    struct wi_mem mem;
    size_t used; /* nothing beyond was ever written: it is zero */
    struct hole *holes;
};

struct wi_arena {
    struct extent_hooks hooks; /* first: the hooks get its address */
    struct wi_transport *transport;
    uint64_t cap_bytes;
    uint64_t *held; /* bytes the node holds, these included */
    uint64_t bytes;
    struct wi_list kept[KEPT_LISTS]; /* by peer */
    uint64_t kept_bytes;
    uint64_t chunk_bytes; /* of a new chunk, unless more is needed */
    uint32_t unit_bytes;  /* without jemalloc: blocks are multiples of it */
    unsigned je_arena;
    bool has_je;
    bool plain; /* too small: jemalloc would cost more than it saves */
    uint32_t n_chunks;
    struct chunk chunks[MAX_CHUNKS];
    struct weir_error error; /* why the last chunk was refused */
};

/* ---- chunks -------------------------------------------------------------- */

static struct chunk *add_chunk(struct wi_arena *a, size_t bytes)
{
    bytes = wi_align_up(bytes, WI_PAGE);
    if (a->n_chunks == MAX_CHUNKS || *a->held + bytes > a->cap_bytes) {
        (void)wi_fail(&a->error, WEIR_ERR_BUDGET,
                      "outgoing rings, and bytes of gets and puts: %zu bytes "
                      "more than the %llu held pass memory_bytes = %llu",
                      bytes, (unsigned long long)*a->held,
                      (unsigned long long)a->cap_bytes);
        return NULL;
    }
    struct chunk *c = &a->chunks[a->n_chunks];
    if (a->transport->ops->mem_open(a->transport, bytes, &c->mem, &a->error) !=
        WEIR_OK) {
        return NULL;
    }
    c->used = 0;
    a->n_chunks++;
    a->bytes += bytes;
    *a->held += bytes;
    return c;
}

static void *cut(struct chunk *c, size_t bytes, size_t align)
{
    uintptr_t base = (uintptr_t)c->mem.base;
    uintptr_t at = wi_align_up(base + c->used, align);
    if (at + bytes > base + c->mem.bytes) {
        return NULL;
    }
    c->used = at + bytes - base;
    return (void *)at;
}

/* A new chunk for a block of this size, and more if the cap allows. */
static struct chunk *grow(struct wi_arena *a, size_t bytes)
{
    uint64_t left = a->cap_bytes > *a->held ? a->cap_bytes - *a->held : 0;
    uint64_t want = wi_max_u64(a->chunk_bytes, bytes);
    return add_chunk(a, left >= want ? want : bytes);
}

/* From a chunk that is there, else from a new one. */
static void *cut_any(struct wi_arena *a, size_t bytes, size_t align)
{
    void *p = NULL;
    for (uint32_t i = 0; p == NULL && i < a->n_chunks; i++) {
        p = cut(&a->chunks[i], bytes, align);
    }
    if (p == NULL) {
        struct chunk *c = grow(a, wi_align_up(bytes + align, WI_PAGE));
        p = c != NULL ? cut(c, bytes, align) : NULL;
    }
    return p;
}

/* ---- holes --------------------------------------------------------------- */

static size_t offset_in(const struct chunk *c, const void *p)
{
    return (size_t)((const char *)p - (const char *)c->mem.base);
}

static void put_hole(struct chunk *c, void *p, size_t bytes, struct hole *next)
{
    *(struct hole *)p = (struct hole){.bytes = bytes, .next = next};
    c->used = wi_max_u64(c->used, offset_in(c, p) + sizeof(struct hole));
}

/* Zero what was ever written of a block. `used` is what the chunk's was before
 * the block was cut from its hole; a hole begins below it. */
static void *clean(struct chunk *c, size_t used, void *p, size_t bytes)
{
    size_t off = offset_in(c, p);
    memset(p, 0, wi_min_u64(bytes, used - off));
    c->used = wi_max_u64(c->used, off + bytes);
    return p;
}

static void *take_hole(struct chunk *c, size_t bytes)
{
    size_t used = c->used;
    for (struct hole **at = &c->holes; *at != NULL; at = &(*at)->next) {
        struct hole *h = *at;
        if (h->bytes < bytes) {
            continue;
        }
        *at = h->next;
        if (h->bytes > bytes) {
            char *rest = (char *)h + bytes;
            put_hole(c, rest, h->bytes - bytes, h->next);
            *at = (struct hole *)(void *)rest;
        }
        return clean(c, used, h, bytes);
    }
    return NULL;
}

static void *alloc_plain(struct wi_arena *a, size_t bytes)
{
    void *p = NULL;
    for (uint32_t i = 0; p == NULL && i < a->n_chunks; i++) {
        p = take_hole(&a->chunks[i], bytes);
    }
    if (p == NULL) {
        struct chunk *c = grow(a, wi_align_up(bytes, WI_PAGE));
        if (c != NULL) {
            put_hole(c, c->mem.base, c->mem.bytes, NULL);
            c->holes = c->mem.base;
            p = take_hole(c, bytes);
        }
    }
    return p;
}

/* Join h with the next hole if they touch. */
static void join(struct hole *h)
{
    if (h->next != NULL && (char *)h + h->bytes == (char *)h->next) {
        h->bytes += h->next->bytes;
        h->next = h->next->next;
    }
}

static void free_plain(struct wi_arena *a, void *p, size_t bytes)
{
    struct chunk *c = a->chunks;
    while (offset_in(c, p) >= c->mem.bytes) { /* or p lies before it: wraps */
        c++;
    }
    struct hole *before = NULL;
    struct hole *after = c->holes;
    while (after != NULL && (void *)after < p) {
        before = after;
        after = after->next;
    }
    put_hole(c, p, bytes, after);
    join(p);
    if (before == NULL) {
        c->holes = p;
    } else {
        before->next = p;
        join(before);
    }
}

/* ---- extent hooks -------------------------------------------------------- */

static void *hook_alloc(struct extent_hooks *h, void *new_addr, size_t bytes,
                        size_t align, _Bool *zero, _Bool *commit,
                        unsigned arena)
{
    struct wi_arena *a = (struct wi_arena *)(void *)h;
    (void)arena;
    if (new_addr != NULL) {
        return NULL;
    }
    void *p = cut_any(a, bytes, align);
    if (p != NULL) {
        *zero = 1; /* never handed out before */
        *commit = 1;
    }
    return p;
}

static _Bool keep(struct extent_hooks *h, void *p, size_t bytes, _Bool c,
                  unsigned arena)
{
    (void)h, (void)p, (void)bytes, (void)c, (void)arena;
    return 1; /* refused: jemalloc reuses it */
}

static _Bool allow_split(struct extent_hooks *h, void *p, size_t bytes,
                         size_t a, size_t b, _Bool c, unsigned arena)
{
    (void)h, (void)p, (void)bytes, (void)a, (void)b, (void)c, (void)arena;
    return 0;
}

static _Bool merge(struct extent_hooks *h, void *p, size_t p_bytes, void *q,
                   size_t q_bytes, _Bool c, unsigned arena)
{
    struct wi_arena *a = (struct wi_arena *)(void *)h;
    (void)c, (void)arena;
    for (uint32_t i = 0; i < a->n_chunks; i++) {
        uintptr_t base = (uintptr_t)a->chunks[i].mem.base;
        uintptr_t end = base + a->chunks[i].mem.bytes;
        uintptr_t low =
            (uintptr_t)p < (uintptr_t)q ? (uintptr_t)p : (uintptr_t)q;
        if (low >= base && low + p_bytes + q_bytes <= end) {
            return 0;
        }
    }
    return 1; /* refused: not in one chunk */
}

/* ---- jemalloc ------------------------------------------------------------ */

static void load_jemalloc(void)
{
    (void)snprintf(je.kind, sizeof(je.kind), "chunks");
    void *lib = dlopen("libjemalloc.so.2", RTLD_NOW | RTLD_LOCAL);
    if (lib == NULL) {
        return;
    }
    *(void **)&je.mallocx = dlsym(lib, "mallocx");
    *(void **)&je.dallocx = dlsym(lib, "dallocx");
    *(void **)&je.mallctl = dlsym(lib, "mallctl");
    const char *version = NULL;
    size_t len = sizeof(version);
    if (je.mallocx == NULL || je.dallocx == NULL || je.mallctl == NULL ||
        je.mallctl("version", &version, &len, NULL, 0) != 0) {
        je.mallocx = NULL;
        return;
    }
    (void)snprintf(je.kind, sizeof(je.kind), "jemalloc %.8s", version);
}

static void open_je(struct wi_arena *a)
{
    (void)pthread_once(&je_once, load_jemalloc);
    if (je.mallocx == NULL) {
        return;
    }
    a->hooks = (struct extent_hooks){
        .alloc = hook_alloc,
        .dalloc = keep,
        .split = allow_split,
        .merge = merge,
    };
    struct extent_hooks *hooks = &a->hooks;
    size_t len = sizeof(a->je_arena);
    a->has_je = je.mallctl("arenas.create", &a->je_arena, &len, &hooks,
                           sizeof(struct extent_hooks *)) == 0;
}

/* ---- what is kept for peers ---------------------------------------------- */

static struct wi_list *kept_for(struct wi_arena *a, uint32_t peer)
{
    return &a->kept[peer % KEPT_LISTS];
}

static void unlink_kept(struct wi_arena *a, struct kept *k)
{
    wi_list_remove(&k->on_arena);
    a->kept_bytes -= k->bytes;
}

static void free_kept(struct wi_arena *a)
{
    for (uint32_t i = 0; i < KEPT_LISTS; i++) {
        wi_list_each(n, &a->kept[i])
        {
            struct kept *k = wi_container_of(n, struct kept, on_arena);
            unlink_kept(a, k);
            wi_arena_free(a, k, k->bytes);
        }
    }
}

void *wi_arena_alloc_for(struct wi_arena *a, uint32_t peer, size_t bytes,
                         struct weir_error *err)
{
    wi_list_each(n, kept_for(a, peer))
    {
        struct kept *k = wi_container_of(n, struct kept, on_arena);
        if (k->peer == peer && k->bytes == bytes) {
            unlink_kept(a, k);
            return k;
        }
    }
    return wi_arena_alloc(a, bytes, err);
}

void wi_arena_keep(struct wi_arena *a, uint32_t peer, void *p, size_t bytes)
{
    struct kept *k = p;
    if (a->kept_bytes + bytes > a->cap_bytes / 4) {
        wi_arena_free(a, p, bytes);
        return;
    }
    *k = (struct kept){.bytes = bytes, .peer = peer};
    wi_list_push_back(kept_for(a, peer), &k->on_arena);
    a->kept_bytes += bytes;
}

/* ---- the interface ------------------------------------------------------- */

weir_err wi_arena_open(struct wi_transport *t, uint64_t cap_bytes,
                       uint64_t *held, struct wi_arena **out,
                       struct weir_error *err)
{
    struct wi_arena *a = calloc(1, sizeof(*a));
    if (a == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for an arena");
    }
    a->transport = t;
    a->cap_bytes = cap_bytes;
    a->held = held;
    a->chunk_bytes = CHUNK_BYTES;
    a->unit_bytes = WI_CACHE_LINE;
    for (uint32_t i = 0; i < KEPT_LISTS; i++) {
        wi_list_init(&a->kept[i]);
    }
    *out = a;
    return WEIR_OK;
}

void wi_arena_plan(struct wi_arena *a, const struct wi_budget *plan,
                   uint32_t links)
{
    uint64_t link_bytes = plan->area_bytes;
    uint64_t least = link_bytes * links / (MAX_CHUNKS / 2);
    uint64_t bytes = wi_max_u64(plan->usual_bytes, least);
    bytes = wi_max_u64(wi_min_u64(bytes, CHUNK_BYTES), plan->unit_bytes);
    bytes -= bytes % plan->unit_bytes; /* nothing is left at its end */
    a->chunk_bytes = wi_align_up(bytes, WI_PAGE);
    a->unit_bytes = plan->unit_bytes;
    a->plain = plan->usual_bytes * links < JE_MIN_BYTES;
}

static size_t whole_units(const struct wi_arena *a, size_t bytes)
{
    return (bytes + a->unit_bytes - 1) / a->unit_bytes * a->unit_bytes;
}

void wi_arena_close(struct wi_arena *a)
{
    free_kept(a);
    if (a->has_je) {
        char ctl[48];
        (void)snprintf(ctl, sizeof(ctl), "arena.%u.destroy", a->je_arena);
        (void)je.mallctl(ctl, NULL, NULL, NULL, 0);
    }
    for (uint32_t i = 0; i < a->n_chunks; i++) {
        a->transport->ops->mem_close(a->transport, &a->chunks[i].mem);
    }
    *a->held -= a->bytes;
    free(a);
}

static void *alloc_once(struct wi_arena *a, size_t bytes)
{
    if (!a->has_je && !a->plain && a->n_chunks == 0) {
        open_je(a); /* only now: shm nodes never need it */
    }
    if (a->has_je) {
        return je.mallocx(bytes, JE_ALIGN(WI_CACHE_LINE) | JE_ZERO |
                                     JE_ARENA(a->je_arena) | JE_TCACHE_NONE);
    }
    return alloc_plain(a, whole_units(a, bytes));
}

void *wi_arena_alloc(struct wi_arena *a, size_t bytes, struct weir_error *err)
{
    void *p = alloc_once(a, bytes);
    if (p == NULL && a->kept_bytes != 0) {
        free_kept(a);
        p = alloc_once(a, bytes);
    }
    if (p == NULL && err != NULL) {
        *err = a->error;
    }
    return p;
}

void wi_arena_free(struct wi_arena *a, void *p, size_t bytes)
{
    if (a->has_je) {
        je.dallocx(p, JE_TCACHE_NONE);
    } else {
        free_plain(a, p, whole_units(a, bytes));
    }
}

uint64_t wi_arena_bytes(const struct wi_arena *a)
{
    return a->bytes;
}

struct wi_transport *wi_arena_transport(const struct wi_arena *a)
{
    return a->transport;
}

const char *wi_arena_kind(void)
{
    (void)pthread_once(&je_once, load_jemalloc);
    return je.kind;
}
