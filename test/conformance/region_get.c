/* SPDX-License-Identifier: Apache-2.0 */
/* Gets and puts of memory of the library. */
#include "test/conformance/region.h"

#include <pthread.h>
#include <stdlib.h>
#include <weir/stats.h>

#include "core/base/atomic.h"
#include "core/region/regions.h"

enum { SMALL = 100003 };

static void count_release(void *arg)
{
    _Atomic uint32_t *n = arg;
    (void)wi_add_rlx(n, 1); /* rlx: a count */
}

struct released_wait {
    struct wt_reads *r;
    _Atomic uint32_t *released;
};

/* The fetch looks meanwhile, as its worker would. */
static bool is_released(void *arg)
{
    struct released_wait *w = arg;
    struct weir_got got;
    (void)weir_fetch_next(w->r->fetch, &got);
    return wi_load_rlx(w->released) != 0; /* rlx: a count */
}

void wt_region_bytes_arrive_at_any_offset(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    static const uint64_t at[][2] = {
        {0, 1},       {0, 8},      {1, 1},         {3, 7},     {4095, 2},
        {8191, 4097}, {17, 70001}, {SMALL - 1, 1}, {0, SMALL}, {64, 64},
        {5, 65536},   {65535, 3},  {1000, 0},      {SMALL, 0},
    };
    static uint8_t dst[SMALL + 2];
    weir_region *region = wt_region(r, 1, 1, SMALL, 0);
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        memset(dst, 0xee, sizeof(dst));
        struct weir_got got = wt_get(r, 1,
                                     &(struct weir_get){.name = {7, 1},
                                                        .off = at[i][0],
                                                        .bytes = at[i][1],
                                                        .dst = dst + 1,
                                                        .tag = i + 40});
        cr_assert_eq(got.code, WEIR_OK, "%zu: %s", i,
                     weir_fetch_error(r->fetch));
        cr_assert_eq(got.bytes, at[i][1]);
        cr_assert_eq(got.region_bytes, SMALL);
        cr_assert_neq(got.incarnation, 0);
        cr_assert_eq(got.ptr, dst + 1);
        cr_assert_eq(got.lent, 0);
        cr_assert(wt_bytes_are(dst + 1, 1, at[i][0], at[i][1]), "%zu", i);
        cr_assert(dst[0] == 0xee && dst[at[i][1] + 1] == 0xee, "%zu", i);
    }
    weir_region_close(region);
    wt_reads_close(r);
}

/* Each length, parted by the end of a page at each place. */
void wt_region_short_gets_cross_pages(const struct wt_place *place)
{
    enum { LONGEST = 80, PAGE = 4096 };
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    static uint8_t dst[LONGEST][LONGEST];
    weir_region *region = wt_region(r, 1, 17, SMALL, 0);
    for (uint64_t n = 2; n <= LONGEST; n += n < 32 ? 1 : 16) {
        for (uint64_t k = 1; k < n; k++) {
            const struct weir_get get = {.name = {7, 17},
                                         .off = PAGE * (1 + k % 20) - k,
                                         .bytes = n,
                                         .dst = dst[k],
                                         .tag = k};
            uint32_t taken;
            cr_assert_eq(weir_fetch_get(r->fetch, r->peer[1], &get, 1, &taken),
                         WEIR_OK);
        }
        for (uint64_t k = 1; k < n; k++) {
            struct weir_got got = wt_next(r);
            uint64_t off = PAGE * (1 + got.tag % 20) - got.tag;
            cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
            cr_assert(wt_bytes_are(got.ptr, 17, off, n), "%u of %u bytes",
                      (unsigned)got.tag, (unsigned)n);
        }
    }
    weir_region_close(region);
    wt_reads_close(r);
}

void wt_region_lent_bytes_stay_until_release(const struct wt_place *place)
{
    enum { N = 20 };
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_region *region = wt_region(r, 1, 2, SMALL, 0);
    struct weir_got got[N];
    for (uint64_t i = 0; i < N; i++) {
        got[i] = wt_get(
            r, 1,
            &(struct weir_get){
                .name = {7, 2}, .off = i * 4999, .bytes = 4801 + i, .tag = i});
        cr_assert_eq(got[i].code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
        cr_assert_neq(got[i].lent, 0);
    }
    weir_region_close(region); /* what was lent stays */
    for (uint64_t i = 0; i < N; i++) {
        uint64_t k = i * 7 % N;
        cr_assert(wt_bytes_are(got[k].ptr, 2, k * 4999, 4801 + k));
        weir_fetch_release(r->fetch, &got[k]);
    }
    wt_reads_close(r);
}

/* Only what is mapped follows what its owner writes later. */
void wt_region_mapped_bytes_are_the_owners(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_region *region = wt_region(r, 1, 2, SMALL, 0);
    struct weir_got got = wt_get(
        r, 1, &(struct weir_get){.name = {7, 2}, .off = 100, .bytes = 9});
    cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
    volatile uint8_t *owned = weir_region_base(region);
    const volatile uint8_t *read = got.ptr;
    uint8_t was = owned[104];
    owned[104] = (uint8_t)~was;
    cr_assert_eq(read[4], (uint8_t)(got.mapped ? ~was : was));
    owned[104] = was;
    weir_fetch_release(r->fetch, &got);

    uint8_t dst[9];
    got = wt_get(
        r, 1,
        &(struct weir_get){.name = {7, 2}, .off = 100, .bytes = 9, .dst = dst});
    cr_assert_eq(got.mapped, 0);
    weir_region_close(region);
    wt_reads_close(r);
}

void wt_region_nothing_gets_the_length(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_region *region = wt_region(r, 1, 3, 12345, 0);
    for (uint64_t off = 0; off < 30000; off += 10000) {
        struct weir_got got = wt_get(
            r, 1, &(struct weir_get){.name = {7, 3}, .off = off, .tag = off});
        cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
        cr_assert(got.region_bytes == 12345 && got.bytes == 0);
    }
    weir_region_close(region);
    wt_reads_close(r);
}

void wt_region_rest_of_a_region_is_got(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_region *region = wt_region(r, 1, 4, 12345, 0);
    for (uint32_t i = 0; i < 3; i++) {
        struct weir_got got = wt_get(
            r, 1,
            &(struct weir_get){
                .name = {7, 4}, .off = 45, .bytes = UINT64_MAX, .tag = i});
        cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
        cr_assert_eq(got.bytes, 12300);
        cr_assert(wt_bytes_are(got.ptr, 4, 45, 12300));
        weir_fetch_release(r->fetch, &got);
    }
    weir_region_close(region);
    wt_reads_close(r);
}

void wt_region_bytes_beyond_the_end_are_refused(const struct wt_place *place)
{
    static const uint64_t at[][2] = {
        {0, 1001},           {999, 2},        {1000, 1},         {5000, 10},
        {1, UINT64_MAX - 1}, {UINT64_MAX, 1}, {2000, UINT64_MAX}};
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_region *region = wt_region(r, 1, 5, 1000, 0);
    uint8_t dst[16];
    for (uint32_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
            struct weir_got got = wt_get(
                r, 1,
                &(struct weir_get){.name = {7, 5},
                                   .off = at[i][0],
                                   .bytes = at[i][1],
                                   .dst = at[i][1] != UINT64_MAX ? dst : NULL,
                                   .tag = i});
            cr_assert_eq(got.code, WEIR_ERR_ARG, "%zu: %s", i,
                         weir_err_name(got.code));
            cr_assert_not_null(
                strstr(weir_fetch_error(r->fetch), "of a region of 1000"));
        }
        struct weir_got good = wt_get(
            r, 1, &(struct weir_get){.name = {7, 5}, .bytes = 10, .dst = dst});
        cr_assert_eq(good.code, WEIR_OK);
    }
    weir_region_close(region);
    wt_reads_close(r);
}

void wt_region_unknown_name_is_an_error(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    uint8_t dst[16];
    for (uint32_t node = 0; node < 2; node++) {
        struct weir_got got = wt_get(
            r, node,
            &(struct weir_get){.name = {7, 66}, .bytes = 10, .dst = dst});
        cr_assert_eq(got.code, WEIR_ERR_NOT_FOUND);
        cr_assert_not_null(strstr(weir_fetch_error(r->fetch), "7/66"));
        cr_assert_not_null(strstr(weir_fetch_error(r->fetch), r->c.name[node]),
                           "%s", weir_fetch_error(r->fetch));
    }
    wt_reads_close(r);
}

void wt_region_own_region_is_got(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_region *region = wt_region(r, 0, 6, SMALL, 0);
    for (uint32_t i = 0; i < 3; i++) {
        struct weir_got got =
            wt_get(r, 0,
                   &(struct weir_get){
                       .name = {7, 6}, .off = 11, .bytes = 5001, .tag = i});
        cr_assert_eq(got.code, WEIR_OK);
        cr_assert(wt_bytes_are(got.ptr, 6, 11, 5001));
        weir_fetch_release(r->fetch, &got);
    }
    struct weir_got last =
        wt_get(r, 0, &(struct weir_get){.name = {7, 6}, .off = 9, .bytes = 51});
    weir_region_close(region);
    cr_assert(wt_bytes_are(last.ptr, 6, 9, 51), "it is lent");
    weir_fetch_release(r->fetch, &last);
    wt_reads_close(r);
}

void wt_region_names_are_used_once(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    const struct weir_region_params p = {.bytes = 10};
    const struct weir_name name = {7, 8};
    weir_region *region = wt_region(r, 1, 8, 10, 0);
    weir_region *other = NULL;
    struct weir_error err;
    cr_assert_eq(weir_region_open(r->c.node[1], &p, &other, &err), WEIR_OK);
    cr_assert_eq(weir_region_publish(other, &name, &err), WEIR_ERR_DUPLICATE);
    cr_assert_not_null(strstr(err.message, "7/8"));
    cr_assert_eq(weir_region_publish(region, &name, &err), WEIR_ERR_STATE);
    weir_region_close(region);
    cr_assert_eq(weir_region_publish(other, &name, &err), WEIR_OK);
    weir_region_close(other);
    wt_reads_close(r);
}

void wt_region_region_closed_under_gets(const struct wt_place *place)
{
    enum { N = 16, BYTES = 300001 };
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    struct weir_get get[N];
    for (uint32_t round = 0; round < 8; round++) {
        weir_region *region = wt_region(r, 1, 9, BYTES, 0);
        uint32_t taken = 0;
        for (uint64_t i = 0; i < N; i++) {
            get[i] = (struct weir_get){
                .name = {7, 9}, .off = i, .bytes = BYTES - N, .tag = i};
        }
        cr_assert_eq(weir_fetch_get(r->fetch, r->peer[1], get, N, &taken),
                     WEIR_OK);
        for (uint32_t i = 0; i < N; i++) {
            if (i == round) {
                weir_region_close(region);
            }
            struct weir_got got = wt_next(r);
            cr_assert(got.code == WEIR_OK || got.code == WEIR_ERR_NOT_FOUND,
                      "%s", weir_fetch_error(r->fetch));
            if (got.code == WEIR_OK) {
                cr_assert(
                    wt_bytes_are(got.ptr, 9, get[got.tag].off, BYTES - N));
            }
            weir_fetch_release(r->fetch, &got);
        }
    }
    wt_reads_close(r);
}

void wt_region_large_get_is_whole(const struct wt_place *place)
{
    enum { BYTES = (20 << 20) + 3 }; /* more than max_bytes: alone */
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_region *region = wt_region(r, 1, 10, BYTES, 0);
    uint8_t *dst = malloc(BYTES);
    struct weir_got got =
        wt_get(r, 1,
               &(struct weir_get){
                   .name = {7, 10}, .off = 1, .bytes = BYTES - 1, .dst = dst});
    cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
    cr_assert(wt_bytes_are(dst, 10, 1, BYTES - 1));
    free(dst);
    weir_region_close(region);
    wt_reads_close(r);
}

void wt_region_hundreds_of_gets_at_once(const struct wt_place *place)
{
    enum { N = 500, REGIONS = 40 };
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_region *region[REGIONS];
    struct weir_get get[N];
    uint32_t taken = 0;
    for (uint64_t i = 0; i < REGIONS; i++) {
        region[i] = wt_region(r, 1, 100 + i, 10000, 0);
    }
    for (uint64_t i = 0; i < N; i++) {
        get[i] = (struct weir_get){.name = {7, 100 + i % REGIONS},
                                   .off = i * 3,
                                   .bytes = 1 + i,
                                   .tag = i};
    }
    for (uint32_t round = 0; round < 3; round++) {
        bool seen[N] = {false};
        cr_assert_eq(weir_fetch_get(r->fetch, r->peer[1], get, N, &taken),
                     WEIR_OK);
        for (uint32_t i = 0; i < N; i++) {
            struct weir_got got = wt_next(r);
            cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
            cr_assert(wt_bytes_are(got.ptr, 100 + got.tag % REGIONS,
                                   got.tag * 3, 1 + got.tag));
            cr_assert_not(seen[got.tag]);
            seen[got.tag] = true;
            weir_fetch_release(r->fetch, &got);
        }
        cr_assert_eq(weir_fetch_next(r->fetch, &r->got), WEIR_DONE);
    }
    for (uint64_t i = 0; i < REGIONS; i++) {
        weir_region_close(region[i]);
    }
    wt_reads_close(r);
}

/* FINDs that node 0 has sent, and pieces that it has in mind. */
static uint32_t finds(struct wt_reads *r, uint32_t *pieces)
{
    struct wi_engine *e = &r->c.node[0]->engine;
    uint32_t n = 0;
    wi_node_lock(r->c.node[0]);
    wi_list_each(s, &e->regions->shares)
    {
        n += wi_container_of(s, struct wi_share, on_regions)->last_call;
    }
    *pieces = e->regions->n_pieces;
    wi_node_unlock(r->c.node[0]);
    return n;
}

/* Get 100 bytes of the regions from..to-1, all at once. True: the last one was
 * mapped. */
static bool get_of_each(struct wt_reads *r, uint64_t from, uint64_t to)
{
    enum { MOST = 1000 };
    static struct weir_get get[MOST];
    static uint8_t dst[MOST][100];
    uint32_t n = (uint32_t)(to - from);
    uint32_t taken = 0;
    bool mapped = false;
    for (uint64_t i = 0; i < n; i++) {
        get[i] = (struct weir_get){
            .name = {7, from + i}, .off = i % 50, .bytes = 100, .tag = i};
        get[i].dst = i % 2 != 0 ? dst[i] : NULL;
    }
    cr_assert_eq(weir_fetch_get(r->fetch, r->peer[1], get, n, &taken), WEIR_OK);
    for (uint32_t i = 0; i < n; i++) {
        struct weir_got got = wt_next(r);
        cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
        cr_assert(wt_bytes_are(got.ptr, from + got.tag, got.tag % 50, 100));
        mapped = mapped || got.mapped != 0;
        weir_fetch_release(r->fetch, &got);
    }
    return mapped;
}

/* What is posted is found once; what is mapped is bounded by mappings. */
void wt_region_hundreds_of_regions_stay_found(const struct wt_place *place)
{
    enum { N = 300, FIRST = 1000 };
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_region *region[N + 1];
    uint32_t pieces = 0;
    for (uint64_t i = 0; i <= N; i++) {
        region[i] = wt_region(r, 1, FIRST + i, 150, 0);
    }
    bool mapped = get_of_each(r, FIRST, FIRST + N);
    uint32_t first = finds(r, &pieces);
    cr_assert_eq(first, N);
    (void)get_of_each(r, FIRST, FIRST + N);
    (void)get_of_each(r, FIRST, FIRST + N);
    uint32_t then = finds(r, &pieces);
    if (!mapped) {
        cr_assert_eq(pieces, N);
        cr_assert_eq(then, first, "%u FINDs more", then - first);
    }
    /* Room is made when one more is found, of those that nobody uses then. */
    (void)get_of_each(r, FIRST + N, FIRST + N + 1);
    then = finds(r, &pieces);
    if (mapped) {
        cr_assert_leq(pieces, WI_PIECES_OF_LINK);
    } else {
        cr_assert_eq(pieces, N + 1);
        cr_assert_eq(then, first + 1);
    }
    for (uint64_t i = 0; i <= N; i++) {
        weir_region_close(region[i]);
    }
    for (uint64_t i = 0; i <= N; i++) {
        struct weir_got got;
        do { /* until it is revoked */
            got = wt_get(
                r, 1, &(struct weir_get){.name = {7, FIRST + i}, .bytes = 10});
            weir_fetch_release(r->fetch, &got);
        } while (got.code == WEIR_OK);
        cr_assert_eq(got.code, WEIR_ERR_NOT_FOUND);
    }
    (void)finds(r, &pieces);
    cr_assert_eq(pieces, 0);
    wt_reads_close(r);
}

void wt_region_pieces_of_a_node_are_bounded(const struct wt_place *place)
{
    enum { MORE = 3000, N = WI_PIECES_OF_NODE + MORE, BATCH = 1000 };
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_region **region = calloc(N, sizeof(*region));
    uint8_t *bytes = malloc((size_t)N * 150);
    struct weir_error err;
    uint32_t pieces = 0;
    cr_assert(region != NULL && bytes != NULL);
    for (uint64_t i = 0; i < N; i++) {
        const struct weir_region_params p = {.kind = WEIR_REGION_BORROWED,
                                             .base = bytes + i * 150,
                                             .bytes = 150};
        for (uint64_t k = 0; k < 150; k++) {
            bytes[i * 150 + k] = wt_byte(i, k);
        }
        cr_assert_eq(weir_region_open(r->c.node[1], &p, &region[i], &err),
                     WEIR_OK, "%s", err.message);
        cr_assert_eq(
            weir_region_publish(region[i], &(struct weir_name){7, i}, &err),
            WEIR_OK, "%s", err.message);
    }
    for (uint64_t i = 0; i < N; i += BATCH) {
        (void)get_of_each(r, i, wi_min_u64(i + BATCH, N));
    }
    uint32_t all = finds(r, &pieces);
    cr_assert_eq(all, N);
    cr_assert_eq(pieces, WI_PIECES_OF_NODE);
    (void)get_of_each(r, N - BATCH, N);
    cr_assert_eq(finds(r, &pieces), all, "the last ones are kept");
    (void)get_of_each(r, 0, BATCH);
    cr_assert_eq(finds(r, &pieces), all + BATCH, "the first ones are not");
    cr_assert_eq(pieces, WI_PIECES_OF_NODE);
    for (uint64_t i = 0; i < N; i++) {
        weir_region_close(region[i]);
    }
    wt_reads_close(r);
    free(region);
    free(bytes);
}

void wt_region_bytes_in_flight_are_bounded(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(
        place, 0, &(struct weir_fetch_params){.max_bytes = 10000});
    weir_region *region = wt_region(r, 1, 11, SMALL, 0);
    const struct weir_get get[4] = {{.name = {7, 11}, .bytes = 4000},
                                    {.name = {7, 11}, .bytes = 4000},
                                    {.name = {7, 11}, .bytes = 4000},
                                    {.name = {7, 11}, .bytes = 50000}};
    uint32_t taken = 9;
    cr_assert_eq(weir_fetch_get(r->fetch, r->peer[1], get, 4, &taken),
                 WEIR_AGAIN);
    cr_assert_eq(taken, 2);
    struct weir_got a = wt_next(r);
    struct weir_got b = wt_next(r);
    cr_assert_eq(weir_fetch_get(r->fetch, r->peer[1], get, 1, &taken),
                 WEIR_AGAIN, "lent bytes count");
    weir_fetch_release(r->fetch, &a);
    cr_assert_eq(weir_fetch_get(r->fetch, r->peer[1], get + 3, 1, &taken),
                 WEIR_AGAIN);
    weir_fetch_release(r->fetch, &b);
    cr_assert_eq(weir_fetch_get(r->fetch, r->peer[1], get + 3, 1, &taken),
                 WEIR_OK, "alone");
    struct weir_got c = wt_next(r);
    cr_assert(c.code == WEIR_OK && wt_bytes_are(c.ptr, 11, 0, 50000));
    weir_fetch_release(r->fetch, &c);
    weir_region_close(region);
    wt_reads_close(r);
}

void wt_region_fetch_closed_with_gets_under_way(const struct wt_place *place)
{
    enum { N = 8 };
    static uint8_t dst[N][300000];
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_region *region = wt_region(r, 1, 12, 300000, 0);
    for (uint32_t round = 0; round < 4; round++) {
        weir_fetch *f = wt_fetch_of(r, 0, NULL);
        for (uint32_t i = 0; i < N; i++) {
            uint32_t taken;
            const struct weir_get get = {
                .name = {7, 12}, .bytes = sizeof(dst[i]), .dst = dst[i]};
            cr_assert_eq(weir_fetch_get(f, r->peer[1], &get, 1, &taken),
                         WEIR_OK);
        }
        if (round > 1) {
            struct weir_got got = wt_next_of(r, f);
            cr_assert_eq(got.code, WEIR_OK);
        }
        weir_fetch_close(f);
        memset(dst, (int)round, sizeof(dst));
        struct weir_got got =
            wt_get(r, 1, &(struct weir_get){.name = {7, 12}, .bytes = 64});
        cr_assert_eq(got.code, WEIR_OK);
        weir_fetch_release(r->fetch, &got);
        for (size_t i = 0; i < sizeof(dst); i++) {
            cr_assert_eq(((uint8_t *)dst)[i], round, "written after the close");
        }
    }
    weir_region_close(region);
    wt_reads_close(r);
}

/* Its answer, which grants nothing, comes when nobody waits for it. */
void wt_region_fetch_closed_with_a_get_beyond_the_end(
    const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_region *region = wt_region(r, 1, 16, 1000, 0);
    const struct weir_get get = {.name = {7, 16}, .off = 5000, .bytes = 1};
    struct weir_node_stats stats;
    uint32_t taken;
    cr_assert_eq(wt_get(r, 1, &get).code, WEIR_ERR_ARG); /* the link is open */
    for (uint32_t i = 0; i < 20; i++) {
        weir_fetch *f = wt_fetch_of(r, 0, NULL);
        cr_assert_eq(weir_fetch_get(f, r->peer[1], &get, 1, &taken), WEIR_OK);
        weir_fetch_close(f);
        cr_assert_eq(wt_get(r, 1, &get).code, WEIR_ERR_ARG, "%s",
                     weir_fetch_error(r->fetch));
    }
    weir_node_stats_get(r->c.node[0], &stats);
    cr_assert_eq(stats.links_lost, 0);
    weir_region_close(region);
    wt_reads_close(r);
}

/* Round 0 closes the region, too, before the bytes are read. */
void wt_region_fetch_closed_with_bytes_lent(const struct wt_place *place)
{
    enum { N = 5 };
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    for (uint64_t round = 0; round < 3; round++) {
        weir_region *region = wt_region(r, 1, 18 + round, SMALL, 0);
        weir_fetch *f = wt_fetch_of(r, 0, NULL);
        struct weir_got got[N];
        uint32_t taken;
        for (uint64_t i = 0; i < N; i++) {
            const struct weir_get get = {
                .name = {7, 18 + round}, .off = i * 448, .bytes = 50000};
            cr_assert_eq(weir_fetch_get(f, r->peer[1], &get, 1, &taken),
                         WEIR_OK);
            got[i] = wt_next_of(r, f);
            cr_assert_neq(got[i].lent, 0, "%s", weir_fetch_error(f));
            cr_assert(get.off % 64 != 0 || (uintptr_t)got[i].ptr % 64 == 0);
        }
        weir_fetch_release(f, &got[2]);
        if (round == 0) {
            weir_region_close(region);
        }
        weir_fetch_close(f);
        for (uint64_t i = 0; i < N; i++) {
            uint64_t k = N - 1 - i;
            if (k != 2) {
                cr_assert(wt_bytes_are(got[k].ptr, 18 + round, k * 448, 50000));
                weir_fetch_release(f, &got[k]);
            }
        }
        if (round != 0) {
            weir_region_close(region);
        }
    }
    wt_reads_close(r);
}

struct releases {
    weir_fetch *fetch;
    struct weir_got got[32];
};

static void *release_all(void *arg)
{
    struct releases *s = arg;
    for (size_t i = 0; i < sizeof(s->got) / sizeof(s->got[0]); i++) {
        weir_fetch_release(s->fetch, &s->got[i]);
    }
    return NULL;
}

/* Another thread releases while this one closes. */
void wt_region_fetch_closed_under_releases(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_region *region = wt_region(r, 1, 21, SMALL, 0);
    for (uint32_t round = 0; round < 20; round++) {
        struct releases s = {.fetch = wt_fetch_of(r, 0, NULL)};
        pthread_t thread;
        for (size_t i = 0; i < sizeof(s.got) / sizeof(s.got[0]); i++) {
            const struct weir_get get = {.name = {7, 21}, .bytes = 5000};
            uint32_t taken;
            cr_assert_eq(weir_fetch_get(s.fetch, r->peer[1], &get, 1, &taken),
                         WEIR_OK);
            s.got[i] = wt_next_of(r, s.fetch);
            cr_assert_neq(s.got[i].lent, 0, "%s", weir_fetch_error(s.fetch));
        }
        int rc = pthread_create(&thread, NULL, release_all, &s);
        cr_assert_eq(rc, 0);
        weir_fetch_close(s.fetch);
        (void)pthread_join(thread, NULL);
    }
    weir_region_close(region);
    wt_reads_close(r);
}

static void count_left_open(void *arg, weir_log_level level, const char *line)
{
    _Atomic uint32_t *lines = arg;
    *lines += level == WEIR_LOG_ERROR &&
              strstr(line, "node closed with 1 regions") != NULL;
}

/* The node says so. */
void wt_region_regions_left_open_end_with_the_node(const struct wt_place *place)
{
    _Atomic uint32_t lines = 0;
    struct wt_reads *r = wt_reads_open_on(
        place,
        &(struct wt_cluster_params){
            .node = {.log = count_left_open, .log_arg = &lines}},
        NULL);
    (void)wt_region(r, 1, 13, 1000, 0);
    struct weir_got got =
        wt_get(r, 1, &(struct weir_get){.name = {7, 13}, .bytes = 64});
    cr_assert_eq(got.code, WEIR_OK);
    weir_fetch_release(r->fetch, &got);
    wt_reads_close(r);
    cr_assert_eq(lines, 1);
}

void wt_region_put_is_read_by_a_third(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 3, NULL);
    weir_region *region = wt_region(r, 1, 14, SMALL, 1);
    weir_fetch *f2 = wt_fetch_of(r, 2, NULL);
    weir_peer *p2 = wt_peer_of(r, 2, 1);
    static uint8_t src[SMALL];
    for (uint32_t i = 0; i < 5; i++) {
        const struct weir_put put = {.name = {7, 14},
                                     .off = i * 7,
                                     .bytes = 20001 + i,
                                     .src = src,
                                     .tag = i};
        const struct weir_get get = {
            .name = {7, 14}, .off = i * 7, .bytes = 20001 + i};
        uint32_t taken;
        memset(src, (int)i + 1, sizeof(src));
        cr_assert_eq(weir_fetch_put(r->fetch, r->peer[1], &put, 1, &taken),
                     WEIR_OK);
        struct weir_got got = wt_next(r);
        cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
        cr_assert(got.tag == i && got.bytes == put.bytes);
        cr_assert_eq(weir_fetch_get(f2, p2, &get, 1, &taken), WEIR_OK);
        got = wt_next_of(r, f2);
        cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(f2));
        cr_assert_eq(memcmp(got.ptr, src, got.bytes), 0);
        weir_fetch_release(f2, &got);
    }
    weir_fetch_close(f2);
    weir_peer_close(p2);
    weir_region_close(region);
    wt_reads_close(r);
}

void wt_region_put_into_what_is_read_only_is_refused(
    const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_region *region = wt_region(r, 1, 15, 1000, 0);
    for (uint32_t i = 0; i < 2; i++) {
        const struct weir_put put = {
            .name = {7, 15}, .bytes = 6, .src = "abcdef"};
        uint32_t taken;
        cr_assert_eq(weir_fetch_put(r->fetch, r->peer[1], &put, 1, &taken),
                     WEIR_OK);
        struct weir_got got = wt_next(r);
        cr_assert_eq(got.code, WEIR_ERR_STATE, "%s",
                     weir_fetch_error(r->fetch));
        got = wt_get(r, 1, &(struct weir_get){.name = {7, 15}, .bytes = 6});
        cr_assert(got.code == WEIR_OK && wt_bytes_are(got.ptr, 15, 0, 6));
        weir_fetch_release(r->fetch, &got);
    }
    weir_region_close(region);
    wt_reads_close(r);
}

/* Memory of the program, at an odd address. */
void wt_region_borrowed_memory_is_got_and_released_once(
    const struct wt_place *place)
{
    enum { BYTES = (5 << 20) + 77, AT = (1 << 20) - 5 };
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    uint8_t *own = malloc(BYTES + 1);
    uint8_t *dst = malloc(BYTES);
    struct weir_error err;
    for (uint64_t i = 0; i < BYTES; i++) {
        own[i + 1] = wt_byte(60, i);
    }
    _Atomic uint32_t released[2] = {0, 0};
    for (uint32_t node = 0; node < 2; node++) {
        const struct weir_region_params p = {.kind = WEIR_REGION_BORROWED,
                                             .base = own + 1,
                                             .bytes = BYTES,
                                             .release = count_release,
                                             .release_arg = &released[node]};
        const struct weir_name name = {7, 60};
        weir_region *region = NULL;
        cr_assert_eq(weir_region_open(r->c.node[node], &p, &region, &err),
                     WEIR_OK, "%s", err.message);
        cr_assert_eq(weir_region_publish(region, &name, &err), WEIR_OK);
        struct weir_got got = wt_get(
            r, node,
            &(struct weir_get){.name = name, .bytes = BYTES, .dst = dst});
        cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
        cr_assert(wt_bytes_are(dst, 60, 0, BYTES));
        for (uint32_t i = 0; i < 2; i++) { /* across two copies; in one */
            got = wt_get(r, node,
                         &(struct weir_get){
                             .name = name, .off = AT + i * 9, .bytes = 70001});
            cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
            cr_assert(wt_bytes_are(got.ptr, 60, AT + i * 9, 70001));
            weir_fetch_release(r->fetch, &got);
        }
        cr_assert_eq(released[node], 0);
        weir_region_close(region);
        struct released_wait w = {r, &released[node]};
        cr_assert(wt_until(&r->c, is_released, &w), "not released");
        cr_assert_eq(released[node], 1);
    }
    free(own);
    free(dst);
    wt_reads_close(r);
}

/* What is copied for who maps memory is bounded; old copies make room. */
void wt_region_borrowed_memory_is_larger_than_what_copies_may_take(
    const struct wt_place *place)
{
    enum { BYTES = 12 << 20 };
    struct wt_reads *r = wt_reads_open_small(place, 4 << 20);
    uint8_t *own = malloc(BYTES);
    uint8_t *dst = malloc(BYTES);
    const struct weir_region_params p = {
        .kind = WEIR_REGION_BORROWED, .base = own, .bytes = BYTES};
    const struct weir_name name = {7, 61};
    weir_region *region = NULL;
    struct weir_error err;
    for (uint64_t i = 0; i < BYTES; i++) {
        own[i] = wt_byte(61, i);
    }
    cr_assert_eq(weir_region_open(r->c.node[1], &p, &region, &err), WEIR_OK,
                 "%s", err.message);
    cr_assert_eq(weir_region_publish(region, &name, &err), WEIR_OK);
    for (uint32_t i = 0; i < 2; i++) {
        struct weir_got got = wt_get(
            r, 1, &(struct weir_get){.name = name, .bytes = BYTES, .dst = dst});
        cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
        cr_assert(wt_bytes_are(dst, 61, 0, BYTES));
    }
    weir_region_close(region);
    wt_reads_close(r);
    free(own);
    free(dst);
}
