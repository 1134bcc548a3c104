/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "bench/scan/sum.h"
#include "test/unit/bench/scan/batches.h"

TestSuite(scan_sum, .timeout = 60);

static struct wb_scan_sum sum_of(const struct wt_scan_batches *b)
{
    struct wb_scan_sum sum = {.sum = 0};
    cr_assert_eq(wb_scan_sum(&b->schema, &b->array, &sum), 0);
    return sum;
}

Test(scan_sum, counts_the_bytes_of_values)
{
    struct wt_scan_batches b;
    wt_scan_batches_init(&b);
    cr_assert_eq(sum_of(&b).bytes, WT_SCAN_ROWS * sizeof(int64_t) +
                                       WT_SCAN_ROWS * sizeof(int32_t) + 20);
}

Test(scan_sum, is_the_same_in_other_batches)
{
    struct wt_scan_batches b;
    wt_scan_batches_init(&b);
    const struct wb_scan_sum all = sum_of(&b);
    for (int64_t cut = 0; cut <= WT_SCAN_ROWS; cut++) {
        struct wb_scan_sum parts = {.sum = 0};
        struct ArrowArray part = b.array;
        part.offset = cut; /* the later rows first */
        part.length = WT_SCAN_ROWS - cut;
        cr_assert_eq(wb_scan_sum(&b.schema, &part, &parts), 0);
        part.offset = 0;
        part.length = cut;
        cr_assert_eq(wb_scan_sum(&b.schema, &part, &parts), 0);
        cr_assert_eq(parts.sum, all.sum, "cut at %d", (int)cut);
        cr_assert_eq(parts.bytes, all.bytes, "cut at %d", (int)cut);
    }
}

Test(scan_sum, changes_with_every_value)
{
    struct wt_scan_batches b;
    wt_scan_batches_init(&b);
    const uint64_t all = sum_of(&b).sum;
    for (int i = 0; i < WT_SCAN_ROWS; i++) {
        wt_scan_batches_init(&b);
        b.numbers[i] ^= 1;
        cr_assert_eq(sum_of(&b).sum != all, i != 4, "row %d", i);
        wt_scan_batches_init(&b);
        b.valid ^= (uint8_t)(1 << i);
        cr_assert_neq(sum_of(&b).sum, all, "whether row %d is null", i);
    }
    for (int i = 0; i < 20; i++) {
        wt_scan_batches_init(&b);
        b.bytes[i] ^= 1;
        cr_assert_neq(sum_of(&b).sum, all, "byte %d", i);
    }
}

Test(scan_sum, tells_where_a_text_ends)
{
    struct wt_scan_batches b;
    wt_scan_batches_init(&b);
    const uint64_t all = sum_of(&b).sum;
    b.offsets[3] = 3; /* "bc", "d" instead of "bcd", "" */
    cr_assert_neq(sum_of(&b).sum, all);
}

Test(scan_sum, tells_columns_apart)
{
    struct wt_scan_batches b;
    wt_scan_batches_init(&b);
    b.pointers[1] = &b.columns[0];
    b.field_pointers[1] = &b.fields[0];
    const uint64_t twice = sum_of(&b).sum;
    b.schema.n_children = 1;
    cr_assert_neq(twice, 2 * sum_of(&b).sum);
}

Test(scan_sum, refuses_types_that_it_does_not_know)
{
    static const char *const unknown[] = {"+l", "vu", "d:15,2,256", "n"};
    struct wt_scan_batches b;
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        struct wb_scan_sum sum = {.sum = 17};
        wt_scan_batches_init(&b);
        b.fields[1].format = unknown[i];
        cr_assert_eq(wb_scan_sum_take(&b.schema, &b.array, &sum), -1);
        cr_assert_eq(sum.sum, 17, "%s", unknown[i]);
        cr_assert_eq(b.released, 1);
    }
}
