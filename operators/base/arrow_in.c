/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow batches as chunks: pointing where the layouts agree, else widened. */
#include <stdlib.h>
#include <string.h>

#include "operators/base/arrow.h"
#include "operators/base/fail.h"

struct wi_arrow_in {
    const struct wi_columns *columns;
    struct wi_op_mem *mem;
    struct wi_vec *own;   /* memory to widen into, and for nulls */
    struct wi_vec *shown; /* what the chunk points to */
};

weir_err wi_arrow_in_open(const struct wi_columns *columns,
                          struct wi_op_mem *mem, struct wi_arrow_in **out,
                          struct weir_error *err)
{
    struct wi_arrow_in *in = calloc(1, sizeof(*in));
    if (in == NULL) {
        return wi_exec_no_memory(err, sizeof(*in));
    }
    *in = (struct wi_arrow_in){.columns = columns, .mem = mem};
    in->shown = calloc(columns->n + 1, sizeof(*in->shown));
    if (in->shown == NULL) {
        wi_arrow_in_close(in);
        return wi_exec_no_memory(err, columns->n * sizeof(*in->shown));
    }
    weir_err code = wi_vecs_open(columns, mem, &in->own, err);
    if (code != WEIR_OK) {
        wi_arrow_in_close(in);
        return code;
    }
    *out = in;
    return WEIR_OK;
}

void wi_arrow_in_close(struct wi_arrow_in *in)
{
    if (in != NULL) {
        wi_vecs_close(in->own, in->columns->n, in->mem);
        free(in->shown);
        free(in);
    }
}

static bool bit(const uint8_t *bits, int64_t at)
{
    return (bits[at / 8] >> (at % 8)) & 1;
}

/* The eight bits of a byte as eight bytes, the lowest first, inverted. */
static uint64_t spread_inverted(uint8_t byte)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t x = (byte * ones) & 0x8040201008040201u;
    return (((x + 0x7f * ones) >> 7) & ones) ^ ones;
}

/* Bits first .. first+n-1, inverted, as a byte each. Returns whether one of
 * these bytes is set. */
static bool expand_nulls(const uint8_t *bits, int64_t first, uint32_t n,
                         uint8_t *null)
{
    uint64_t any = 0;
    uint32_t i = 0;
    if (first % 8 == 0) {
        for (; i + 8 <= n; i += 8) {
            uint64_t eight = spread_inverted(bits[(first + i) / 8]);
            memcpy(null + i, &eight, sizeof(eight));
            any |= eight;
        }
    }
    for (; i < n; i++) {
        null[i] = !bit(bits, first + i);
        any |= null[i];
    }
    return any != 0;
}

#define WIDEN(FROM, TO)                                                        \
    do {                                                                       \
        const FROM *from = (const FROM *)values + first;                       \
        TO *to = own->values;                                                  \
        for (uint32_t i = 0; i < n; i++) {                                     \
            to[i] = (TO)from[i];                                               \
        }                                                                      \
    } while (0)

static void widen_numbers(const struct wi_type *type, const void *values,
                          int64_t first, uint32_t n, struct wi_vec *own)
{
    switch (type->kind) {
    case WI_TYPE_INT8:
        WIDEN(int8_t, int64_t);
        break;
    case WI_TYPE_INT16:
        WIDEN(int16_t, int64_t);
        break;
    case WI_TYPE_INT32:
    case WI_TYPE_DATE32:
        WIDEN(int32_t, int64_t);
        break;
    case WI_TYPE_UINT8:
        WIDEN(uint8_t, int64_t);
        break;
    case WI_TYPE_UINT16:
        WIDEN(uint16_t, int64_t);
        break;
    case WI_TYPE_UINT32:
        WIDEN(uint32_t, int64_t);
        break;
    case WI_TYPE_UINT64:
        WIDEN(uint64_t, wi_i128);
        break;
    case WI_TYPE_FLOAT32:
        WIDEN(float, double);
        break;
    default: /* DECIMAL of at most WI_DECIMAL_SMALL digits */
        WIDEN(wi_i128, int64_t);
        break;
    }
}

static void widen_bool(const uint8_t *bits, int64_t first, uint32_t n,
                       struct wi_vec *own)
{
    uint8_t *to = own->values;
    for (uint32_t i = 0; i < n; i++) {
        to[i] = bit(bits, first + i);
    }
}

static void widen_text(const int32_t *offsets, const char *bytes, int64_t first,
                       uint32_t n, struct wi_vec *own)
{
    struct wi_str *to = own->values;
    for (uint32_t i = 0; i < n; i++) {
        int32_t begin = offsets[first + i];
        to[i].data = bytes + begin;
        to[i].n_bytes = (uint32_t)(offsets[first + i + 1] - begin);
    }
}

static void widen_fixed(const char *bytes, uint32_t width, int64_t first,
                        uint32_t n, struct wi_vec *own)
{
    struct wi_str *to = own->values;
    for (uint32_t i = 0; i < n; i++) {
        to[i].data = bytes + (first + i) * (int64_t)width;
        to[i].n_bytes = width;
    }
}

/* Null strings are empty (vec.h). */
static void empty_nulls(struct wi_vec *v, uint32_t n)
{
    struct wi_str *str = v->values;
    for (uint32_t i = 0; i < n; i++) {
        str[i].n_bytes = v->null[i] ? 0 : str[i].n_bytes;
    }
}

/* Do vectors hold these values in the layout of Arrow? */
static bool points(const struct wi_type *type)
{
    return type->kind == WI_TYPE_INT64 || type->kind == WI_TYPE_TIMESTAMP ||
           type->kind == WI_TYPE_FLOAT64 ||
           (type->kind == WI_TYPE_DECIMAL && wi_type_rep(type) == WI_I128);
}

/* Arrow's buffers are read only, and so are chunks. */
static void *pointed(const void *values, enum wi_rep rep, int64_t first)
{
    const char *at = (const char *)values + first * wi_rep_bytes(rep);
    return (void *)(uintptr_t)at;
}

static void widen(const struct wi_type *type, const struct ArrowArray *from,
                  int64_t first, uint32_t n, struct wi_vec *own)
{
    switch (type->kind) {
    case WI_TYPE_BOOL:
        widen_bool(from->buffers[1], first, n, own);
        break;
    case WI_TYPE_UTF8:
    case WI_TYPE_BINARY:
        widen_text(from->buffers[1], from->buffers[2], first, n, own);
        break;
    case WI_TYPE_FIXED:
        widen_fixed(from->buffers[1], type->n_bytes, first, n, own);
        break;
    default:
        widen_numbers(type, from->buffers[1], first, n, own);
        break;
    }
}

static void slice_column(const struct wi_type *type,
                         const struct ArrowArray *from, int64_t first,
                         uint32_t n, struct wi_vec *own, struct wi_vec *shown)
{
    const uint8_t *valid = from->buffers[0];
    bool nulls = valid != NULL && from->null_count != 0 &&
                 expand_nulls(valid, first, n, own->null);
    *shown = *own;
    if (points(type)) {
        shown->values = pointed(from->buffers[1], own->rep, first);
    } else {
        widen(type, from, first, n, own);
    }
    if (!nulls) {
        shown->null = NULL;
    } else if (own->rep == WI_STR) {
        empty_nulls(shown, n);
    }
}

void wi_arrow_in_slice(struct wi_arrow_in *in, const struct ArrowArray *batch,
                       int64_t first, uint32_t n, struct wi_chunk *out)
{
    for (uint32_t c = 0; c < in->columns->n; c++) {
        const struct ArrowArray *from = batch->children[c];
        slice_column(&in->columns->at[c].type, from,
                     batch->offset + from->offset + first, n, &in->own[c],
                     &in->shown[c]);
    }
    *out =
        (struct wi_chunk){.n = n, .n_cols = in->columns->n, .col = in->shown};
}
