/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Random schemas and batches for unit tests, and cells by value.
 *
 * A fixture owns a schema, its parsed form and one batch whose columns start at
 * offsets that are no multiple of 8, hold nulls, empty and long strings, and
 * lie in buffers of exactly the needed length, so that ASan finds a read beyond
 * them. Everything follows from the seed.
 */
#ifndef WT_BATCH_FIXTURE_H
#define WT_BATCH_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/import.h"
#include "core/format/schema.h"
#include "core/format/text.h"
#include "core/partition/partition_impl.h"

enum { WT_MAX_COLUMNS = 8, WT_MAX_VALUE = 4096 };

static const char *const wt_formats[] = {
    "c",   "C",        "s",         "S",          "i",    "I",       "l",
    "L",   "f",        "g",         "b",          "tdD",  "tss:UTC", "u",
    "z",   "w:1",      "w:7",       "w:16",       "tsn:", "d:38,4",  "w:100",
    "u",   "u",        "b",         "tdm",        "tts",  "ttn",     "tDu",
    "tiM", "d:9,2,32", "d:18,2,64", "d:76,2,256",
};

struct wt_batch {
    uint64_t random;
    struct wi_schema *schema;
    uint32_t n_columns;
    struct ArrowArray array;
    struct ArrowArray columns[WT_MAX_COLUMNS];
    struct ArrowArray *children[WT_MAX_COLUMNS];
    const void *buffers[WT_MAX_COLUMNS][3];
    struct wi_view views[WT_MAX_COLUMNS];
};

/** One value: null, or len bytes. Bits are one byte, 0 or 1. */
struct wt_cell {
    bool null;
    uint32_t len;
    const uint8_t *bytes;
    uint8_t bit;
};

static inline uint64_t wt_random(struct wt_batch *t)
{
    t->random++;
    return wi_splitmix(t->random * 0x9e3779b97f4a7c15u);
}

static inline void wt_no_release(struct ArrowArray *array)
{
    array->release = NULL;
}

static inline void wt_open_schema(struct wt_batch *t, uint64_t seed,
                                  const struct weir_field *fields, uint32_t n)
{
    struct ArrowSchema s;
    struct weir_error err = {0};
    memset(t, 0, sizeof(*t));
    t->random = seed;
    t->n_columns = n;
    cr_assert_eq(weir_schema_build(fields, n, &s, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(wi_schema_open(&s, &t->schema, &err), WEIR_OK, "%s",
                 err.message);
    s.release(&s);
}

static inline void wt_random_schema(struct wt_batch *t, uint64_t seed)
{
    struct weir_field fields[WT_MAX_COLUMNS];
    char names[WT_MAX_COLUMNS][8];
    struct wt_batch rng = {.random = seed};
    uint32_t n = 1 + (uint32_t)(wt_random(&rng) % WT_MAX_COLUMNS);
    size_t n_formats = sizeof(wt_formats) / sizeof(wt_formats[0]);

    for (uint32_t i = 0; i < n; i++) {
        snprintf(names[i], sizeof(names[i]), "c%u", i);
        fields[i].name = names[i];
        fields[i].format = wt_formats[wt_random(&rng) % n_formats];
        fields[i].nullable = (int)(wt_random(&rng) & 1);
    }
    wt_open_schema(t, rng.random, fields, n);
}

static inline uint8_t *wt_random_bytes(struct wt_batch *t, size_t n)
{
    uint8_t *bytes = malloc(n == 0 ? 1 : n);
    cr_assert_not_null(bytes);
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (uint8_t)wt_random(t);
    }
    return bytes;
}

static inline uint32_t wt_random_len(struct wt_batch *t, uint32_t max_len)
{
    switch (wt_random(t) % 4) {
    case 0:
        return 0;
    case 1:
        return (uint32_t)(wt_random(t) % (max_len + 1));
    default:
        return (uint32_t)(wt_random(t) % (max_len / 8 + 1));
    }
}

static inline void wt_fill_var(struct wt_batch *t, uint32_t c, uint64_t rows,
                               uint32_t max_len)
{
    int32_t *offsets = malloc((rows + 1) * sizeof(*offsets));
    cr_assert_not_null(offsets);
    offsets[0] = (int32_t)(wt_random(t) % 5);
    for (uint64_t i = 0; i < rows; i++) {
        offsets[i + 1] = offsets[i] + (int32_t)wt_random_len(t, max_len);
    }
    t->buffers[c][1] = offsets;
    t->buffers[c][2] = wt_random_bytes(t, (size_t)offsets[rows]);
}

static inline void wt_fill_column(struct wt_batch *t, uint32_t c, uint64_t rows,
                                  uint64_t parent_offset, uint32_t max_len)
{
    const struct wi_column *col = &t->schema->columns[c];
    uint64_t offset = wt_random(t) % 20;
    uint64_t all = offset + parent_offset + rows;
    bool nulls = col->nullable && wt_random(t) % 4 != 0;

    t->buffers[c][0] = nulls ? wt_random_bytes(t, (all + 7) / 8) : NULL;
    if (col->kind == WI_KIND_VAR) {
        wt_fill_var(t, c, all, max_len);
    } else {
        t->buffers[c][1] = wt_random_bytes(
            t, col->kind == WI_KIND_BITS ? (all + 7) / 8 : all * col->width);
    }
    t->columns[c] = (struct ArrowArray){
        .length = (int64_t)(parent_offset + rows),
        .null_count = nulls ? -1 : 0,
        .offset = (int64_t)offset,
        .n_buffers = col->kind == WI_KIND_VAR ? 3 : 2,
        .buffers = t->buffers[c],
        .release = wt_no_release,
    };
    t->children[c] = &t->columns[c];
}

static inline void wt_free_batch(struct wt_batch *t)
{
    for (uint32_t c = 0; c < t->n_columns; c++) {
        for (int b = 0; b < 3; b++) {
            free((void *)(uintptr_t)t->buffers[c][b]);
            t->buffers[c][b] = NULL;
        }
    }
}

/** Replace the batch by a random one; strings are up to max_len bytes. */
static inline void wt_random_batch(struct wt_batch *t, uint64_t rows,
                                   uint32_t max_len)
{
    static const void *no_buffers[1];
    struct weir_error err = {0};
    uint64_t offset = wt_random(t) % 11;

    wt_free_batch(t);
    for (uint32_t c = 0; c < t->n_columns; c++) {
        wt_fill_column(t, c, rows, offset, max_len);
    }
    t->array = (struct ArrowArray){
        .length = (int64_t)rows,
        .offset = (int64_t)offset,
        .n_buffers = 1,
        .n_children = t->n_columns,
        .buffers = no_buffers,
        .children = t->children,
        .release = wt_no_release,
    };
    cr_assert_eq(wi_schema_import(t->schema, &t->array, t->views, &err),
                 WEIR_OK, "%s", err.message);
}

static inline void wt_close(struct wt_batch *t)
{
    wt_free_batch(t);
    wi_schema_close(t->schema);
}

static inline bool wt_bit(const void *bits, uint64_t at)
{
    return (((const uint8_t *)bits)[at >> 3] >> (at & 7) & 1) != 0;
}

/** Value of a row of a view. */
static inline struct wt_cell wt_cell(const struct wi_column *c,
                                     const struct wi_view *v, uint64_t row)
{
    struct wt_cell cell = {0};
    uint64_t at = v->offset + row;

    cell.null = v->validity != NULL && !wt_bit(v->validity, at);
    if (c->kind == WI_KIND_BITS) {
        cell.bit = wt_bit(v->values, at);
        cell.len = 1;
    } else if (c->kind == WI_KIND_FIXED) {
        cell.bytes = (const uint8_t *)v->values + at * c->width;
        cell.len = c->width;
    } else {
        cell.bytes = wi_text_at(v, row, &cell.len);
    }
    return cell;
}

static inline bool wt_equal(const struct wt_cell *a, const struct wt_cell *b)
{
    if (a->null || b->null) {
        return a->null == b->null;
    }
    if (a->len != b->len || a->bit != b->bit) {
        return false;
    }
    return a->bytes == NULL || b->bytes == NULL
               ? a->bytes == b->bytes || a->len == 0
               : memcmp(a->bytes, b->bytes, a->len) == 0;
}

#endif /* WT_BATCH_FIXTURE_H */
