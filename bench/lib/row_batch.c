/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in columns. Like row.c, each loop knows the widths it works with. */
#include "bench/lib/row_batch.h"

#include <stddef.h>

#include "bench/lib/row_values.h"
#include "core/base/cc.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* unroll, whatever the build type says */
#endif

/* Columns of each kind of rows, the key first. */
struct layout {
    uint32_t columns;
    uint32_t text_column; /* 0: none */
    uint32_t text_bytes;
    uint32_t batch_rows;
};

static const struct layout layouts[WB_ROW_KINDS] = {
    [WB_ROW_NARROW] = {.columns = 1, .batch_rows = WB_BATCH_ROWS},
    [WB_ROW_MIXED] = {4, 3, WB_MIXED_TEXT_BYTES, WB_BATCH_ROWS},
    [WB_ROW_WIDE] = {2, 1, WB_WIDE_TEXT_BYTES, WB_BATCH_ROWS},
};

uint32_t wb_row_batch_rows(enum wb_row row)
{
    return layouts[row].batch_rows;
}

weir_err wb_row_schema(enum wb_row row, struct ArrowSchema *out,
                       struct weir_error *err)
{
    static const struct weir_field mixed[] = {{"key", "l", 0},
                                              {"number", "i", 1},
                                              {"amount", "d:28,2", 1},
                                              {"text", "u", 1}};
    static const struct weir_field wide[] = {{"key", "l", 0}, {"text", "u", 1}};
    return weir_schema_build(row == WB_ROW_WIDE ? wide : mixed,
                             layouts[row].columns, out, err);
}

/* ---- making -------------------------------------------------------------- */

/* To Arrow, an array without a release function is a released one. */
static void release_nothing(struct ArrowArray *array)
{
    array->release = NULL;
}

static void set_column(struct wb_row_batch *b, uint32_t c, const void *validity,
                       const void *values)
{
    b->buffers[c][0] = validity;
    b->buffers[c][1] = values;
    b->buffers[c][2] = b->text;
    b->children[c] = &b->columns[c];
    b->columns[c] = (struct ArrowArray){.null_count = c == 0 ? 0 : -1,
                                        .n_buffers = 2,
                                        .buffers = b->buffers[c],
                                        .release = release_nothing};
}

void wb_row_batch_init(struct wb_row_batch *b, enum wb_row row)
{
    const struct layout *l = &layouts[row];
    /* Rows are written before they are read; there is room for many. */
    memset(b, 0, offsetof(struct wb_row_batch, keys));
    memset(b->validity, 0, sizeof(b->validity));
    b->offsets[0] = 0;
    b->row = row;
    set_column(b, 0, NULL, b->keys);
    if (row == WB_ROW_MIXED) {
        set_column(b, 1, b->validity[WB_NUMBER], b->numbers);
        set_column(b, 2, b->validity[WB_AMOUNT], b->amounts);
    }
    if (l->text_column != 0) {
        set_column(b, l->text_column, b->validity[WB_TEXT], b->offsets);
        b->columns[l->text_column].n_buffers = 3;
    }
    b->array = (struct ArrowArray){.n_buffers = 1,
                                   .n_children = l->columns,
                                   .buffers = b->none,
                                   .children = b->children,
                                   .release = release_nothing};
}

/* Rows whose bits of validity are a word. */
struct some {
    uint32_t first;
    uint32_t n;
    uint64_t bits[64]; /* what their values are made of */
};

/* Validity of one column. */
WB_INLINE void make_validity(struct wb_row_batch *b, enum wb_column column,
                             const struct some *rows)
{
    uint64_t word = 0;
    for (uint32_t i = rows->n; i-- > 0;) {
        word = word * 2 + !wb_is_null(rows->bits[i], column);
    }
    b->validity[column][rows->first / 64] = word;
}

WB_INLINE uint64_t make_numbers(struct wb_row_batch *b, const struct some *rows)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < rows->n; i++) {
        const uint64_t bits = rows->bits[i];
        const int32_t number = wb_number_of(bits);
        b->numbers[rows->first + i] = number;
        sum +=
            wb_sum_of(wb_is_null(bits, WB_NUMBER), WB_NUMBER, (uint64_t)number);
    }
    make_validity(b, WB_NUMBER, rows);
    return sum;
}

WB_INLINE uint64_t make_amounts(struct wb_row_batch *b, const struct some *rows)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < rows->n; i++) {
        const uint64_t bits = rows->bits[i];
        uint64_t *amount = b->amounts[rows->first + i];
        wb_amount_of(amount, bits);
        sum += wb_sum_of(wb_is_null(bits, WB_AMOUNT), WB_AMOUNT,
                         wb_amount_sum(amount));
    }
    make_validity(b, WB_AMOUNT, rows);
    return sum;
}

WB_INLINE uint64_t make_texts(struct wb_row_batch *b, const struct some *rows,
                              uint32_t bytes)
{
    uint64_t sum = 0;
    uint32_t end = (uint32_t)b->offsets[rows->first];
    for (uint32_t i = 0; i < rows->n; i++) {
        const uint64_t bits = rows->bits[i];
        const uint64_t letters = wb_letters_of(bits);
        const bool none = wb_is_null(bits, WB_TEXT);
        wb_text_of(b->text + end, bytes, letters);
        sum += wb_sum_of(none, WB_TEXT, wb_letters_sum(bytes, letters));
        end += none ? 0 : bytes;
        b->offsets[rows->first + i + 1] = (int32_t)end;
    }
    make_validity(b, WB_TEXT, rows);
    return sum;
}

/* All columns but the key. */
static uint64_t make_others(struct wb_row_batch *b, uint32_t n)
{
    uint64_t sum = 0;
    struct some rows;
    for (rows.first = 0; rows.first < n; rows.first += 64) {
        rows.n = wi_min_u32(n - rows.first, 64);
        for (uint32_t i = 0; i < rows.n; i++) {
            rows.bits[i] = wb_bits_of(b->keys[rows.first + i]);
        }
        if (b->row == WB_ROW_MIXED) {
            sum += make_numbers(b, &rows) + make_amounts(b, &rows) +
                   make_texts(b, &rows, WB_MIXED_TEXT_BYTES);
        } else {
            sum += make_texts(b, &rows, WB_WIDE_TEXT_BYTES);
        }
    }
    return sum;
}

uint64_t wb_row_batch_make(struct wb_row_batch *b,
                           const struct wb_row_range *range)
{
    const uint32_t n = range->n;
    uint64_t sum = wb_row_keys(b->keys, range);
    sum += b->row == WB_ROW_NARROW ? 0 : make_others(b, n);
    for (uint32_t c = 0; c < layouts[b->row].columns; c++) {
        b->columns[c].length = n;
        b->columns[c].release = release_nothing;
    }
    b->array.length = n;
    b->array.release = release_nothing;
    return sum;
}

/* ---- looking ------------------------------------------------------------- */

/* A column of a batch from its first row on. */
struct column {
    const uint8_t *validity; /* NULL: no nulls */
    uint64_t first_bit;
    const void *values;
    const int32_t *offsets;
    const uint8_t *bytes;
};

static struct column column_of(const struct ArrowArray *batch, uint32_t i,
                               uint32_t width)
{
    const struct ArrowArray *a = batch->children[i];
    const uint64_t first = (uint64_t)(batch->offset + a->offset);
    const uint8_t *values = (const uint8_t *)a->buffers[1] + first * width;
    return (struct column){
        .validity = a->buffers[0],
        .first_bit = first,
        .values = values,
        .offsets = (const int32_t *)(const void *)values,
        .bytes = a->n_buffers == 3 ? a->buffers[2] : NULL,
    };
}

WB_INLINE bool is_valid(const struct column *c, uint64_t i)
{
    const uint64_t at = c->first_bit + i;
    return c->validity == NULL || (c->validity[at / 8] >> at % 8 & 1);
}

WB_INLINE uint64_t sum_numbers(const struct column *c, uint64_t n)
{
    const int32_t *numbers = c->values;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += wb_sum_of(!is_valid(c, i), WB_NUMBER, (uint64_t)numbers[i]);
    }
    return sum;
}

WB_INLINE uint64_t sum_amounts(const struct column *c, uint64_t n)
{
    const uint64_t(*amounts)[2] = c->values;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += wb_sum_of(!is_valid(c, i), WB_AMOUNT, wb_amount_sum(amounts[i]));
    }
    return sum;
}

WB_INLINE uint64_t sum_texts(const struct column *c, uint64_t n, uint32_t usual)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        const int32_t begin = c->offsets[i];
        const uint32_t bytes = (uint32_t)(c->offsets[i + 1] - begin);
        sum += wb_sum_of(!is_valid(c, i), WB_TEXT,
                         wb_text_sum(c->bytes + begin, bytes, usual));
    }
    return sum;
}

uint64_t wb_row_batch_sum(enum wb_row row, const struct ArrowArray *batch)
{
    const uint64_t n = (uint64_t)batch->length;
    const struct column keys = column_of(batch, 0, sizeof(int64_t));
    uint64_t sum = wb_keys_sum(keys.values, n);
    if (row == WB_ROW_MIXED) {
        const struct column numbers = column_of(batch, 1, sizeof(int32_t));
        const struct column amounts = column_of(batch, 2, 16);
        const struct column texts = column_of(batch, 3, sizeof(int32_t));
        sum += sum_numbers(&numbers, n) + sum_amounts(&amounts, n) +
               sum_texts(&texts, n, WB_MIXED_TEXT_BYTES);
    } else if (row == WB_ROW_WIDE) {
        const struct column texts = column_of(batch, 1, sizeof(int32_t));
        sum += sum_texts(&texts, n, WB_WIDE_TEXT_BYTES);
    }
    return sum;
}

static bool number_is_right(const struct column *c, uint64_t i, uint64_t bits)
{
    const int32_t *numbers = c->values;
    return is_valid(c, i) ? !wb_is_null(bits, WB_NUMBER) &&
                                numbers[i] == wb_number_of(bits)
                          : wb_is_null(bits, WB_NUMBER);
}

static bool amount_is_right(const struct column *c, uint64_t i, uint64_t bits)
{
    const uint64_t(*amounts)[2] = c->values;
    uint64_t right[2];
    wb_amount_of(right, bits);
    return is_valid(c, i)
               ? !wb_is_null(bits, WB_AMOUNT) && amounts[i][0] == right[0] &&
                     amounts[i][1] == right[1]
               : wb_is_null(bits, WB_AMOUNT);
}

static bool text_is_right(const struct column *c, uint64_t i, uint64_t bits,
                          uint32_t bytes)
{
    uint8_t right[WB_WIDE_TEXT_BYTES];
    const int32_t begin = c->offsets[i];
    wb_text_of(right, bytes, wb_letters_of(bits));
    return is_valid(c, i) ? !wb_is_null(bits, WB_TEXT) &&
                                c->offsets[i + 1] - begin == (int32_t)bytes &&
                                memcmp(c->bytes + begin, right, bytes) == 0
                          : wb_is_null(bits, WB_TEXT);
}

bool wb_row_batch_is_right(enum wb_row row, const struct ArrowArray *batch)
{
    const struct layout *l = &layouts[row];
    const struct column keys = column_of(batch, 0, sizeof(int64_t));
    struct column others[WB_COLUMNS + 1] = {keys};
    for (uint32_t c = 1; c < l->columns; c++) {
        const bool amount = row == WB_ROW_MIXED && c == 2;
        others[c] = column_of(batch, c, amount ? 16 : sizeof(int32_t));
    }
    const int64_t *key = keys.values;
    bool right = true;
    for (uint64_t i = 0; i < (uint64_t)batch->length; i++) {
        const uint64_t bits = wb_bits_of(key[i]);
        right = right &&
                (row != WB_ROW_MIXED || (number_is_right(&others[1], i, bits) &&
                                         amount_is_right(&others[2], i, bits)));
        right = right &&
                (l->text_column == 0 || text_is_right(&others[l->text_column],
                                                      i, bits, l->text_bytes));
    }
    return right;
}
