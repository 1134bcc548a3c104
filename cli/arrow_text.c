/* SPDX-License-Identifier: Apache-2.0 */
/* Values of Arrow columns as text. */
#include "cli/arrow_text.h"

struct arrow_column arrow_column_at(const struct wi_columns *columns,
                                    const struct ArrowArray *batch,
                                    uint32_t idx)
{
    return (struct arrow_column){
        .type = columns->at[idx].type,
        .array = batch->children[idx],
        .first = batch->offset + batch->children[idx]->offset,
    };
}

#define INTEGER(kind, type)                                                    \
    case kind:                                                                 \
        return ((const type *)values)[at]

static wi_i128 integer(enum wi_type_kind kind, const void *values, int64_t at)
{
    switch (kind) {
        INTEGER(WI_TYPE_INT8, int8_t);
        INTEGER(WI_TYPE_UINT8, uint8_t);
        INTEGER(WI_TYPE_INT16, int16_t);
        INTEGER(WI_TYPE_UINT16, uint16_t);
        INTEGER(WI_TYPE_INT32, int32_t);
        INTEGER(WI_TYPE_DATE32, int32_t);
        INTEGER(WI_TYPE_UINT32, uint32_t);
        INTEGER(WI_TYPE_UINT64, uint64_t);
        INTEGER(WI_TYPE_DECIMAL, wi_i128);
    default:
        return ((const int64_t *)values)[at];
    }
}

static bool bit(const uint8_t *bits, int64_t at)
{
    return ((bits[at / 8] >> (at % 8)) & 1) != 0;
}

static uint32_t print_fixed(const struct arrow_column *c, int64_t at,
                            char text[WI_VALUE_TEXT_BYTES])
{
    const void *values = c->array->buffers[1];
    const struct wi_type *type = &c->type;
    switch (type->kind) {
    case WI_TYPE_BOOL:
        return wi_bool_text(bit(values, at), text);
    case WI_TYPE_FLOAT32:
        return wi_float_text((double)((const float *)values)[at], true, text);
    case WI_TYPE_FLOAT64:
        return wi_float_text(((const double *)values)[at], false, text);
    case WI_TYPE_DATE32:
        return wi_date_text((int64_t)integer(type->kind, values, at), text);
    case WI_TYPE_TIMESTAMP:
        return wi_timestamp_text((int64_t)integer(type->kind, values, at),
                                 type->unit, text);
    default:
        return wi_exact_text(integer(type->kind, values, at), type->scale,
                             text);
    }
}

void arrow_text(const struct arrow_column *c, int64_t row,
                struct arrow_text *out)
{
    const int64_t at = c->first + row;
    const uint8_t *valid = c->array->buffers[0];
    const char *bytes = c->array->buffers[1];
    out->bytes =
        c->type.kind == WI_TYPE_BINARY || c->type.kind == WI_TYPE_FIXED;
    out->n_bytes = 0;
    if (valid != NULL && !bit(valid, at)) {
        out->text = NULL;
    } else if (c->type.kind == WI_TYPE_FIXED) {
        out->text = bytes + at * (int64_t)c->type.n_bytes;
        out->n_bytes = c->type.n_bytes;
    } else if (wi_type_is_var(&c->type)) {
        const int32_t *offsets = c->array->buffers[1];
        const char *data = c->array->buffers[2];
        out->text = data == NULL ? "" : data + offsets[at];
        out->n_bytes = (size_t)(offsets[at + 1] - offsets[at]);
    } else {
        out->text = out->memory;
        out->n_bytes = print_fixed(c, at, out->memory);
    }
}

void arrow_text_hex(const char *bytes, size_t n, char *hex_out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        const unsigned char byte = (unsigned char)bytes[i];
        hex_out[2 * i] = digits[byte >> 4];
        hex_out[2 * i + 1] = digits[byte & 15];
    }
}
