/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks as Arrow batches: selected rows, dense and narrow. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/arrow.h"
#include "operators/base/fail.h"

#define OFFSETS_BYTES ((WI_CHUNK_ROWS + 1) * sizeof(int32_t))
#define BITMAP_BYTES (WI_CHUNK_ROWS / 8)

/* One column's buffers. Strings have offsets in `values`, bytes in `text`. */
struct out_column {
    struct ArrowArray array;
    const void *buffers[3];
    uint8_t *valid;
    void *values;
    size_t values_bytes;
    char *text;
    size_t text_bytes;
};

struct wi_arrow_out {
    const struct wi_columns *columns;
    struct wi_op_mem *mem;
    struct ArrowArray batch;
    struct ArrowArray **children;
    const void *no_buffer;
    struct out_column *col;
};

static void release_nothing(struct ArrowArray *array)
{
    (void)array;
}

static size_t column_bytes(const struct wi_type *type)
{
    return type->kind == WI_TYPE_BOOL ? BITMAP_BYTES
           : wi_type_is_var(type)     ? OFFSETS_BYTES
                                  : (size_t)wi_type_bytes(type) * WI_CHUNK_ROWS;
}

static weir_err open_column(struct wi_arrow_out *out, uint32_t c,
                            struct weir_error *err)
{
    const struct wi_type *type = &out->columns->at[c].type;
    struct out_column *col = &out->col[c];
    void *at = NULL;
    weir_err code =
        wi_mem_take(out->mem, column_bytes(type) + BITMAP_BYTES, &at, err);
    if (code != WEIR_OK) {
        return code;
    }
    col->values = at;
    col->values_bytes = column_bytes(type);
    col->valid = (uint8_t *)at + col->values_bytes;
    col->array = (struct ArrowArray){.n_buffers = wi_type_is_var(type) ? 3 : 2,
                                     .buffers = col->buffers,
                                     .release = release_nothing};
    col->buffers[1] = col->values;
    out->children[c] = &col->array;
    return WEIR_OK;
}

weir_err wi_arrow_out_open(const struct wi_columns *columns,
                           struct wi_op_mem *mem, struct wi_arrow_out **result,
                           struct weir_error *err)
{
    struct wi_arrow_out *out = calloc(1, sizeof(*out));
    if (out == NULL) {
        return wi_exec_no_memory(err, sizeof(*out));
    }
    out->columns = columns;
    out->mem = mem;
    out->col = calloc(columns->n + 1, sizeof(*out->col));
    out->children = calloc(columns->n + 1, sizeof(struct ArrowArray *));
    weir_err code = WEIR_OK;
    if (out->col == NULL || out->children == NULL) {
        code = wi_exec_no_memory(err, columns->n * sizeof(*out->col));
    }
    for (uint32_t c = 0; c < columns->n && code == WEIR_OK; c++) {
        code = open_column(out, c, err);
    }
    if (code != WEIR_OK) {
        wi_arrow_out_close(out);
        return code;
    }
    out->batch = (struct ArrowArray){.n_buffers = 1,
                                     .buffers = &out->no_buffer,
                                     .n_children = columns->n,
                                     .children = out->children,
                                     .release = release_nothing};
    *result = out;
    return WEIR_OK;
}

void wi_arrow_out_close(struct wi_arrow_out *out)
{
    if (out == NULL) {
        return;
    }
    for (uint32_t c = 0; out->col != NULL && c < out->columns->n; c++) {
        struct out_column *col = &out->col[c];
        wi_mem_put(out->mem, col->values, col->values_bytes + BITMAP_BYTES);
        wi_mem_put(out->mem, col->text, col->text_bytes);
    }
    free(out->col);
    free(out->children);
    free(out);
}

#define NARROW(FROM, TO)                                                       \
    do {                                                                       \
        const FROM *from = v->values;                                          \
        TO *to = values;                                                       \
        if (sel == NULL) {                                                     \
            for (uint32_t i = 0; i < n; i++) {                                 \
                to[i] = (TO)from[i];                                           \
            }                                                                  \
        } else {                                                               \
            for (uint32_t i = 0; i < n; i++) {                                 \
                to[i] = (TO)from[sel[i]];                                      \
            }                                                                  \
        }                                                                      \
    } while (0)

static void narrow_int64(uint32_t to_bytes, const struct wi_vec *v,
                         const uint32_t *sel, uint32_t n, void *values)
{
    switch (to_bytes) {
    case 1:
        NARROW(int64_t, int8_t);
        break;
    case 2:
        NARROW(int64_t, int16_t);
        break;
    case 4:
        NARROW(int64_t, int32_t);
        break;
    case 8:
        NARROW(int64_t, int64_t);
        break;
    default:
        NARROW(int64_t, wi_i128);
        break;
    }
}

static void narrow_numbers(const struct wi_type *type, const struct wi_vec *v,
                           const struct wi_chunk *chunk, void *values)
{
    const uint32_t *sel = chunk->sel;
    uint32_t n = chunk->n;
    if (v->rep == WI_I64) {
        narrow_int64(wi_type_bytes(type), v, sel, n, values);
    } else if (type->kind == WI_TYPE_UINT64) {
        NARROW(wi_i128, uint64_t);
    } else if (v->rep == WI_I128) {
        NARROW(wi_i128, wi_i128);
    } else if (type->kind == WI_TYPE_FLOAT32) {
        NARROW(double, float);
    } else {
        NARROW(double, double);
    }
}

/* Bit i of `bits` becomes the byte of row i, inverted if `invert` is 1.
 * Returns how many bits are set. */
static uint32_t pack_bits(const uint8_t *from, uint8_t invert,
                          const struct wi_chunk *chunk, uint8_t *bits)
{
    uint32_t set = 0;
    memset(bits, 0, (chunk->n + 7) / 8);
    for (uint32_t i = 0; i < chunk->n; i++) {
        uint8_t one = from[wi_chunk_pos(chunk, i)] ^ invert;
        bits[i / 8] = (uint8_t)(bits[i / 8] | (one << (i % 8)));
        set += one;
    }
    return set;
}

static void narrow_fixed(uint32_t width, const struct wi_vec *v,
                         const struct wi_chunk *chunk, char *values)
{
    const struct wi_str *str = wi_vec_str(v);
    for (uint32_t i = 0; i < chunk->n; i++) {
        const struct wi_str *s = &str[wi_chunk_pos(chunk, i)];
        char *to = values + (size_t)i * width;
        memset(to, 0, width); /* a null has no bytes */
        if (s->n_bytes > 0) {
            memcpy(to, s->data, s->n_bytes);
        }
    }
}

/* Room for n bytes of strings; what was there is not kept. */
static weir_err text_room(struct wi_arrow_out *out, struct out_column *col,
                          size_t n, struct weir_error *err)
{
    if (n <= col->text_bytes) {
        return WEIR_OK;
    }
    void *at = NULL;
    weir_err code = wi_mem_take(out->mem, 2 * n, &at, err);
    if (code == WEIR_OK) {
        wi_mem_put(out->mem, col->text, col->text_bytes);
        col->text = at;
        col->text_bytes = 2 * n;
    }
    return code;
}

static weir_err put_text(struct wi_arrow_out *out, uint32_t c,
                         const struct wi_chunk *chunk, struct weir_error *err)
{
    struct out_column *col = &out->col[c];
    const struct wi_str *str = wi_vec_str(&chunk->col[c]);
    int32_t *offsets = col->values;
    int64_t bytes = 0;
    for (uint32_t i = 0; i < chunk->n; i++) {
        offsets[i] = (int32_t)bytes;
        bytes += str[wi_chunk_pos(chunk, i)].n_bytes;
        if (bytes > INT32_MAX) {
            return wi_exec_fail(err, WEIR_ERR_QUERY_DATA,
                                "column \"%s\": the strings of %u rows take "
                                "over 2 GiB",
                                out->columns->at[c].name, chunk->n);
        }
    }
    offsets[chunk->n] = (int32_t)bytes;
    weir_err code = text_room(out, col, (size_t)bytes + 1, err);
    if (code != WEIR_OK) {
        return code;
    }
    for (uint32_t i = 0; i < chunk->n; i++) {
        const struct wi_str *s = &str[wi_chunk_pos(chunk, i)];
        if (s->n_bytes > 0) {
            memcpy(col->text + offsets[i], s->data, s->n_bytes);
        }
    }
    col->buffers[2] = col->text;
    return WEIR_OK;
}

static weir_err put_column(struct wi_arrow_out *out, uint32_t c,
                           const struct wi_chunk *chunk, struct weir_error *err)
{
    const struct wi_type *type = &out->columns->at[c].type;
    const struct wi_vec *v = &chunk->col[c];
    struct out_column *col = &out->col[c];
    col->array.length = chunk->n;
    col->array.null_count = 0;
    col->buffers[0] = NULL;
    if (v->null != NULL) {
        col->array.null_count =
            chunk->n - pack_bits(v->null, 1, chunk, col->valid);
        col->buffers[0] = col->array.null_count > 0 ? col->valid : NULL;
    }
    if (wi_type_is_var(type)) {
        return put_text(out, c, chunk, err);
    }
    if (type->kind == WI_TYPE_BOOL) {
        (void)pack_bits(wi_vec_bool(v), 0, chunk, col->values);
    } else if (type->kind == WI_TYPE_FIXED) {
        narrow_fixed(type->n_bytes, v, chunk, col->values);
    } else {
        narrow_numbers(type, v, chunk, col->values);
    }
    return WEIR_OK;
}

weir_err wi_arrow_out_put(struct wi_arrow_out *out,
                          const struct wi_chunk *chunk,
                          const struct ArrowArray **batch_out,
                          struct weir_error *err)
{
    for (uint32_t c = 0; c < out->columns->n; c++) {
        weir_err code = put_column(out, c, chunk, err);
        if (code != WEIR_OK) {
            return code;
        }
    }
    out->batch.length = chunk->n;
    *batch_out = &out->batch;
    return WEIR_OK;
}
