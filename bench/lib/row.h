/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The rows of the two-stage plan: what columns they have, and what is in them.
 *
 *   narrow  key int64
 *   mixed   key int64, number int32, amount decimal128(28,2), text of 20 bytes
 *   wide    key int64, text of 100 bytes
 *
 * Every value follows from its row's key, and every column but the key is null
 * in one row of 16. So a consumer can tell whether a row is right without
 * knowing where it comes from.
 *
 * Packed by hand, as opponents send rows (row_batch.h has the columns):
 *
 *   mixed   key 8 | amount 16 | number 4 | text 20  | nulls 1, length 1, 0 6
 *   wide    key 8 | text 100                        | nulls 1, length 1, 0 2
 *
 * All packed rows of a kind are of one size, a multiple of 8, with room for the
 * longest text: it is the fastest form to scatter, and the texts of these rows
 * fill it. A null's place holds what would be there, and counts for nothing.
 *
 * The sum of a row is the sum of its values mod 2^64: a text's 8-byte words,
 * the last filled up with zeros, plus its length; for a null a constant of its
 * column. It does not depend on the order of rows, nor on the form.
 *
 * Errors: none. Blocks: never. Threads: any. Ownership: the caller's arrays.
 */
#ifndef WB_ROW_H
#define WB_ROW_H

#include <stdbool.h>
#include <stdint.h>

enum wb_row { WB_ROW_NARROW, WB_ROW_MIXED, WB_ROW_WIDE, WB_ROW_KINDS };

/* Columns beside the key; bit of each in the nulls of a packed row. */
enum wb_column { WB_NUMBER, WB_AMOUNT, WB_TEXT, WB_COLUMNS };

#define WB_MIXED_TEXT_BYTES 20u
#define WB_WIDE_TEXT_BYTES 100u
#define WB_MIXED_ROW_BYTES 56u /* packed */
#define WB_WIDE_ROW_BYTES 112u
#define WB_MOST_ROW_BYTES WB_WIDE_ROW_BYTES

/** Rows to make: their keys are those of row numbers [first, first + n). */
struct wb_row_range {
    uint64_t first;
    uint32_t n;        /* at most WB_BATCH_ROWS */
    uint64_t distinct; /* keys are folded into [0, distinct) [0: not] */
};

/** The keys of a range; returns their sum. */
uint64_t wb_row_keys(int64_t *keys, const struct wb_row_range *range);

/** Their names, in the order of enum wb_row, then NULL. */
extern const char *const wb_row_names[WB_ROW_KINDS + 1];

/** Bytes of a packed row. */
uint32_t wb_packed_bytes(enum wb_row row);

/** Make packed rows; returns their sum. */
uint64_t wb_packed_make(uint8_t *rows, enum wb_row row,
                        const struct wb_row_range *range);

/** The keys of packed rows. */
void wb_packed_keys(int64_t *keys, enum wb_row row, const uint8_t *rows,
                    uint32_t n);

/** Sum of packed rows mod 2^64. */
uint64_t wb_packed_sum(enum wb_row row, const uint8_t *rows, uint64_t n);

/** What a text of any length adds to the sum. */
uint64_t wb_odd_text_sum(const uint8_t *text, uint32_t bytes);

/** Whether every byte of these rows is what its key makes it. */
bool wb_packed_is_right(enum wb_row row, const uint8_t *rows, uint64_t n);

#endif /* WB_ROW_H */
