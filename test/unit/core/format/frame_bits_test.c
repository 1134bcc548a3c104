/* SPDX-License-Identifier: Apache-2.0 */
/* Gathered bits of every count, at each level of instructions, from lists that
 * have a window and from those that have none. */
#include "core/format/frame_bits.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "core/base/bytes.h"

enum { ROWS = 4096, MOST = 300, OFFSETS = 2 };

/* Row i of a list, below ROWS. */
typedef uint32_t list_of(uint32_t i);

static uint32_t ascending(uint32_t i)
{
    return 70 + i * 6 + i % 3;
}

/* From a word's first row on; the last row is the window's last. */
static uint32_t whole_window(uint32_t i)
{
    return 128 + (i == MOST - 1 ? 2047 : i * 6);
}

static uint32_t too_long(uint32_t i)
{
    return 128 + (i == MOST - 1 ? 2048 : i * 6);
}

static uint32_t any_order(uint32_t i)
{
    return i * 1021 % ROWS;
}

/* All in a window that begins with the first, but behind the last. */
static uint32_t last_is_not_largest(uint32_t i)
{
    return i == 0 ? 64 : 1800 - i * 5;
}

/* Memory that ends with the last bit of the largest row. */
static uint8_t *make_bits(const uint32_t *idx, uint32_t n, uint64_t offset)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < n; i++) {
        most = idx[i] > most ? idx[i] : most;
    }
    size_t bytes = (size_t)(offset + most) / 8 + 1;
    uint8_t *bits = malloc(bytes);
    cr_assert_not_null(bits);
    for (size_t i = 0; i < bytes; i++) {
        bits[i] = (uint8_t)(i * 37 + (i >> 3) + 11);
    }
    return bits;
}

static void check_copy(const uint32_t *idx, uint32_t n, uint32_t at,
                       uint64_t offset, enum wi_isa isa)
{
    uint64_t words[(MOST + 63 + 63) / 64 + 1];
    const uint8_t *out = (const uint8_t *)words;
    const struct wi_rows rows = {.idx = idx, .n = n};
    uint8_t *bits = make_bits(idx, n, offset);
    memset(words, 0xff, sizeof(words));
    words[0] = ((uint64_t)1 << at) - 1;
    wi_copy_bits((uint8_t *)words, at, bits, offset, &rows, isa);
    for (uint32_t i = 0; i < at; i++) {
        cr_assert_eq(wi_bit(out, i), 1, "bit before");
    }
    for (uint32_t i = 0; i < n; i++) {
        cr_assert_eq(wi_bit(out, at + i), wi_bit(bits, offset + idx[i]),
                     "bit %u of %u at %u, offset %u, %s", i, n, at,
                     (uint32_t)offset, wi_isa_name(isa));
    }
    for (uint32_t i = at + n; i % 64 != 0; i++) {
        cr_assert_eq(wi_bit(out, i), 0, "bit behind");
    }
    cr_assert_eq(words[(at + n + 63) / 64], UINT64_MAX, "wrote beyond");
    free(bits);
}

static void check_list(list_of *row)
{
    uint32_t idx[MOST];
    for (uint32_t i = 0; i < MOST; i++) {
        idx[i] = row(i);
    }
    for (int isa = 0; isa <= (int)wi_isa_best(); isa++) {
        for (uint32_t at = 0; at < 64; at += 21) {
            for (uint32_t n = 1; n <= MOST; n++) {
                check_copy(idx + (MOST - n), n, at, 5 * (n % 2),
                           (enum wi_isa)isa);
            }
        }
    }
}

Test(frame_bits, ascending_lists)
{
    check_list(ascending);
}

Test(frame_bits, lists_that_end_with_the_window)
{
    check_list(whole_window);
}

Test(frame_bits, lists_that_end_after_the_window)
{
    check_list(too_long);
}

Test(frame_bits, lists_in_any_order)
{
    check_list(any_order);
}

Test(frame_bits, lists_whose_last_row_is_not_the_largest)
{
    check_list(last_is_not_largest);
}

Test(frame_bits, runs_and_ones_of_every_count)
{
    enum { WORDS = 8 };
    uint64_t bits[WORDS];
    for (uint32_t i = 0; i < WORDS; i++) {
        bits[i] = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    }
    for (uint32_t at = 0; at < 64; at += 7) {
        for (uint32_t n = 1; n <= MOST; n++) {
            uint64_t out[WORDS] = {0};
            uint64_t ones[WORDS] = {0};
            const struct wi_rows rows = {.first = 3, .n = n};
            wi_copy_bits((uint8_t *)out, at, (const uint8_t *)bits, 5, &rows,
                         wi_isa_best());
            wi_set_bits((uint8_t *)ones, at, n);
            for (uint32_t i = 0; i < n; i++) {
                cr_assert_eq(wi_bit(out, at + i), wi_bit(bits, 8 + i));
                cr_assert_eq(wi_bit(ones, at + i), 1);
            }
            cr_assert_eq(wi_bit(out, at + n), 0);
            cr_assert_eq(wi_bit(ones, at + n), 0);
        }
    }
}
