/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/cc.h"
#include "core/format/frame.h"
#include "core/format/frame_build.h"
#include "core/format/frame_check.h"
#include "core/format/import.h"
#include "core/partition/partition.h"
#include "core/partition/partition_hash.h"
#include "core/partition/partition_lists.h"

#include <math.h>

#include "test/unit/core/format/batch_fixture.h"

static const struct weir_field int64_field = {"k", "l", 0};
static const char *const key_k[] = {"k"};

static struct wi_partition *
open_partition(const struct wi_schema *s,
               const struct wi_partition_params *params)
{
    struct wi_partition *p = NULL;
    struct weir_error err = {0};
    cr_assert_eq(wi_partition_open(s, params, &p, &err), WEIR_OK, "%s",
                 err.message);
    return p;
}

/* Destination of each row of one split; checks that the lists hold every row
 * exactly once, ascending. */
static void read_split(const struct wi_split *split, uint32_t n_dest,
                       uint32_t *dest_out)
{
    uint32_t total = 0;
    memset(dest_out, 0xff, split->n * sizeof(*dest_out));
    for (uint32_t d = 0; d < n_dest; d++) {
        const uint32_t *list = split->idx + split->begin[d];
        for (uint32_t i = 0; i < split->count[d]; i++) {
            cr_assert(list[i] >= split->first &&
                      list[i] < split->first + split->n);
            cr_assert(i == 0 || list[i] > list[i - 1], "not ascending");
            cr_assert_eq(dest_out[list[i] - split->first], UINT32_MAX);
            dest_out[list[i] - split->first] = d;
        }
        total += split->count[d];
    }
    cr_assert_eq(total, split->n);
}

/* ---- hash ---------------------------------------------------------------- */

static uint64_t reference_word(const struct wi_column *c,
                               const struct wi_view *v, uint64_t row,
                               uint64_t seed)
{
    uint64_t word;
    wi_key_words(c, v, row, 1, seed, &word);
    return word;
}

static void expect_reference(const struct wt_batch *t, uint64_t seed,
                             uint32_t n_dest, uint32_t n_keys, uint32_t first,
                             uint32_t n)
{
    static uint32_t dest[WI_SPLIT_ROWS];
    const char *keys[WT_MAX_COLUMNS];
    for (uint32_t k = 0; k < n_keys; k++) {
        keys[k] = t->schema->columns[k].name;
    }
    struct wi_partition_params params = {.kind = WEIR_HASH,
                                         .n_dest = n_dest,
                                         .keys = keys,
                                         .n_keys = n_keys,
                                         .seed = seed};
    struct wi_partition *p = open_partition(t->schema, &params);
    for (int isa = 0; isa <= (int)wi_isa_best(); isa++) {
        struct wi_split split;
        wi_partition_set_isa(p, (enum wi_isa)isa);
        wi_partition_split(p, t->views, first, n, NULL, &split);
        cr_assert_eq(split.first, first);
        cr_assert_eq(split.n, n);
        if (n_dest == 1) {
            cr_assert_null(split.idx);
            cr_assert_eq(split.count[0], n);
            continue;
        }
        read_split(&split, n_dest, dest);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t h = 0;
            for (uint32_t k = 0; k < n_keys; k++) {
                uint64_t v = reference_word(&t->schema->columns[k],
                                            &t->views[k], first + i, seed);
                uint64_t y = v ^ h ^ wi_splitmix(seed);
                uint64_t x = (y ^ (y >> 29)) * 0xbf58476d1ce4e5b9u;
                h = (x ^ (x >> 32)) * (wi_splitmix(seed + 1) | 1);
            }
            uint32_t want = (uint32_t)(((h >> 32) * n_dest) >> 32);
            cr_assert_eq(dest[i], want, "isa %d row %u of %u: %u, not %u", isa,
                         i, n, dest[i], want);
        }
    }
    wi_partition_close(p);
}

/* Not only those that are taken: what is measured has to be right, too. */
Test(partition, every_way_makes_the_same_lists)
{
    static uint32_t want[WI_SPLIT_ROWS];
    static uint32_t got[WI_SPLIT_ROWS];
    enum { ROWS = 1500 };
    struct weir_field field = {"k", "l", 0};
    const char *key = "k";
    struct wt_batch t;
    wt_open_schema(&t, 5, &field, 1);
    wt_random_batch(&t, ROWS, 1);
    for (uint32_t n_dest = 2; n_dest <= WI_LISTS_DIRECT + 1; n_dest++) {
        struct wi_partition_params params = {
            .kind = WEIR_HASH, .n_dest = n_dest, .keys = &key, .n_keys = 1};
        struct wi_partition *p = open_partition(t.schema, &params);
        struct wi_split split;
        const struct wi_way *way;
        wi_partition_set_isa(p, WI_ISA_PORTABLE);
        wi_partition_split(p, t.views, 1, ROWS - 2, NULL, &split);
        read_split(&split, n_dest, want);
        wi_partition_set_isa(p, wi_isa_best());
        for (uint32_t i = 0; (way = wi_way_at(i)) != NULL; i++) {
            if (way->isa > wi_isa_best() || n_dest > way->can) {
                continue;
            }
            p->way = way;
            wi_partition_split(p, t.views, 1, ROWS - 2, NULL, &split);
            read_split(&split, n_dest, got);
            cr_assert_eq(memcmp(want, got, sizeof(uint32_t) * (ROWS - 2)), 0,
                         "%s, %u destinations", way->name, n_dest);
        }
        wi_partition_close(p);
    }
    wt_close(&t);
}

/* What scatters its rows asks for the destinations alone. */
Test(partition, destinations_alone_are_those_of_the_lists)
{
    static uint32_t want[WI_SPLIT_ROWS];
    enum { ROWS = 500, DESTS = 37 };
    struct wi_partition_params params = {
        .kind = WEIR_HASH, .n_dest = DESTS, .keys = key_k, .n_keys = 1};
    struct wt_batch t;
    struct wi_split split;
    wt_open_schema(&t, 5, &int64_field, 1);
    wt_random_batch(&t, ROWS, 1);
    struct wi_partition *p = open_partition(t.schema, &params);
    struct wi_partition *lists = open_partition(t.schema, &params);
    wi_partition_split(lists, t.views, 1, ROWS - 1, NULL, &split);
    read_split(&split, DESTS, want);
    const uint16_t *dest = wi_partition_dest(p, t.views, 1, ROWS - 1, NULL);
    cr_assert_not_null(dest);
    for (uint32_t i = 0; i < ROWS - 1; i++) {
        cr_assert_eq(dest[i], want[i], "row %u", i);
    }
    wi_partition_close(p);
    wi_partition_close(lists);
    params.kind = WEIR_ROUND_ROBIN;
    p = open_partition(t.schema, &params);
    cr_assert_null(wi_partition_dest(p, t.views, 0, ROWS, NULL));
    wi_partition_close(p);
    params.kind = WEIR_BROADCAST;
    p = open_partition(t.schema, &params);
    cr_assert_null(wi_partition_dest(p, t.views, 0, ROWS, NULL));
    wi_partition_close(p);
    wt_close(&t);
}

Test(partition, every_kernel_sends_each_row_where_the_hash_says)
{
    static const uint32_t dests[] = {1,  2,  3,  5,  8,   12,   13,
                                     24, 25, 32, 33, 100, 65536};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct wt_batch t;
        wt_random_schema(&t, seed);
        wt_random_batch(&t, 2500, 40);
        uint32_t n_keys = 1 + (uint32_t)(wt_random(&t) % t.n_columns);
        uint32_t n = (uint32_t)(wt_random(&t) % (WI_SPLIT_ROWS + 1));
        uint32_t first = (uint32_t)(wt_random(&t) % (2500 - n + 1));
        expect_reference(&t, seed, dests[seed % WI_ARRAY_LEN(dests)], n_keys,
                         first, n);
        wt_close(&t);
    }
}

/* One destination gets all of a block: more than one vector of numbers. */
Test(partition, equal_keys_fill_one_list_in_order)
{
    struct wt_batch t;
    wt_open_schema(&t, 3, &int64_field, 1);
    wt_random_batch(&t, WI_SPLIT_ROWS, 0);
    memset((void *)(uintptr_t)t.views[0].values, 0x5a, WI_SPLIT_ROWS * 8);
    for (uint32_t n_dest = 2; n_dest < 40; n_dest += 3) {
        expect_reference(&t, n_dest, n_dest, 1, 0, WI_SPLIT_ROWS);
        expect_reference(&t, n_dest, n_dest, 1, 5, 333);
    }
    wt_close(&t);
}

Test(partition, the_loop_for_one_int64_key_agrees_at_every_length)
{
    struct wt_batch t;
    wt_open_schema(&t, 3, &int64_field, 1);
    wt_random_batch(&t, 2100, 0);
    for (uint32_t n = 0; n <= 140; n++) {
        expect_reference(&t, n, 2 + n % 23, 1, n, n);
        expect_reference(&t, n, 8, 1, n, n);
        expect_reference(&t, n, 13 + n % 30, 1, n, n);
    }
    expect_reference(&t, 5, 8, 1, 3, WI_SPLIT_ROWS);
    expect_reference(&t, 5, 12, 1, 0, WI_SPLIT_ROWS);
    expect_reference(&t, 5, 24, 1, 7, WI_SPLIT_ROWS);
    expect_reference(&t, 5, 64, 1, 52, WI_SPLIT_ROWS);
    expect_reference(&t, 5, 65536, 1, 52, WI_SPLIT_ROWS - 3);
    wt_close(&t);
}

/* Upper halves from hashes, at each level and every length. */
Test(partition, hashes_become_the_same_destinations_at_every_level)
{
    static const uint32_t dests[] = {2, 7, 33, 1024, 32769, 65536};
    enum { MOST = 67, GUARD = 0xa5a5 };
    struct wt_batch t;
    uint64_t hashes[MOST];
    wt_open_schema(&t, 3, &int64_field, 1);
    for (size_t d = 0; d < WI_ARRAY_LEN(dests); d++) {
        struct wi_partition_params params = {.kind = WEIR_RANDOM,
                                             .n_dest = dests[d]};
        struct wi_partition *p = open_partition(t.schema, &params);
        for (uint32_t n = 0; n < MOST; n++) {
            hashes[n] = n == 0 ? UINT64_MAX : wt_random(&t);
            for (int isa = 0; isa <= (int)wi_isa_best(); isa++) {
                uint16_t dest[MOST] = {[MOST - 1] = 0};
                dest[n] = GUARD;
                wi_partition_set_isa(p, (enum wi_isa)isa);
                wi_hash_reduce(p, hashes, n, dest);
                for (uint32_t i = 0; i < n; i++) {
                    cr_assert_eq(dest[i], wi_hash_dest(hashes[i], dests[d]),
                                 "isa %d, %u of %u", isa, i, n);
                }
                cr_assert_eq(dest[n], GUARD, "isa %d wrote beyond %u", isa, n);
            }
        }
        wi_partition_close(p);
    }
    wt_close(&t);
}

Test(partition, all_rows_to_one_of_many_destinations)
{
    static uint64_t keys[WI_SPLIT_ROWS];
    struct wt_batch t;
    wt_open_schema(&t, 3, &int64_field, 1);
    t.views[0] = (struct wi_view){.values = keys};
    for (uint32_t n_dest = 2; n_dest < 70; n_dest++) {
        expect_reference(&t, n_dest, n_dest, 1, 0, WI_SPLIT_ROWS);
    }
    wt_close(&t);
}

/* The wire contract: values from the formulas in partition_impl.h, computed by
 * another program. */
Test(partition, known_hashes_do_not_change)
{
    cr_assert_eq(wi_splitmix(0), 0xe220a8397b1dcdafu);
    cr_assert_eq(wi_splitmix(UINT64_MAX - 0x9e3779b97f4a7c15u + 1), 0);
    uint64_t k0 = wi_splitmix(0);
    uint64_t k1 = wi_splitmix(1) | 1;
    cr_assert_eq(k0, 0xe220a8397b1dcdafu);
    cr_assert_eq(k1, 0x910a2dec89025cc1u);
    cr_assert_eq(wi_hash_word(42, k0, k1), 0x70398d79b5e74030u);
    cr_assert_eq(wi_hash_word(UINT64_MAX, k0, k1), 0xadac06cf97c968d2u);
    cr_assert_eq(wi_hash_dest(UINT64_MAX, 65536), 65535);
    cr_assert_eq(wi_hash_dest(0, 65536), 0);
    cr_assert_eq(wi_hash_dest((uint64_t)1 << 63, 10), 5);
}

static uint64_t word_of(const char *format, const void *value)
{
    struct weir_field field = {"k", format, 1};
    struct wt_batch t;
    uint64_t word;
    wt_open_schema(&t, 1, &field, 1);
    struct wi_view v = {.values = value};
    wi_key_words(&t.schema->columns[0], &v, 0, 1, 0, &word);
    wt_close(&t);
    return word;
}

Test(partition, equal_floats_have_equal_words)
{
    double zero = 0.0;
    double minus_zero = -0.0;
    double nan1 = NAN;
    double nan2 = -NAN;
    float fzero = -0.0f;
    float fnan = NAN;
    float half = 0.5f;
    double dhalf = 0.5;
    cr_assert_eq(word_of("g", &zero), word_of("g", &minus_zero));
    cr_assert_eq(word_of("g", &nan1), WI_NAN_BITS);
    cr_assert_eq(word_of("g", &nan2), WI_NAN_BITS);
    cr_assert_eq(word_of("f", &fnan), WI_NAN_BITS);
    cr_assert_eq(word_of("f", &fzero), 0);
    cr_assert_eq(word_of("f", &half), word_of("g", &dhalf));
}

Test(partition, integers_extend_by_their_sign)
{
    int8_t m1 = -1;
    uint8_t u255 = 255;
    int16_t m2 = -2;
    int32_t m3 = -3;
    uint32_t u32 = 0xfffffffdu;
    uint8_t bit = 1;
    cr_assert_eq(word_of("c", &m1), UINT64_MAX);
    cr_assert_eq(word_of("C", &u255), 255);
    cr_assert_eq(word_of("s", &m2), UINT64_MAX - 1);
    cr_assert_eq(word_of("i", &m3), UINT64_MAX - 2);
    cr_assert_eq(word_of("I", &u32), 0xfffffffdu);
    cr_assert_eq(word_of("b", &bit), 1);
}

Test(partition, nulls_of_any_value_go_to_one_destination)
{
    struct weir_field field = {"k", "l", 1};
    struct wt_batch t;
    uint32_t dest[600];
    struct wi_split split;
    wt_open_schema(&t, 11, &field, 1);
    do {
        wt_random_batch(&t, 600, 0);
    } while (t.views[0].validity == NULL);
    struct wi_partition_params params = {
        .kind = WEIR_HASH, .n_dest = 50, .keys = key_k, .n_keys = 1};
    struct wi_partition *p = open_partition(t.schema, &params);
    wi_partition_split(p, t.views, 0, 600, NULL, &split);
    read_split(&split, 50, dest);
    uint32_t seen = UINT32_MAX;
    uint32_t nulls = 0;
    for (uint32_t i = 0; i < 600; i++) {
        if (wt_cell(&t.schema->columns[0], &t.views[0], i).null) {
            cr_assert(seen == UINT32_MAX || dest[i] == seen);
            seen = dest[i];
            nulls++;
        }
    }
    cr_assert(nulls > 100);
    wi_partition_close(p);
    wt_close(&t);
}

/* ---- distribution -------------------------------------------------------- */

enum { DIST_ROWS = 1 << 16 };

/* Chi-square of n keys over n_dest destinations against uniform, as a standard
 * normal variable (E. Wilson, M. Hilferty, "The Distribution of Chi-Square",
 * 1931). */
static double deviation(const uint64_t *keys, uint32_t n, uint64_t seed,
                        uint32_t n_dest)
{
    uint64_t k0 = wi_splitmix(seed);
    uint64_t k1 = wi_splitmix(seed + 1) | 1;
    uint32_t *count = calloc(n_dest, sizeof(*count));
    double expected = (double)n / n_dest;
    double chi = 0;
    for (uint32_t i = 0; i < n; i++) {
        count[wi_hash_dest(wi_hash_word(keys[i], k0, k1), n_dest)]++;
    }
    for (uint32_t d = 0; d < n_dest; d++) {
        double off = count[d] - expected;
        chi += off * off / expected;
    }
    free(count);
    double spread = 2.0 / (9.0 * (n_dest - 1));
    return (cbrt(chi / (n_dest - 1)) - (1 - spread)) / sqrt(spread);
}

/* Too even is fine, too uneven is not: by chance, 5.5 deviations come once in
 * fifty million trials. */
static void expect_even(const uint64_t *keys, uint32_t n, const char *what,
                        int detail)
{
    static const uint32_t dests[] = {2, 3, 7, 8, 16, 61, 64, 256};
    static const uint64_t seeds[] = {0, 1, 2, 3, 1000, 0xdeadbeefdeadbeefu};
    for (size_t s = 0; s < WI_ARRAY_LEN(seeds); s++) {
        for (size_t d = 0; d < WI_ARRAY_LEN(dests); d++) {
            double dev = deviation(keys, n, seeds[s], dests[d]);
            cr_expect(dev < 5.5, "%s %d: seed %lu, %u destinations: %.1f", what,
                      detail, (unsigned long)seeds[s], dests[d], dev);
        }
    }
}

Test(partition, regular_keys_spread_evenly)
{
    uint64_t *keys = calloc(DIST_ROWS, 8);
    for (int shift = 0; shift <= 48; shift++) {
        for (uint64_t i = 0; i < DIST_ROWS; i++) {
            keys[i] = i << shift;
        }
        expect_even(keys, DIST_ROWS, "multiples of 2 to the power", shift);
    }
    for (int step = 3; step < 2000; step = step * 5 / 2) {
        for (uint64_t i = 0; i < DIST_ROWS; i++) {
            keys[i] = 0 - i * (uint64_t)step;
        }
        expect_even(keys, DIST_ROWS, "negative multiples of", step);
    }
    for (uint64_t i = 0; i < DIST_ROWS; i++) {
        double value = (double)i;
        memcpy(&keys[i], &value, 8);
    }
    expect_even(keys, DIST_ROWS, "whole numbers as doubles", 0);
    for (uint64_t i = 0; i < DIST_ROWS; i++) {
        keys[i] = (i & 0xff) | (i >> 8) << 32;
    }
    expect_even(keys, DIST_ROWS, "two small halves", 0);
    free(keys);
}

/* Keys that one destination of a first shuffle received. */
static uint32_t keys_of(uint64_t *keys, uint64_t step, uint64_t seed,
                        uint32_t n_dest, uint32_t dest)
{
    uint64_t k0 = wi_splitmix(seed);
    uint64_t k1 = wi_splitmix(seed + 1) | 1;
    uint32_t n = 0;
    for (uint64_t v = 0; n < DIST_ROWS; v += step) {
        if (wi_hash_dest(wi_hash_word(v, k0, k1), n_dest) == dest) {
            keys[n++] = v;
        }
    }
    return n;
}

Test(partition, keys_of_one_destination_spread_evenly_under_another_seed)
{
    static const uint32_t dests[] = {2, 8, 16, 61, 64};
    uint64_t *keys = calloc(DIST_ROWS, 8);
    for (uint64_t first = 0; first < 4; first++) {
        for (size_t d = 0; d < WI_ARRAY_LEN(dests); d++) {
            uint32_t n_dest = dests[d];
            uint32_t n =
                keys_of(keys, first == 3 ? 4096 : 1, first, n_dest, n_dest / 2);
            for (uint64_t second = 0; second < 12; second++) {
                double dev = deviation(keys, n, second, n_dest);
                if (second == first) {
                    cr_assert(dev > 50, "the same seed keeps them together");
                    continue;
                }
                cr_expect(dev < 5.5, "seed %lu then %lu, %u destinations: %.1f",
                          (unsigned long)first, (unsigned long)second, n_dest,
                          dev);
            }
        }
    }
    free(keys);
}

Test(partition, the_order_of_keys_matters)
{
    uint64_t k0 = wi_splitmix(0);
    uint64_t k1 = wi_splitmix(1) | 1;
    uint32_t differ = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t ab = wi_hash_word(5 ^ wi_hash_word(i, k0, k1), k0, k1);
        uint64_t ba = wi_hash_word(i ^ wi_hash_word(5, k0, k1), k0, k1);
        differ += wi_hash_dest(ab, 256) != wi_hash_dest(ba, 256);
    }
    cr_assert(differ > 950, "%u", differ);
}

/* ---- other kinds --------------------------------------------------------- */

Test(partition, broadcast_gather_and_one_destination_give_no_lists)
{
    struct wt_batch t;
    struct wi_split split;
    wt_open_schema(&t, 3, &int64_field, 1);
    wt_random_batch(&t, 100, 0);
    struct wi_partition_params params = {.kind = WEIR_BROADCAST, .n_dest = 3};
    struct wi_partition *p = open_partition(t.schema, &params);
    wi_partition_split(p, t.views, 10, 50, NULL, &split);
    cr_assert_null(split.idx);
    cr_assert_eq(split.first, 10);
    cr_assert(split.count[0] == 50 && split.count[1] == 50 &&
              split.count[2] == 50);
    wi_partition_close(p);

    params.kind = WEIR_GATHER;
    p = open_partition(t.schema, &params);
    wi_partition_split(p, t.views, 10, 50, NULL, &split);
    cr_assert_null(split.idx);
    cr_assert(split.count[0] == 50 && split.count[1] == 0 &&
              split.count[2] == 0);
    wi_partition_close(p);

    for (int kind = WEIR_ROUND_ROBIN; kind <= WEIR_VECTOR; kind++) {
        uint32_t dest[100] = {0};
        params.kind = (weir_partitioning)kind;
        params.n_dest = 1;
        p = open_partition(t.schema, &params);
        wi_partition_split(p, t.views, 0, 100, dest, &split);
        cr_assert_null(split.idx);
        cr_assert_eq(split.count[0], 100);
        wi_partition_close(p);
    }
    wt_close(&t);
}

Test(partition, round_robin_gives_runs_to_each_in_turn)
{
    static const uint32_t dests[] = {2, 3, 7, 32, 33, 500};
    static uint32_t dest[WI_SPLIT_ROWS];
    struct wt_batch t;
    wt_open_schema(&t, 3, &int64_field, 1);
    for (size_t i = 0; i < WI_ARRAY_LEN(dests); i++) {
        struct wi_partition_params params = {.kind = WEIR_ROUND_ROBIN,
                                             .n_dest = dests[i]};
        struct wi_partition *p = open_partition(t.schema, &params);
        uint32_t next = 0;
        for (uint32_t n = 1; n <= WI_SPLIT_ROWS; n = n * 3 / 2 + 1) {
            struct wi_split split;
            wi_partition_split(p, t.views, 7, n, NULL, &split);
            read_split(&split, dests[i], dest);
            for (uint32_t r = 0; r < n; r++) {
                cr_assert_eq(dest[r], (next + r / WI_RUN_ROWS) % dests[i]);
            }
            next += (n + WI_RUN_ROWS - 1) / WI_RUN_ROWS;
        }
        wi_partition_close(p);
    }
    wt_close(&t);
}

Test(partition, random_is_even_seeded_and_goes_on_from_split_to_split)
{
    enum { SPLITS = 32, DEST = 20 };
    static uint32_t dest[2][SPLITS * WI_SPLIT_ROWS];
    struct wt_batch t;
    struct wi_split split;
    uint32_t count[DEST] = {0};
    uint32_t same = 0;
    wt_open_schema(&t, 3, &int64_field, 1);
    for (uint64_t seed = 0; seed < 2; seed++) {
        struct wi_partition_params params = {
            .kind = WEIR_RANDOM, .n_dest = DEST, .seed = seed};
        struct wi_partition *p = open_partition(t.schema, &params);
        for (uint32_t i = 0; i < SPLITS; i++) {
            wi_partition_split(p, t.views, 0, WI_SPLIT_ROWS, NULL, &split);
            read_split(&split, DEST, dest[seed] + i * WI_SPLIT_ROWS);
        }
        wi_partition_close(p);
    }
    double chi = 0;
    for (uint32_t i = 0; i < SPLITS * WI_SPLIT_ROWS; i++) {
        count[dest[0][i]]++;
        same += dest[0][i] == dest[1][i];
    }
    for (uint32_t d = 0; d < DEST; d++) {
        double off = count[d] - SPLITS * WI_SPLIT_ROWS / (double)DEST;
        chi += off * off / (SPLITS * WI_SPLIT_ROWS / (double)DEST);
    }
    cr_assert(chi < 19 + 6 * sqrt(38.0), "%.1f", chi);
    cr_assert(same < SPLITS * WI_SPLIT_ROWS / 15, "%u the same", same);
    cr_assert_neq(memcmp(dest[0], dest[0] + WI_SPLIT_ROWS,
                         WI_SPLIT_ROWS * sizeof(uint32_t)),
                  0);
    wt_close(&t);
}

Test(partition, vector_takes_the_callers_destinations)
{
    static const uint32_t dests[] = {2, 8, 12, 13, 40, 65536};
    static uint32_t want[3000];
    static uint32_t dest[WI_SPLIT_ROWS];
    struct wt_batch t;
    wt_open_schema(&t, 3, &int64_field, 1);
    for (size_t i = 0; i < WI_ARRAY_LEN(dests); i++) {
        struct wi_partition_params params = {.kind = WEIR_VECTOR,
                                             .n_dest = dests[i]};
        struct wi_partition *p = open_partition(t.schema, &params);
        for (uint32_t r = 0; r < 3000; r++) {
            want[r] = (uint32_t)(wt_random(&t) % dests[i]);
        }
        for (int isa = 0; isa <= (int)wi_isa_best(); isa++) {
            struct wi_split split;
            wi_partition_set_isa(p, (enum wi_isa)isa);
            wi_partition_split(p, t.views, 900, 2041, want, &split);
            read_split(&split, dests[i], dest);
            cr_assert_eq(memcmp(dest, want + 900, 2041 * sizeof(uint32_t)), 0);
        }
        wi_partition_close(p);
    }
    wt_close(&t);
}

/* ---- range --------------------------------------------------------------- */

static int cmp_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static double as_double(const struct wi_column *c, const uint8_t *bytes)
{
    float f;
    double d;
    if (c->width == 4) {
        memcpy(&f, bytes, 4);
        return (double)f;
    }
    memcpy(&d, bytes, 8);
    return d;
}

static int cmp_float(double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return isnan(a) - isnan(b);
    }
    return (a > b) - (a < b);
}

/* Little-endian integers of any width. */
static int cmp_integer(const struct wi_column *c, const uint8_t *a,
                       const uint8_t *b)
{
    bool is_signed = c->order == WI_ORDER_SIGNED;
    int a_neg = is_signed && a[c->width - 1] >= 128;
    int b_neg = is_signed && b[c->width - 1] >= 128;
    if (a_neg != b_neg) {
        return b_neg - a_neg;
    }
    for (uint32_t i = c->width; i-- > 0;) {
        if (a[i] != b[i]) {
            return cmp_i64(a[i], b[i]);
        }
    }
    return 0;
}

static int cmp_cells(const struct wi_column *c, const struct wt_cell *a,
                     const struct wt_cell *b)
{
    if (a->null || b->null) {
        return b->null - a->null;
    }
    if (c->kind == WI_KIND_BITS) {
        return a->bit - b->bit;
    }
    if (c->order == WI_ORDER_FLOAT) {
        return cmp_float(as_double(c, a->bytes), as_double(c, b->bytes));
    }
    if (c->order != WI_ORDER_BYTES) {
        return cmp_integer(c, a->bytes, b->bytes);
    }
    for (uint32_t i = 0; i < a->len && i < b->len; i++) {
        if (a->bytes[i] != b->bytes[i]) {
            return cmp_i64(a->bytes[i], b->bytes[i]);
        }
    }
    return cmp_i64(a->len, b->len);
}

static int cmp_rows(const struct wt_batch *t, const struct wi_view *a,
                    uint64_t ra, const struct wi_view *b, uint64_t rb)
{
    int order = 0;
    for (uint32_t c = 0; order == 0 && c < t->n_columns; c++) {
        struct wt_cell x = wt_cell(&t->schema->columns[c], &a[c], ra);
        struct wt_cell y = wt_cell(&t->schema->columns[c], &b[c], rb);
        order = cmp_cells(&t->schema->columns[c], &x, &y);
    }
    return order;
}

static const struct wt_batch *sorting;

static int by_row(const void *a, const void *b)
{
    return cmp_rows(sorting, sorting->views, *(const uint32_t *)a,
                    sorting->views, *(const uint32_t *)b);
}

/* Rows of t's batch in the given order, as a frame's export. */
struct bounds {
    struct wi_builder *builder;
    struct wi_export *x;
    uint8_t *mem;
    struct ArrowArray array;
    struct wi_view views[WT_MAX_COLUMNS];
};

static void open_bounds(struct bounds *b, const struct wt_batch *t,
                        const uint32_t *rows, uint32_t n)
{
    struct wi_frame_header h;
    b->mem = aligned_alloc(64, 1 << 20);
    cr_assert_eq(wi_builder_open(t->schema, &b->builder, NULL), WEIR_OK);
    wi_builder_start(b->builder, b->mem, 1 << 20, 0);
    cr_assert_eq(wi_builder_append(b->builder, t->views, rows, 0, n), n);
    (void)wi_builder_finish(b->builder, false);
    memcpy(&h, b->mem, sizeof(h));
    b->x = wi_export_open(t->schema);
    cr_assert_eq(wi_frame_export(b->x,
                                 &(struct wi_frame_at){.h = &h, .mem = b->mem},
                                 &b->array, NULL),
                 WEIR_OK);
    b->array.release = wt_no_release;
    cr_assert_eq(wi_schema_import(t->schema, &b->array, b->views, NULL),
                 WEIR_OK);
}

static void close_bounds(struct bounds *b)
{
    wi_builder_close(b->builder);
    wi_export_close(b->x);
    free(b->mem);
}

/* Bounds are some of the rows, sorted, some of them twice. */
static void expect_ranges(struct wt_batch *t, uint32_t n_bounds)
{
    enum { ROWS = 800 };
    uint32_t rows[100];
    uint32_t dest[ROWS];
    const char *keys[WT_MAX_COLUMNS];
    struct wi_split split;
    struct bounds b;

    for (uint32_t i = 0; i < n_bounds; i++) {
        rows[i] = (uint32_t)(wt_random(t) % ROWS);
        rows[i] = i % 5 == 4 ? rows[i - 1] : rows[i];
    }
    sorting = t;
    qsort(rows, n_bounds, sizeof(rows[0]), by_row);
    open_bounds(&b, t, rows, n_bounds);
    for (uint32_t c = 0; c < t->n_columns; c++) {
        keys[c] = t->schema->columns[c].name;
    }
    struct wi_partition_params params = {.kind = WEIR_RANGE,
                                         .n_dest = n_bounds + 1,
                                         .keys = keys,
                                         .n_keys = t->n_columns,
                                         .bounds = &b.array};
    struct wi_partition *p = open_partition(t->schema, &params);
    wi_partition_split(p, t->views, 0, ROWS, NULL, &split);
    read_split(&split, n_bounds + 1, dest);
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t want = 0;
        while (want < n_bounds &&
               cmp_rows(t, b.views, want, t->views, i) <= 0) {
            want++;
        }
        cr_assert_eq(dest[i], want, "row %u", i);
    }
    wi_partition_close(p);
    close_bounds(&b);
}

Test(partition, range_counts_the_bounds_not_greater_than_the_key)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct wt_batch t;
        wt_random_schema(&t, seed);
        wt_random_batch(&t, 800, 3);
        expect_ranges(&t, 1 + (uint32_t)(wt_random(&t) % 60));
        wt_close(&t);
    }
}

Test(partition, range_of_one_column_of_every_type)
{
    for (size_t f = 0; f < WI_ARRAY_LEN(wt_formats); f++) {
        struct weir_field field = {"k", wt_formats[f], 1};
        struct wt_batch t;
        wt_open_schema(&t, f, &field, 1);
        wt_random_batch(&t, 800, 3);
        expect_ranges(&t, 20);
        wt_close(&t);
    }
}

Test(partition, range_sorts_nan_last_and_takes_minus_zero_for_zero)
{
    struct weir_field field = {"k", "g", 1};
    double values[800] = {0};
    struct wt_batch t;
    wt_open_schema(&t, 1, &field, 1);
    wt_random_batch(&t, 800, 0);
    for (int i = 0; i < 800; i++) {
        static const double special[] = {-INFINITY, -1, -0.0,     0.0,
                                         1e-310,    1,  INFINITY, NAN};
        values[i] = special[i % 8];
    }
    t.views[0] = (struct wi_view){.values = values};
    expect_ranges(&t, 30);
    wt_close(&t);
}

Test(partition, bad_bounds_are_errors)
{
    struct wt_batch t;
    struct bounds b;
    struct weir_error err;
    struct wi_partition *p = NULL;
    uint32_t rows[4] = {0, 1, 2, 3};
    wt_open_schema(&t, 1, &int64_field, 1);
    wt_random_batch(&t, 800, 0);
    sorting = &t;
    qsort(rows, 4, sizeof(rows[0]), by_row);
    uint32_t swap = rows[1];
    rows[1] = rows[2];
    rows[2] = swap;
    open_bounds(&b, &t, rows, 4);
    struct wi_partition_params params = {.kind = WEIR_RANGE,
                                         .n_dest = 5,
                                         .keys = key_k,
                                         .n_keys = 1,
                                         .bounds = &b.array};
    cr_assert_eq(wi_partition_open(t.schema, &params, &p, &err), WEIR_ERR_ARG);
    cr_assert_not_null(strstr(err.message, "bound 1"), "%s", err.message);
    params.n_dest = 6;
    cr_assert_eq(wi_partition_open(t.schema, &params, &p, &err), WEIR_ERR_ARG);
    params.bounds = NULL;
    cr_assert_eq(wi_partition_open(t.schema, &params, &p, &err), WEIR_ERR_ARG);
    params.n_dest = 5;
    params.bounds = &b.array;
    b.array.n_children = 0;
    cr_assert_eq(wi_partition_open(t.schema, &params, &p, &err),
                 WEIR_ERR_SCHEMA);
    cr_assert_null(p);
    close_bounds(&b);
    wt_close(&t);
}

/* ---- opening ------------------------------------------------------------- */

Test(partition, bad_params_are_errors)
{
    struct wt_batch t;
    struct weir_error err;
    struct wi_partition *p = NULL;
    const char *other[] = {"nope"};
    wt_open_schema(&t, 1, &int64_field, 1);
    struct wi_partition_params good = {
        .kind = WEIR_HASH, .n_dest = 4, .keys = key_k, .n_keys = 1};
    struct wi_partition_params bad = good;
    bad.keys = other;
    cr_assert_eq(wi_partition_open(t.schema, &bad, &p, &err),
                 WEIR_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(err.message, "k:l"), "%s", err.message);
    bad = good;
    bad.n_keys = 0;
    cr_assert_eq(wi_partition_open(t.schema, &bad, &p, &err), WEIR_ERR_ARG);
    bad = good;
    bad.n_dest = 0;
    cr_assert_eq(wi_partition_open(t.schema, &bad, &p, &err), WEIR_ERR_ARG);
    bad.n_dest = 65537;
    cr_assert_eq(wi_partition_open(t.schema, &bad, &p, &err), WEIR_ERR_ARG);
    bad = good;
    bad.kind = (weir_partitioning)99;
    cr_assert_eq(wi_partition_open(t.schema, &bad, &p, &err), WEIR_ERR_ARG);
    cr_assert_null(p);
    wt_close(&t);
}

Test(partition, columns_without_an_order_are_no_keys)
{
    static const char *const formats[] = {"e", "tiD", "tin"};
    for (size_t f = 0; f < WI_ARRAY_LEN(formats); f++) {
        const struct weir_field field = {"k", formats[f], 0};
        const struct wi_partition_params params = {
            .kind = WEIR_HASH, .n_dest = 4, .keys = key_k, .n_keys = 1};
        struct wi_partition *p = NULL;
        struct weir_error err;
        struct wt_batch t;
        wt_open_schema(&t, 1, &field, 1);
        cr_assert_eq(wi_partition_open(t.schema, &params, &p, &err),
                     WEIR_ERR_SCHEMA);
        cr_assert_not_null(strstr(err.message, "cannot be a key"), "%s",
                           err.message);
        wt_close(&t);
    }
}

Test(partition, each_partitioning_has_a_name_and_no_other_number_is_taken)
{
    static const char *const names[] = {
        [WEIR_HASH] = "hash",
        [WEIR_RANGE] = "range",
        [WEIR_ROUND_ROBIN] = "round robin",
        [WEIR_RANDOM] = "random",
        [WEIR_BROADCAST] = "broadcast",
        [WEIR_GATHER] = "gather",
        [WEIR_VECTOR] = "vector",
    };
    struct wt_batch t;
    struct weir_error err;
    wt_open_schema(&t, 3, &int64_field, 1);
    for (int kind = -1; kind < 32; kind++) {
        struct wi_partition *p = NULL;
        const struct wi_partition_params params = {
            .kind = (weir_partitioning)kind, .n_dest = 2};
        const char *name = wi_partitioning_name(params.kind);
        if (kind >= 0 && kind < (int)(sizeof(names) / sizeof(names[0]))) {
            cr_assert_str_eq(name, names[kind]);
        } else {
            cr_assert_null(name);
            cr_assert_eq(wi_partition_open(t.schema, &params, &p, &err),
                         WEIR_ERR_ARG);
        }
    }
    wt_close(&t);
}
