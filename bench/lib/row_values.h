/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a key makes of the other columns of its row, and what a value adds to
 * the row's sum (row.h). One piece of code for rows packed and in columns, in
 * the loops of both; so all of it is inline.
 *
 * Errors: none. Blocks: never. Threads: any. Ownership: the caller's arrays.
 */
#ifndef WB_ROW_VALUES_H
#define WB_ROW_VALUES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "bench/lib/row.h"
#include "core/base/cc.h"

#define WB_INLINE static inline __attribute__((always_inline))

/** The bits that a row's values are made of. */
WB_INLINE uint64_t wb_bits_of(int64_t key)
{
    uint64_t x = (uint64_t)key * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ (x >> 29);
}

/** One row of 16, each column by bits of its own. */
WB_INLINE bool wb_is_null(uint64_t bits, enum wb_column column)
{
    return (bits >> (52 + 4 * (uint32_t)column) & 15) == 0;
}

WB_INLINE int32_t wb_number_of(uint64_t bits)
{
    return (int32_t)(bits >> 8);
}

/** Low and high word; at most 2^87, so that 28 digits are enough. */
WB_INLINE void wb_amount_of(uint64_t amount[2], uint64_t bits)
{
    amount[0] = bits * 5;
    amount[1] = (uint64_t)((int64_t)bits >> 40);
}

/** Eight letters a to p; a text repeats them. */
WB_INLINE uint64_t wb_letters_of(uint64_t bits)
{
    return (bits & UINT64_C(0x0f0f0f0f0f0f0f0f)) + UINT64_C(0x6161616161616161);
}

/** `bytes`, 8 n + 4, is a constant in every caller. */
WB_INLINE void wb_text_of(uint8_t *text, uint32_t bytes, uint64_t letters)
{
    for (uint32_t at = 0; at < bytes; at += 8) {
        memcpy(text + at, &letters, bytes - at < 8 ? bytes - at : 8);
    }
}

/* ---- sums ---------------------------------------------------------------- */

WB_INLINE uint64_t wb_null_sum(enum wb_column column)
{
    return UINT64_C(0xbf58476d1ce4e5b9) * ((uint64_t)column + 1);
}

WB_INLINE uint64_t wb_amount_sum(const uint64_t amount[2])
{
    return amount[0] + 3 * amount[1];
}

/** What wb_words_sum would say of such a text. */
WB_INLINE uint64_t wb_letters_sum(uint32_t bytes, uint64_t letters)
{
    return bytes + bytes / 8 * letters + (uint32_t)letters;
}

/** `bytes`, 8 n + 4, is a constant in every caller. */
WB_INLINE uint64_t wb_words_sum(const uint8_t *text, uint32_t bytes)
{
    uint64_t sum = bytes;
    uint32_t half;
    for (uint32_t at = 0; at + 4 < bytes; at += 8) {
        uint64_t word;
        memcpy(&word, text + at, sizeof(word));
        sum += word;
    }
    memcpy(&half, text + bytes - sizeof(half), sizeof(half));
    return sum + half;
}

/** `usual`, a constant, is the length of every right text that is not null. */
WB_INLINE uint64_t wb_text_sum(const uint8_t *text, uint32_t bytes,
                               uint32_t usual)
{
    return wi_likely(bytes == usual) ? wb_words_sum(text, usual)
                                     : wb_odd_text_sum(text, bytes);
}

/** What a value adds: `sum`, or its column's constant if it is null. One null
 *  in 16 rows is not predicted: no branch. */
WB_INLINE uint64_t wb_sum_of(bool is_null, enum wb_column column, uint64_t sum)
{
    return sum ^ ((sum ^ wb_null_sum(column)) & (0 - (uint64_t)is_null));
}

#endif /* WB_ROW_VALUES_H */
