/* SPDX-License-Identifier: Apache-2.0 */
/* Keys are distinct, their hash is even, and what is counted is what is
 * there. */
#include "bench/lib/keys.h"

#include <stdlib.h>

#include <criterion/criterion.h>

enum { ROWS = 100003 }; /* no multiple of any vector's width */

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t *keys_of_two_workers(void)
{
    int64_t *keys = calloc(2 * ROWS, sizeof(*keys));
    cr_assert_not_null(keys);
    (void)wb_keys_make(keys, wb_first_row(3), ROWS);
    (void)wb_keys_make(keys + ROWS, wb_first_row(4), ROWS);
    return keys;
}

Test(keys, of_all_workers_differ)
{
    int64_t *keys = keys_of_two_workers();
    qsort(keys, 2 * ROWS, sizeof(*keys), by_value);
    for (int i = 1; i < 2 * ROWS; i++) {
        cr_assert_lt(keys[i - 1], keys[i]);
    }
    free(keys);
}

Test(keys, made_in_pieces_are_the_same)
{
    int64_t whole[1000];
    int64_t piece[1000];
    uint64_t sum = wb_keys_make(whole, 77, 1000);
    uint64_t parts = wb_keys_make(piece, 77, 333);
    parts += wb_keys_make(piece + 333, 77 + 333, 667);
    cr_assert_eq(sum, parts);
    cr_assert_arr_eq(whole, piece, sizeof(whole));
}

Test(keys, sum_is_what_make_said)
{
    int64_t *keys = calloc(ROWS, sizeof(*keys));
    cr_assert_not_null(keys);
    uint64_t said = wb_keys_make(keys, 5, ROWS);
    uint64_t sum = 0;
    for (int i = 0; i < ROWS; i++) {
        sum += (uint64_t)keys[i];
    }
    cr_assert_eq(said, sum);
    cr_assert_eq(wb_keys_sum(keys, ROWS), sum);
    free(keys);
}

Test(keys, fold_makes_few_distinct_and_sums_them)
{
    int64_t keys[1000];
    (void)wb_keys_make(keys, 0, 1000);
    uint64_t said = wb_keys_fold(keys, 1000, 7);
    uint64_t sum = 0;
    for (int i = 0; i < 1000; i++) {
        cr_assert(keys[i] >= 0 && keys[i] < 7);
        sum += (uint64_t)keys[i];
    }
    cr_assert_eq(said, sum);
}

static void check_even(uint32_t n_dest, uint64_t seed)
{
    int64_t *keys = keys_of_two_workers();
    uint16_t *dest = calloc(2 * ROWS, sizeof(*dest));
    uint32_t *count = calloc(n_dest, sizeof(*count));
    cr_assert(dest != NULL && count != NULL);
    wb_dest_make(dest, keys, 2 * ROWS, seed, n_dest);
    for (int i = 0; i < 2 * ROWS; i++) {
        cr_assert_lt(dest[i], n_dest);
        count[dest[i]]++;
    }
    double share = 2.0 * ROWS / n_dest;
    for (uint32_t d = 0; d < n_dest; d++) {
        double off = (count[d] - share) * (count[d] - share) / share;
        cr_assert_lt(off, 36.0, "destination %u of %u: %u rows", d, n_dest,
                     count[d]); /* six standard deviations */
    }
    free(count);
    free(dest);
    free(keys);
}

Test(keys, destinations_are_even)
{
    static const uint32_t n[] = {1, 2, 3, 8, 13, 64};
    for (size_t i = 0; i < sizeof(n) / sizeof(n[0]); i++) {
        check_even(n[i], WB_SEED_STAGE1);
        check_even(n[i], WB_SEED_STAGE2);
    }
}

Test(keys, stage_two_spreads_what_stage_one_brought_together)
{
    int64_t *keys = keys_of_two_workers();
    uint16_t *one = calloc(2 * ROWS, sizeof(*one));
    uint16_t *two = calloc(2 * ROWS, sizeof(*two));
    uint32_t count[8] = {0};
    uint32_t all = 0;
    cr_assert(one != NULL && two != NULL);
    wb_dest_make(one, keys, 2 * ROWS, WB_SEED_STAGE1, 8);
    wb_dest_make(two, keys, 2 * ROWS, WB_SEED_STAGE2, 8);
    for (int i = 0; i < 2 * ROWS; i++) {
        if (one[i] == 5) {
            count[two[i]]++;
            all++;
        }
    }
    for (int d = 0; d < 8; d++) {
        double share = all / 8.0;
        cr_assert_lt((count[d] - share) * (count[d] - share) / share, 36.0);
    }
    free(two);
    free(one);
    free(keys);
}

static void check_count(uint32_t n, uint32_t n_dest)
{
    uint16_t *dest = calloc(n, sizeof(*dest));
    uint32_t *count = calloc(n_dest, sizeof(*count));
    cr_assert(dest != NULL && count != NULL);
    for (uint32_t i = 0; i < n; i++) {
        dest[i] = (uint16_t)(i * i % n_dest);
    }
    count[0] = 100; /* counts are added */
    wb_dest_count(count, dest, n, n_dest);
    for (uint32_t d = 0; d < n_dest; d++) {
        uint32_t want = d == 0 ? 100 : 0;
        for (uint32_t i = 0; i < n; i++) {
            want += dest[i] == d;
        }
        cr_assert_eq(count[d], want);
    }
    free(count);
    free(dest);
}

Test(keys, counts_are_right_for_few_and_many_destinations)
{
    check_count(2048, 8);
    check_count(77, 1);
    check_count(2047, 33);
    check_count(70000, 3); /* more than a 16-bit counter holds */
}
