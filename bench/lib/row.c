/* SPDX-License-Identifier: Apache-2.0 */
/* Rows packed by hand. Each loop is compiled once for every kind of rows, so
 * that widths are constants in it. */
#include "bench/lib/row.h"

#include <assert.h>

#include "bench/lib/keys.h"
#include "bench/lib/row_values.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* unroll, whatever the build type says */
#endif

const char *const wb_row_names[WB_ROW_KINDS + 1] = {[WB_ROW_NARROW] = "narrow",
                                                    [WB_ROW_MIXED] = "mixed",
                                                    [WB_ROW_WIDE] = "wide"};

struct mixed {
    int64_t key;
    uint64_t amount[2];
    int32_t number;
    uint8_t text[WB_MIXED_TEXT_BYTES];
    uint8_t nulls;
    uint8_t text_bytes;
    uint8_t zero[6];
};

struct wide {
    int64_t key;
    uint8_t text[WB_WIDE_TEXT_BYTES];
    uint8_t nulls;
    uint8_t text_bytes;
    uint8_t zero[2];
};

static_assert(sizeof(struct mixed) == WB_MIXED_ROW_BYTES,
              "no gaps: rows are compared");
static_assert(sizeof(struct wide) == WB_WIDE_ROW_BYTES, "no gaps");

uint32_t wb_packed_bytes(enum wb_row row)
{
    static const uint32_t bytes[WB_ROW_KINDS] = {
        [WB_ROW_NARROW] = sizeof(int64_t),
        [WB_ROW_MIXED] = sizeof(struct mixed),
        [WB_ROW_WIDE] = sizeof(struct wide)};
    return bytes[row];
}

/* ---- one row ------------------------------------------------------------- */

WB_INLINE uint8_t null_bit(uint64_t bits, enum wb_column column)
{
    return (uint8_t)(wb_is_null(bits, column) << column);
}

WB_INLINE struct mixed mixed_of(int64_t key)
{
    const uint64_t bits = wb_bits_of(key);
    const bool no_text = wb_is_null(bits, WB_TEXT);
    struct mixed r = {
        .key = key,
        .number = wb_number_of(bits),
        .nulls = null_bit(bits, WB_NUMBER) | null_bit(bits, WB_AMOUNT) |
                 null_bit(bits, WB_TEXT),
        .text_bytes = no_text ? 0 : WB_MIXED_TEXT_BYTES,
    };
    wb_amount_of(r.amount, bits);
    wb_text_of(r.text, WB_MIXED_TEXT_BYTES, wb_letters_of(bits));
    return r;
}

WB_INLINE struct wide wide_of(int64_t key)
{
    const uint64_t bits = wb_bits_of(key);
    const bool no_text = wb_is_null(bits, WB_TEXT);
    struct wide r = {
        .key = key,
        .nulls = null_bit(bits, WB_TEXT),
        .text_bytes = no_text ? 0 : WB_WIDE_TEXT_BYTES,
    };
    wb_text_of(r.text, WB_WIDE_TEXT_BYTES, wb_letters_of(bits));
    return r;
}

WB_INLINE uint64_t value_sum(uint8_t nulls, enum wb_column column, uint64_t sum)
{
    return wb_sum_of(nulls >> column & 1, column, sum);
}

/* What a row adds to the sum, its text's part said by the caller. */
WB_INLINE uint64_t mixed_sum(const struct mixed *r, uint64_t text)
{
    return (uint64_t)r->key +
           value_sum(r->nulls, WB_NUMBER, (uint64_t)r->number) +
           value_sum(r->nulls, WB_AMOUNT, wb_amount_sum(r->amount)) +
           value_sum(r->nulls, WB_TEXT, text);
}

WB_INLINE uint64_t wide_sum(const struct wide *r, uint64_t text)
{
    return (uint64_t)r->key + value_sum(r->nulls, WB_TEXT, text);
}

/* ---- many rows ----------------------------------------------------------- */

uint64_t wb_row_keys(int64_t *keys, const struct wb_row_range *range)
{
    uint64_t sum = wb_keys_make(keys, range->first, range->n);
    return range->distinct == 0 ? sum
                                : wb_keys_fold(keys, range->n, range->distinct);
}

WB_INLINE uint64_t text_sum_of(int64_t key, uint32_t bytes)
{
    return wb_letters_sum(bytes, wb_letters_of(wb_bits_of(key)));
}

static uint64_t make_mixed(struct mixed *rows, const int64_t *keys, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        rows[i] = mixed_of(keys[i]);
        sum += mixed_sum(&rows[i], text_sum_of(keys[i], WB_MIXED_TEXT_BYTES));
    }
    return sum;
}

static uint64_t make_wide(struct wide *rows, const int64_t *keys, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        rows[i] = wide_of(keys[i]);
        sum += wide_sum(&rows[i], text_sum_of(keys[i], WB_WIDE_TEXT_BYTES));
    }
    return sum;
}

uint64_t wb_packed_make(uint8_t *rows, enum wb_row row,
                        const struct wb_row_range *range)
{
    int64_t keys[WB_BATCH_ROWS];
    if (row == WB_ROW_NARROW) {
        return wb_row_keys((int64_t *)(void *)rows, range);
    }
    (void)wb_row_keys(keys, range);
    return row == WB_ROW_MIXED ? make_mixed((void *)rows, keys, range->n)
                               : make_wide((void *)rows, keys, range->n);
}

WB_INLINE void keys_of(int64_t *keys, const uint8_t *rows, size_t bytes,
                       uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        memcpy(&keys[i], rows + i * bytes, sizeof(*keys));
    }
}

void wb_packed_keys(int64_t *keys, enum wb_row row, const uint8_t *rows,
                    uint32_t n)
{
    switch (row) {
    case WB_ROW_MIXED:
        keys_of(keys, rows, sizeof(struct mixed), n);
        break;
    case WB_ROW_WIDE:
        keys_of(keys, rows, sizeof(struct wide), n);
        break;
    default:
        memcpy(keys, rows, (size_t)n * sizeof(*keys));
        break;
    }
}

uint64_t wb_odd_text_sum(const uint8_t *text, uint32_t bytes)
{
    uint64_t sum = bytes;
    for (uint32_t at = 0; at < bytes; at += 8) {
        uint64_t word = 0;
        memcpy(&word, text + at, bytes - at < 8 ? bytes - at : 8);
        sum += word;
    }
    return sum;
}

uint64_t wb_packed_sum(enum wb_row row, const uint8_t *rows, uint64_t n)
{
    const struct mixed *mixed = (const struct mixed *)(const void *)rows;
    const struct wide *wide = (const struct wide *)(const void *)rows;
    uint64_t sum = 0;
    switch (row) {
    case WB_ROW_MIXED:
        for (uint64_t i = 0; i < n; i++) {
            sum += mixed_sum(&mixed[i],
                             wb_text_sum(mixed[i].text, mixed[i].text_bytes,
                                         WB_MIXED_TEXT_BYTES));
        }
        return sum;
    case WB_ROW_WIDE:
        for (uint64_t i = 0; i < n; i++) {
            sum +=
                wide_sum(&wide[i], wb_text_sum(wide[i].text, wide[i].text_bytes,
                                               WB_WIDE_TEXT_BYTES));
        }
        return sum;
    default:
        return wb_keys_sum((const int64_t *)(const void *)rows, n);
    }
}

static bool is_right(enum wb_row row, const uint8_t *at, int64_t key)
{
    if (row == WB_ROW_MIXED) {
        struct mixed right = mixed_of(key);
        return memcmp(at, &right, sizeof(right)) == 0;
    }
    struct wide right = wide_of(key);
    return memcmp(at, &right, sizeof(right)) == 0;
}

bool wb_packed_is_right(enum wb_row row, const uint8_t *rows, uint64_t n)
{
    const size_t bytes = wb_packed_bytes(row);
    bool right = true;
    for (uint64_t i = 0; i < n && row != WB_ROW_NARROW; i++) {
        int64_t key;
        memcpy(&key, rows + i * bytes, sizeof(key));
        right = is_right(row, rows + i * bytes, key) && right;
    }
    return right;
}
