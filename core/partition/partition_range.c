/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Range partitioning: a row goes to the destination whose number is the count
 * of bounds that are not greater than its key. Nulls sort first, NaN last.
 *
 * Keys are searched a column at a time: after column k a row knows the run of
 * bounds [lo, hi) that agree with it on columns 0..k, and the search of column
 * k + 1 stays inside that run, where the bounds ascend by column k + 1. Values
 * of up to 8 bytes are compared as words whose unsigned order is the value's;
 * longer decimals as bytes, most significant first.
 */
#include "core/partition/partition_range.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/base/err.h"
#include "core/format/import.h"
#include "core/format/text.h"
#include "core/partition/partition_hash.h"

enum { DECIMAL_MOST = 32 }; /* bytes */

/* The bounds' values in one key column, n of them. */
struct bound_column {
    const struct wi_column *column;
    uint8_t *null;   /* 1: null */
    uint64_t *words; /* values of up to 8 bytes, else NULL */
    uint8_t *bytes;  /* else: values one after the other */
    uint32_t *begin; /* n + 1 positions in bytes */
};

struct wi_bounds {
    uint32_t n; /* n_dest - 1 */
    uint32_t n_columns;
    uint32_t n_null; /* bounds whose first column is null */
    struct bound_column *columns;
};

/* One value to look for. */
struct key {
    uint64_t word;
    const uint8_t *bytes;
    uint32_t len;
    uint32_t null;
};

static bool by_word(const struct wi_column *c)
{
    return c->kind == WI_KIND_BITS ||
           (c->kind == WI_KIND_FIXED && c->order != WI_ORDER_BYTES &&
            c->width <= 8);
}

/* Change words in place so that their unsigned order is that of the values. */
static void make_sortable(enum wi_order order, uint64_t *words, uint32_t n)
{
    const uint64_t sign = (uint64_t)1 << 63;
    if (order == WI_ORDER_SIGNED) {
        for (uint32_t i = 0; i < n; i++) {
            words[i] ^= sign;
        }
    } else if (order == WI_ORDER_FLOAT) {
        for (uint32_t i = 0; i < n; i++) {
            words[i] = (words[i] & sign) != 0 ? ~words[i] : words[i] | sign;
        }
    }
}

static uint32_t is_null(const struct wi_view *v, uint64_t row)
{
    return v->validity != NULL && !wi_bit(v->validity, v->offset + row);
}

/* A little-endian signed integer of `width` bytes as bytes that memcmp
 * orders. */
static void put_decimal(const uint8_t *value, uint32_t width, uint8_t *out)
{
    for (uint32_t i = 0; i < width; i++) {
        out[i] = value[width - 1 - i];
    }
    out[0] ^= 0x80;
}

/* The bytes of a value; decimals are put into `buffer`. */
static void get_bytes(const struct wi_column *c, const struct wi_view *v,
                      uint64_t row, uint8_t *buffer, struct key *key)
{
    uint64_t at = v->offset + row;
    const uint8_t *values = v->values;

    if (c->kind == WI_KIND_VAR) {
        key->bytes = wi_text_at(v, row, &key->len);
        return;
    }
    key->bytes = values + at * c->width;
    key->len = c->width;
    if (c->order == WI_ORDER_SIGNED) {
        put_decimal(key->bytes, c->width, buffer);
        key->bytes = buffer;
    }
}

static int compare_bytes(const uint8_t *a, uint32_t a_len, const uint8_t *b,
                         uint32_t b_len)
{
    uint32_t len = wi_min_u32(a_len, b_len);
    int order = len == 0 ? 0 : memcmp(a, b, len);
    return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

/* < 0 if bound i is less than the key, 0 if equal. */
static int compare(const struct bound_column *b, uint32_t i,
                   const struct key *key)
{
    if (b->null[i] || key->null) {
        return (int)key->null - (int)b->null[i];
    }
    if (b->words != NULL) {
        return (b->words[i] > key->word) - (b->words[i] < key->word);
    }
    return compare_bytes(b->bytes + b->begin[i], b->begin[i + 1] - b->begin[i],
                         key->bytes, key->len);
}

/* ---- opening ------------------------------------------------------------- */

static weir_err copy_words(struct bound_column *b, const struct wi_view *v,
                           uint32_t n)
{
    b->words = calloc((size_t)n + 1, sizeof(uint64_t));
    if (b->words == NULL) {
        return WEIR_ERR_NO_MEMORY;
    }
    wi_key_words(b->column, v, 0, n, 0, b->words);
    make_sortable(b->column->order, b->words, n);
    return WEIR_OK;
}

static weir_err copy_bytes(struct bound_column *b, const struct wi_view *v,
                           uint32_t n)
{
    uint8_t buffer[DECIMAL_MOST];
    struct key key = {0};
    uint64_t total = 0;

    for (uint32_t i = 0; i < n; i++) {
        get_bytes(b->column, v, i, buffer, &key);
        total += b->null[i] ? 0 : key.len;
    }
    b->bytes = malloc(total + 1);
    b->begin = calloc((size_t)n + 1, sizeof(uint32_t));
    if (b->bytes == NULL || b->begin == NULL || total > UINT32_MAX) {
        return WEIR_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < n; i++) {
        get_bytes(b->column, v, i, buffer, &key);
        uint32_t len = b->null[i] ? 0 : key.len;
        if (len > 0) {
            memcpy(b->bytes + b->begin[i], key.bytes, len);
        }
        b->begin[i + 1] = b->begin[i] + len;
    }
    return WEIR_OK;
}

static weir_err copy_column(struct bound_column *b, const struct wi_view *v,
                            uint32_t n)
{
    b->null = calloc((size_t)n + 1, 1);
    if (b->null == NULL) {
        return WEIR_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < n; i++) {
        b->null[i] = (uint8_t)is_null(v, i);
    }
    return by_word(b->column) ? copy_words(b, v, n) : copy_bytes(b, v, n);
}

/* Bound i - 1 against bound i: <= 0 if they are in order. */
static int compare_bounds(const struct wi_bounds *b, uint32_t i)
{
    int order = 0;
    for (uint32_t k = 0; k < b->n_columns && order == 0; k++) {
        const struct bound_column *c = &b->columns[k];
        struct key key = {.null = c->null[i]};
        if (c->words != NULL) {
            key.word = c->words[i];
        } else {
            key.bytes = c->bytes + c->begin[i];
            key.len = c->begin[i + 1] - c->begin[i];
        }
        order = compare(c, i - 1, &key);
    }
    return order;
}

static weir_err check_order(struct wi_bounds *b, struct weir_error *err)
{
    for (uint32_t i = 1; i < b->n; i++) {
        if (compare_bounds(b, i) > 0) {
            return wi_fail(err, WEIR_ERR_ARG,
                           "range: bound %u is greater than bound %u; bounds "
                           "must ascend",
                           i - 1, i);
        }
    }
    while (b->n_null < b->n && b->columns[0].null[b->n_null]) {
        b->n_null++;
    }
    return WEIR_OK;
}

/* Views of the bounds, checked as a batch of the key columns. */
static weir_err import_bounds(const struct wi_schema *s,
                              const uint32_t *key_columns, uint32_t n_keys,
                              const struct ArrowArray *bounds,
                              struct wi_view *views, struct weir_error *err)
{
    struct wi_schema keys = {
        .n_columns = n_keys, .n_top = n_keys, .n_var = s->n_var};
    keys.columns = calloc(n_keys, sizeof(*keys.columns));
    if (keys.columns == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "range: no memory");
    }
    for (uint32_t k = 0; k < n_keys; k++) {
        keys.columns[k] = s->columns[key_columns[k]];
    }
    weir_err rc = wi_schema_import(&keys, bounds, views, err);
    if (rc == WEIR_OK) {
        rc = wi_schema_check_offsets(&keys, views, (uint64_t)bounds->length,
                                     err);
    }
    free(keys.columns);
    return rc;
}

static weir_err copy_bounds(const struct wi_schema *s,
                            const uint32_t *key_columns,
                            const struct wi_view *views, struct wi_bounds *b,
                            struct weir_error *err)
{
    b->columns = calloc(b->n_columns, sizeof(*b->columns));
    if (b->columns == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "range: no memory");
    }
    for (uint32_t k = 0; k < b->n_columns; k++) {
        b->columns[k].column = &s->columns[key_columns[k]];
        if (copy_column(&b->columns[k], &views[k], b->n) != WEIR_OK) {
            return wi_fail(err, WEIR_ERR_NO_MEMORY,
                           "range: no memory for %u bounds", b->n);
        }
    }
    return check_order(b, err);
}

weir_err wi_bounds_open(const struct wi_schema *s, const uint32_t *key_columns,
                        uint32_t n_keys, uint32_t n_dest,
                        const struct ArrowArray *bounds, struct wi_bounds **out,
                        struct weir_error *err)
{
    if (bounds == NULL || bounds->length < 0 ||
        bounds->length >= (int64_t)n_dest) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "range: %u destinations take at most %u bounds, %s%lld",
                       n_dest, n_dest - 1,
                       bounds == NULL ? "there are none: " : "there are ",
                       bounds == NULL ? 0LL : (long long)bounds->length);
    }
    struct wi_bounds *b = calloc(1, sizeof(*b));
    struct wi_view *views = calloc(n_keys, sizeof(*views));
    weir_err rc = WEIR_ERR_NO_MEMORY;
    if (b == NULL || views == NULL) {
        (void)wi_fail(err, rc, "range: no memory");
    } else {
        b->n = (uint32_t)bounds->length;
        b->n_columns = n_keys;
        rc = import_bounds(s, key_columns, n_keys, bounds, views, err);
        rc = rc == WEIR_OK ? copy_bounds(s, key_columns, views, b, err) : rc;
    }
    free(views);
    if (rc != WEIR_OK) {
        wi_bounds_close(b);
        return rc;
    }
    *out = b;
    return WEIR_OK;
}

void wi_bounds_close(struct wi_bounds *b)
{
    if (b == NULL) {
        return;
    }
    for (uint32_t k = 0; b->columns != NULL && k < b->n_columns; k++) {
        free(b->columns[k].null);
        free(b->columns[k].words);
        free(b->columns[k].bytes);
        free(b->columns[k].begin);
    }
    free(b->columns);
    free(b);
}

/* ---- searching ----------------------------------------------------------- */

/* Number of words <= key; halves without a branch on the data. */
static uint32_t count_not_greater(const uint64_t *words, uint32_t n,
                                  uint64_t key)
{
    const uint64_t *base = words;
    uint32_t len = n;
    while (len > 1) {
        uint32_t half = len / 2;
        base += base[half - 1] <= key ? half : 0;
        len -= half;
    }
    return (uint32_t)(base - words) + (len == 1 && *base <= key);
}

/* First bound in [lo, hi) that is greater than the key, or, with `equal`, not
 * less. */
static uint32_t search(const struct bound_column *b, uint32_t lo, uint32_t hi,
                       const struct key *key, bool equal)
{
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        int order = compare(b, middle, key);
        if (order < 0 || (order == 0 && !equal)) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    return lo;
}

/* One key column by word: the common plan. */
static void split_words(struct wi_partition *p, const struct wi_view *v,
                        uint32_t first, uint32_t n, uint16_t *dest)
{
    const struct wi_bounds *b = p->bounds;
    const struct bound_column *c = &b->columns[0];

    wi_key_words(c->column, v, first, n, 0, p->words);
    make_sortable(c->column->order, p->words, n);
    for (uint32_t i = 0; i < n; i++) {
        dest[i] = (uint16_t)(b->n_null + count_not_greater(c->words + b->n_null,
                                                           b->n - b->n_null,
                                                           p->words[i]));
    }
    for (uint32_t i = 0; v->validity != NULL && i < n; i++) {
        dest[i] =
            is_null(v, (uint64_t)first + i) ? (uint16_t)b->n_null : dest[i];
    }
}

/* Narrow the runs [lo, hi) of n rows by key column k; in the last column `hi`
 * becomes the destination. */
static void narrow(struct wi_partition *p, const struct wi_view *v, uint32_t k,
                   uint32_t first, uint32_t n, uint32_t *lo, uint32_t *hi)
{
    const struct bound_column *c = &p->bounds->columns[k];
    uint8_t buffer[DECIMAL_MOST];

    if (c->words != NULL) {
        wi_key_words(c->column, v, first, n, 0, p->words);
        make_sortable(c->column->order, p->words, n);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct key key = {.null = is_null(v, (uint64_t)first + i)};
        if (c->words != NULL) {
            key.word = p->words[i];
        } else {
            get_bytes(c->column, v, (uint64_t)first + i, buffer, &key);
        }
        uint32_t begin = search(c, lo[i], hi[i], &key, true);
        hi[i] = search(c, begin, hi[i], &key, false);
        lo[i] = begin;
    }
}

static void split_columns(struct wi_partition *p, const struct wi_view *views,
                          uint32_t first, uint32_t n, uint16_t *dest)
{
    uint32_t lo[WI_KEY_BLOCK];
    uint32_t hi[WI_KEY_BLOCK];

    for (uint32_t i = 0; i < n; i++) {
        lo[i] = 0;
        hi[i] = p->bounds->n;
    }
    for (uint32_t k = 0; k < p->n_keys; k++) {
        narrow(p, &views[p->key_columns[k]], k, first, n, lo, hi);
    }
    for (uint32_t i = 0; i < n; i++) {
        dest[i] = (uint16_t)hi[i];
    }
}

void wi_range_split(struct wi_partition *p, const struct wi_view *views,
                    uint32_t first, uint32_t n)
{
    bool words = p->n_keys == 1 && p->bounds->columns[0].words != NULL;

    for (uint32_t i = 0; i < n; i += WI_KEY_BLOCK) {
        uint32_t rows = wi_min_u32(n - i, WI_KEY_BLOCK);
        if (words) {
            split_words(p, &views[p->key_columns[0]], first + i, rows,
                        p->dest + i);
        } else {
            split_columns(p, views, first + i, rows, p->dest + i);
        }
    }
}
