/* SPDX-License-Identifier: Apache-2.0 */
#include "core/format/intake_index.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/base/cc.h"
#include "core/base/err.h"
#include "core/format/frame_bits.h"

weir_err wi_room_make(struct wi_room *room, const struct wi_column *c,
                      size_t bytes, struct weir_error *err)
{
    if (wi_likely(room->mem != NULL && bytes <= room->bytes)) {
        return WEIR_OK;
    }
    free(room->mem);
    room->mem = malloc(bytes + 1);
    room->bytes = room->mem == NULL ? 0 : bytes;
    return room->mem != NULL
               ? WEIR_OK
               : wi_fail(err, WEIR_ERR_NO_MEMORY,
                         "batch: column %s: no memory for %zu bytes", c->name,
                         bytes);
}

bool wi_index_parse(const char *format, struct wi_index *out)
{
    static const char formats[] = "cCsSiIlL"; /* widths 1, 2, 4, 8 */
    const char *p = format[0] != '\0' && format[1] == '\0'
                        ? strchr(formats, format[0])
                        : NULL;
    if (p == NULL) {
        return false;
    }
    out->width = 1u << (p - formats) / 2;
    out->is_signed = (p - formats) % 2 == 0;
    return true;
}

/* Below 0 becomes as large as it can be. */
static inline uint64_t load_index(const uint8_t *indices, uint32_t width,
                                  bool is_signed, uint64_t i)
{
    uint64_t value = 0;
    switch (width) {
    case 1:
        value = indices[i];
        return is_signed && value > INT8_MAX ? UINT64_MAX : value;
    case 2:
        memcpy(&value, indices + i * 2, 2);
        return is_signed && value > INT16_MAX ? UINT64_MAX : value;
    case 4:
        value = wi_load_u32(indices + i * 4);
        return is_signed && value > INT32_MAX ? UINT64_MAX : value;
    default:
        return wi_load_u64(indices + i * 8);
    }
}

/* A bitmap and where its first row is; NULL: no nulls. */
struct bits {
    const uint8_t *bits;
    uint64_t offset;
};

static struct bits bits_of(const struct ArrowArray *a, uint64_t offset)
{
    return (struct bits){a->null_count != 0 ? a->buffers[0] : NULL, offset};
}

static inline bool has_value(const struct bits *b, uint64_t i)
{
    return b->bits == NULL || wi_bit(b->bits, b->offset + i);
}

static weir_err check_arrays(const struct wi_column *c,
                             const struct ArrowArray *a, struct weir_error *err)
{
    const struct ArrowArray *d = a->dictionary;
    if (d == NULL || a->n_children != 0 || a->n_buffers != 2 ||
        a->buffers == NULL || (a->length > 0 && a->buffers[1] == NULL)) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "batch: column %s has no dictionary, or no indices",
                       c->name);
    }
    if (d->n_buffers < 2 || d->buffers == NULL || d->length < 0 ||
        d->length > INT32_MAX || d->offset < 0 || d->offset > INT64_MAX / 4 ||
        d->dictionary != NULL) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "batch: the dictionary of column %s has %lld rows and "
                       "%lld buffers; 0 to 2^31-1 rows are supported, plain "
                       "ones",
                       c->name, (long long)d->length, (long long)d->n_buffers);
    }
    return WEIR_OK;
}

/* Rows, and bits unless `valid` is NULL. Returns n, or the first row whose
 * index is outside. */
static uint64_t find_rows(const struct wi_index *x, const struct ArrowArray *a,
                          uint64_t offset, uint64_t n, uint8_t *valid,
                          bool *any_null_out)
{
    const struct ArrowArray *d = a->dictionary;
    const struct bits own = bits_of(a, offset);
    const struct bits theirs = bits_of(d, (uint64_t)d->offset);
    const uint8_t *indices = a->buffers[1];
    const uint64_t most = (uint64_t)d->length;
    const uint32_t width = x->width;
    const bool is_signed = x->is_signed;
    uint32_t *rows = x->rows.mem;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = 0;
        bool value = has_value(&own, i);
        if (value) {
            at = load_index(indices, width, is_signed, offset + i);
            if (wi_unlikely(at >= most)) {
                return i;
            }
            value = has_value(&theirs, at);
        }
        rows[i] = (uint32_t)at;
        if (valid != NULL) {
            valid[i / 8] |= (uint8_t)(value << i % 8);
            *any_null_out |= !value;
        }
    }
    return n;
}

static WI_COLD weir_err fail_index(const struct wi_index *x,
                                   const struct wi_column *c,
                                   const struct ArrowArray *a, uint64_t offset,
                                   uint64_t row, struct weir_error *err)
{
    uint64_t at =
        load_index(a->buffers[1], x->width, x->is_signed, offset + row);
    return wi_fail(err, WEIR_ERR_DATA,
                   "batch: column %s, row %llu: index %lld of a dictionary of "
                   "%lld rows",
                   c->name, (unsigned long long)row, (long long)at,
                   (long long)a->dictionary->length);
}

weir_err wi_index_look_up(struct wi_index *x, const struct wi_column *c,
                          const struct ArrowArray *a, uint64_t offset,
                          uint64_t n, const uint32_t **rows_out,
                          const uint8_t **validity_out, struct weir_error *err)
{
    uint8_t *valid = NULL;
    bool any_null = false;
    weir_err rc = check_arrays(c, a, err);
    if (rc == WEIR_OK) {
        rc = wi_room_make(&x->rows, c, n * sizeof(uint32_t), err);
    }
    if (rc == WEIR_OK && (bits_of(a, 0).bits != NULL ||
                          bits_of(a->dictionary, 0).bits != NULL)) {
        rc = wi_room_make(&x->validity, c, n / 8 + 1, err);
        valid = x->validity.mem;
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    if (valid != NULL) {
        memset(valid, 0, n / 8 + 1);
    }
    uint64_t row = find_rows(x, a, offset, n, valid, &any_null);
    if (wi_unlikely(row < n)) {
        return fail_index(x, c, a, offset, row, err);
    }
    *rows_out = x->rows.mem;
    *validity_out = any_null ? valid : NULL;
    return WEIR_OK;
}

weir_err wi_index_values(const struct wi_column *c, struct wi_room *room,
                         const struct ArrowArray *d,
                         const struct wi_picks *picks, struct wi_view *v,
                         struct weir_error *err)
{
    const struct wi_view from = {.values = d->buffers[1],
                                 .offset = (uint64_t)d->offset};
    const struct wi_rows rows = {.idx = picks->rows, .n = (uint32_t)picks->n};
    bool bits = c->kind == WI_KIND_BITS;
    if (d->n_buffers != 2 || d->n_children != 0 ||
        (d->length > 0 && from.values == NULL)) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "batch: the dictionary of column %s has no values",
                       c->name);
    }
    size_t bytes = bits ? (picks->n / 64 + 1) * 8 : picks->n * c->width;
    weir_err rc = wi_room_make(room, c, bytes, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (d->length == 0) { /* then all rows are null */
        memset(room->mem, 0, bytes);
    } else if (bits) {
        wi_copy_bits(room->mem, 0, from.values, from.offset, &rows,
                     wi_isa_best());
    } else {
        wi_copy_fixed(room->mem, &from, c->width, &rows);
    }
    *v = (struct wi_view){.validity = picks->validity, .values = room->mem};
    return WEIR_OK;
}
