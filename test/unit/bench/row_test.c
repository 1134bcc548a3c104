/* SPDX-License-Identifier: Apache-2.0 */
/* Rows packed and in columns are the same rows, and what changes one of their
 * values is found. */
#include "bench/lib/row.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "bench/lib/row_batch.h"

enum { ROWS = 1000 };

static const struct wb_row_range range = {.first = 1 << 20, .n = ROWS};

/* The same rows in both forms. */
struct both {
    enum wb_row row;
    alignas(64) uint8_t packed[ROWS * WB_MOST_ROW_BYTES];
    struct wb_row_batch batch;
    uint64_t sum;
};

static struct both *make(enum wb_row row)
{
    struct both *b = aligned_alloc(alignof(struct both), sizeof(*b));
    cr_assert_not_null(b);
    b->row = row;
    wb_row_batch_init(&b->batch, row);
    b->sum = wb_packed_make(b->packed, row, &range);
    cr_assert_eq(wb_row_batch_make(&b->batch, &range), b->sum);
    return b;
}

static bool batch_is_right(struct both *b)
{
    return wb_row_batch_is_right(b->row, &b->batch.array);
}

static uint64_t batch_sum(struct both *b)
{
    return wb_row_batch_sum(b->row, &b->batch.array);
}

Test(row, sum_is_the_same_made_packed_and_in_columns)
{
    for (int row = 0; row < WB_ROW_KINDS; row++) {
        struct both *b = make((enum wb_row)row);
        cr_assert_eq(wb_packed_sum(b->row, b->packed, ROWS), b->sum);
        cr_assert_eq(batch_sum(b), b->sum);
        cr_assert(wb_packed_is_right(b->row, b->packed, ROWS));
        cr_assert(batch_is_right(b));
        free(b);
    }
}

Test(row, sum_of_a_batch_from_its_middle_on_is_of_these_rows)
{
    enum { SKIP = 13 };
    for (int row = 0; row < WB_ROW_KINDS; row++) {
        struct both *b = make((enum wb_row)row);
        uint64_t rest = wb_packed_sum(
            b->row, b->packed + SKIP * wb_packed_bytes(b->row), ROWS - SKIP);
        b->batch.array.offset = SKIP;
        b->batch.array.length = ROWS - SKIP;
        cr_assert_eq(batch_sum(b), rest);
        cr_assert(batch_is_right(b));
        free(b);
    }
}

Test(row, one_row_of_sixteen_is_null_in_each_column)
{
    struct both *b = make(WB_ROW_MIXED);
    for (int c = 0; c < WB_COLUMNS; c++) {
        int nulls = 0;
        for (int i = 0; i < ROWS; i++) {
            nulls += (b->batch.validity[c][i / 64] >> i % 64 & 1) == 0;
        }
        cr_assert(nulls > ROWS / 32 && nulls < ROWS / 8, "%d", nulls);
    }
    free(b);
}

Test(row, any_changed_byte_of_a_packed_row_is_found)
{
    for (int row = WB_ROW_MIXED; row < WB_ROW_KINDS; row++) {
        struct both *b = make((enum wb_row)row);
        for (uint32_t i = 0; i < wb_packed_bytes(b->row); i++) {
            b->packed[i] ^= 1;
            cr_assert(!wb_packed_is_right(b->row, b->packed, 1), "byte %u", i);
            b->packed[i] ^= 1;
        }
        free(b);
    }
}

/* A row that has no null in any column. */
static uint32_t full_row(const struct both *b)
{
    const uint64_t(*v)[WB_BATCH_ROWS / 64] = b->batch.validity;
    uint64_t all = v[WB_NUMBER][0] & v[WB_AMOUNT][0] & v[WB_TEXT][0];
    return (uint32_t)__builtin_ctzll(all);
}

static void check_found(struct both *b, const char *what)
{
    cr_assert(!batch_is_right(b), "%s passes for right", what);
    cr_assert_neq(batch_sum(b), b->sum, "%s leaves the sum alone", what);
}

Test(row, any_changed_value_of_a_batch_is_found)
{
    struct both *b = make(WB_ROW_MIXED);
    struct wb_row_batch *batch = &b->batch;
    uint32_t i = full_row(b);
    batch->keys[i]++;
    check_found(b, "a key");
    batch->keys[i]--;
    batch->numbers[i]++;
    check_found(b, "a number");
    batch->numbers[i]--;
    for (int half = 0; half < 2; half++) {
        batch->amounts[i][half]++;
        check_found(b, "an amount");
        batch->amounts[i][half]--;
    }
    batch->text[batch->offsets[i + 1] - 1]++;
    check_found(b, "a text's last letter");
    batch->text[batch->offsets[i + 1] - 1]--;
    batch->offsets[i + 1]--;
    check_found(b, "a text's end");
    batch->offsets[i + 1]++;
    for (int c = 0; c < WB_COLUMNS; c++) {
        batch->validity[c][0] ^= UINT64_C(1) << i;
        check_found(b, "a null");
        batch->validity[c][0] ^= UINT64_C(1) << i;
    }
    cr_assert(batch_is_right(b));
    free(b);
}
