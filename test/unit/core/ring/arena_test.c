/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ring/arena.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/cc.h"
#include "core/base/err.h"

/* A transport that only has memory, and counts it. */
static size_t given;

static weir_err mem_open(struct wi_transport *t, size_t bytes,
                         struct wi_mem *out, struct weir_error *err)
{
    (void)t;
    void *p = aligned_alloc(WI_PAGE, bytes);
    if (p == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory");
    }
    memset(p, 0, bytes);
    given += bytes;
    *out = (struct wi_mem){.base = p, .bytes = bytes};
    return WEIR_OK;
}

static void mem_close(struct wi_transport *t, struct wi_mem *mem)
{
    (void)t;
    given -= mem->bytes;
    free(mem->base);
}

static const struct wi_transport_ops ops = {
    .name = "memory", .mem_open = mem_open, .mem_close = mem_close};
static struct wi_transport transport = {.ops = &ops};

static bool is_zero(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] != 0) {
            return false;
        }
    }
    return true;
}

Test(arena, memory_is_zeroed_aligned_and_used_again)
{
    struct wi_arena *a = NULL;
    uint64_t held = 0;
    void *p[64];
    cr_assert_eq(wi_arena_open(&transport, 64 << 20, &held, &a, NULL), WEIR_OK);
    uint64_t first = 0;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 64; i++) {
            size_t bytes = (size_t)(1 + i % 4) * 16384 + 64;
            p[i] = wi_arena_alloc(a, bytes, NULL);
            cr_assert_not_null(p[i]);
            cr_assert_eq((uintptr_t)p[i] % WI_CACHE_LINE, 0);
            cr_assert(is_zero(p[i], bytes), "round %d, block %d", round, i);
            memset(p[i], 0xa5, bytes);
        }
        for (int i = 0; i < 64; i++) {
            wi_arena_free(a, p[i], (size_t)(1 + i % 4) * 16384 + 64);
        }
        first = round == 0 ? wi_arena_bytes(a) : first;
        cr_assert_eq(wi_arena_bytes(a), first, "grew in round %d", round);
        cr_assert_eq(given, first);
    }
    wi_arena_close(a);
    cr_assert_eq(given, 0);
}

Test(arena, the_cap_counts_what_the_node_holds_elsewhere)
{
    struct wi_arena *a = NULL;
    const uint64_t others = 6 << 20;
    uint64_t held = others;
    struct weir_error err = {0};
    cr_assert_eq(wi_arena_open(&transport, 8 << 20, &held, &a, &err), WEIR_OK);
    int n = 0;
    while (n < 1000 && wi_arena_alloc(a, 65536, &err) != NULL) {
        n++;
        cr_assert_eq(wi_arena_bytes(a) + others, held);
        cr_assert_leq(held, 8 << 20);
    }
    cr_assert_gt(n, 8);
    cr_assert_lt(n, 33);
    cr_assert_eq(err.code, WEIR_ERR_BUDGET);
    cr_assert_not_null(strstr(err.message, "8388608"), "%s", err.message);
    wi_arena_close(a);
    cr_assert_eq(held, others);
    cr_assert_eq(given, 0);
}

/* ---- pages --------------------------------------------------------------- */

static weir_err map_open(struct wi_transport *t, size_t bytes,
                         struct wi_mem *out, struct weir_error *err)
{
    (void)t;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory");
    }
    (void)madvise(p, bytes, MADV_NOHUGEPAGE);
    *out = (struct wi_mem){.base = p, .bytes = bytes};
    return WEIR_OK;
}

static void map_close(struct wi_transport *t, struct wi_mem *mem)
{
    (void)t;
    (void)munmap(mem->base, mem->bytes);
}

static uint32_t pages_there(void *p, size_t bytes)
{
    uint8_t is[64];
    uint32_t n = 0;
    uint8_t *from = (uint8_t *)wi_align_up((uintptr_t)p, WI_PAGE);
    size_t pages = (bytes - (size_t)(from - (uint8_t *)p)) / WI_PAGE;
    cr_assert_leq(pages, sizeof(is));
    cr_assert_eq(mincore(from, pages * WI_PAGE, is), 0);
    for (size_t i = 0; i < pages; i++) {
        n += is[i] & 1;
    }
    return n;
}

/* Memory is touched by who uses it: a block that was never used is zero as it
 * is. One page has the beginning of what is left. */
Test(arena, a_new_block_is_not_touched)
{
    static const struct wi_transport_ops maps = {
        .name = "maps", .mem_open = map_open, .mem_close = map_close};
    static struct wi_transport mapped = {.ops = &maps};
    enum { BLOCK = 32 * WI_PAGE };
    const struct wi_budget plan = {
        .unit_bytes = BLOCK, .usual_bytes = 8 * BLOCK, .area_bytes = 8 * BLOCK};
    struct wi_arena *a = NULL;
    uint64_t held = 0;
    cr_assert_eq(wi_arena_open(&mapped, 64 << 20, &held, &a, NULL), WEIR_OK);
    wi_arena_plan(a, &plan, 1);
    for (int i = 0; i < 8; i++) {
        void *p = wi_arena_alloc(a, BLOCK, NULL);
        cr_assert_not_null(p);
        cr_assert_leq(pages_there(p, BLOCK), 1, "block %d", i);
    }
    wi_arena_close(a);
}

/* ---- what is kept -------------------------------------------------------- */

/* What a peer has had comes back to it as it was, and to nobody else. */
static void check_kept(uint64_t cap_bytes, const struct wi_budget *plan)
{
    struct wi_arena *a = NULL;
    uint64_t held = 0;
    const size_t bytes = 16384 + 64;
    cr_assert_eq(wi_arena_open(&transport, cap_bytes, &held, &a, NULL),
                 WEIR_OK);
    if (plan != NULL) {
        wi_arena_plan(a, plan, 1);
    }
    uint8_t *one = wi_arena_alloc_for(a, 1, bytes, NULL);
    uint8_t *two = wi_arena_alloc_for(a, 2, bytes, NULL);
    cr_assert(is_zero(one, bytes) && is_zero(two, bytes));
    memset(one, 1, bytes);
    memset(two, 2, bytes);
    wi_arena_keep(a, 1, one, bytes);
    wi_arena_keep(a, 2, two, bytes);
    cr_assert_eq(wi_arena_alloc_for(a, 2, bytes, NULL), two);
    cr_assert_eq(two[bytes - 1], 2);
    uint8_t *three = wi_arena_alloc_for(a, 3, bytes, NULL);
    cr_assert_neq(three, one);
    cr_assert(is_zero(three, bytes));
    uint8_t *other = wi_arena_alloc_for(a, 1, 2 * bytes, NULL);
    cr_assert_neq(other, one, "another size");
    cr_assert(is_zero(other, 2 * bytes));
    cr_assert_eq(wi_arena_alloc_for(a, 1, bytes, NULL), one);
    wi_arena_free(a, one, bytes);
    uint8_t *any = wi_arena_alloc(a, bytes, NULL);
    cr_assert(is_zero(any, bytes), "of peer 1, for anybody");
    wi_arena_close(a);
    cr_assert_eq(given, 0);
}

Test(arena, what_is_kept_for_a_peer_goes_to_nobody_else)
{
    const struct wi_budget plan = {.unit_bytes = 16384 + 64,
                                   .usual_bytes = 1 << 20,
                                   .area_bytes = 1 << 20};
    check_kept(64 << 20, NULL);
    check_kept(64 << 20, &plan);
}

Test(arena, what_is_kept_is_a_quarter_at_most_and_fails_no_alloc)
{
    enum { CAP = 8 << 20, RING = 65536, N = CAP / RING };
    struct wi_arena *a = NULL;
    uint64_t held = 0;
    void *p[N];
    uint32_t n = 0;
    cr_assert_eq(wi_arena_open(&transport, CAP, &held, &a, NULL), WEIR_OK);
    while (n < N && (p[n] = wi_arena_alloc_for(a, n, RING, NULL)) != NULL) {
        n++;
    }
    cr_assert_gt(n, N / 2);
    for (uint32_t i = 0; i < n; i++) {
        memset(p[i], 7, RING);
        wi_arena_keep(a, i, p[i], RING);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        p[i] = wi_arena_alloc_for(a, i, RING, NULL);
        kept += ((uint8_t *)p[i])[RING - 1] == 7;
    }
    cr_assert_eq(kept, CAP / 4 / RING);
    for (uint32_t i = 0; i < n; i++) {
        wi_arena_keep(a, i, p[i], RING);
    }
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        /* By numbers that nobody had all of it is to be had again. */
        uint8_t *q = wi_arena_alloc_for(a, N + i, RING, NULL);
        cr_assert_not_null(q, "%u of %u", i, n);
        found += is_zero(q, RING);
    }
    cr_assert_eq(found, n);
    wi_arena_close(a);
    cr_assert_eq(held, 0);
    cr_assert_eq(given, 0);
}

Test(arena, malloc_stays_the_host_programs)
{
    struct wi_arena *a = NULL;
    uint64_t held = 0;
    Dl_info info;
    cr_assert_eq(wi_arena_open(&transport, 64 << 20, &held, &a, NULL), WEIR_OK);
    cr_assert_not_null(wi_arena_alloc(a, 65536, NULL));
    void *(*volatile used)(size_t) = malloc;
    cr_assert_neq(dladdr((void *)(uintptr_t)used, &info), 0);
    cr_assert_null(strstr(info.dli_fname, "jemalloc"), "%s", info.dli_fname);
    wi_arena_close(a);
}

/* Rings of one and of two units come and go at random. A free unit can always
 * be allocated, and the plan is never exceeded. */
Test(arena, a_hole_is_a_rings_least_whatever_came_before)
{
    enum { UNIT = 8192 + 1088, UNITS = 24, LINKS = 3 };
    const struct wi_budget plan = {.unit_bytes = UNIT,
                                   .usual_bytes = UNITS * (UNIT + 128),
                                   .area_bytes = UNITS * (UNIT + 128)};
    struct wi_arena *a = NULL;
    uint64_t held = 0;
    uint64_t cap = (uint64_t)LINKS * wi_align_up(UNITS * UNIT, WI_PAGE);
    uint8_t *block[LINKS * UNITS] = {0};
    size_t bytes[LINKS * UNITS];
    uint32_t used = 0; /* units */
    uint64_t random = 1;
    cr_assert_eq(wi_arena_open(&transport, cap, &held, &a, NULL), WEIR_OK);
    wi_arena_plan(a, &plan, LINKS);
    for (int turn = 0; turn < 20000; turn++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint32_t i = (uint32_t)(random >> 33) % (LINKS * UNITS);
        uint32_t units = (uint32_t)(random >> 60) % 2 + 1;
        if (block[i] != NULL) {
            used -= (uint32_t)((bytes[i] + UNIT - 1) / UNIT);
            memset(block[i], 0xa5, bytes[i]);
            wi_arena_free(a, block[i], bytes[i]);
            block[i] = NULL;
            continue;
        }
        if (used == LINKS * UNITS) {
            continue;
        }
        bytes[i] = units * UNIT - 960;
        block[i] = wi_arena_alloc(a, bytes[i], NULL);
        if (block[i] == NULL) {
            cr_assert_eq(units, 2, "turn %d, %u units used", turn, used);
            continue;
        }
        used += units;
        cr_assert(is_zero(block[i], bytes[i]), "turn %d", turn);
        memset(block[i], 0x5a, bytes[i]);
    }
    cr_assert_leq(held, cap);
    wi_arena_close(a);
    cr_assert_eq(given, 0);
}
