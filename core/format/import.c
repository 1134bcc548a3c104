/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importing: batches become pointers to their columns. Checked is what keeps
 * later reads and writes inside the buffers.
 *
 * Source: Apache Arrow, "The Arrow C data interface", buffer counts per type.
 */
#include "core/format/import.h"

#include "core/base/bytes.h"
#include "core/base/err.h"

/* Stands in for a NULL buffer of length 0, so that pointers are never NULL. */
static const uint64_t empty_buffer[8];

static const void *or_empty(const void *buffer)
{
    return buffer == NULL ? empty_buffer : buffer;
}

static bool all_ones(const uint8_t *bits, uint64_t first, uint64_t n)
{
    uint64_t i = first;
    uint64_t end = first + n;
    while (i < end && (i & 7) != 0) {
        if (!wi_bit(bits, i)) {
            return false;
        }
        i++;
    }
    for (; end - i >= 64; i += 64) {
        if (wi_load_u64(bits + (i >> 3)) != UINT64_MAX) {
            return false;
        }
    }
    for (; i < end; i++) {
        if (!wi_bit(bits, i)) {
            return false;
        }
    }
    return true;
}

static bool no_nulls(const struct ArrowArray *a, uint64_t first, uint64_t n)
{
    if (a->null_count == 0 || a->buffers[0] == NULL) {
        return true;
    }
    /* A count > 0 is of the whole array and says nothing about a slice. */
    return all_ones(a->buffers[0], first, n);
}

weir_err wi_batch_check(const struct wi_schema *s,
                        const struct ArrowArray *batch, struct weir_error *err)
{
    if (batch == NULL || batch->release == NULL) {
        return wi_fail(err, WEIR_ERR_ARG, "batch is missing or released");
    }
    if (batch->length < 0 || batch->length > INT32_MAX || batch->offset < 0 ||
        batch->offset > INT64_MAX / 4) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "batch has %lld rows at offset %lld; 0 to %d rows are "
                       "supported",
                       (long long)batch->length, (long long)batch->offset,
                       (int)INT32_MAX);
    }
    if (batch->n_children != (int64_t)s->n_top || batch->children == NULL) {
        return wi_fail(
            err, WEIR_ERR_SCHEMA, "batch has %lld columns, the schema has %u",
            batch->children == NULL ? 0LL : (long long)batch->n_children,
            s->n_top);
    }
    if (batch->n_buffers > 1 ||
        (batch->n_buffers == 1 && batch->null_count != 0 &&
         batch->buffers != NULL &&
         !no_nulls(batch, (uint64_t)batch->offset, (uint64_t)batch->length))) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "batch has nulls at struct level (or is no struct); "
                       "put nulls into its columns");
    }
    return WEIR_OK;
}

weir_err wi_column_check_rows(const struct wi_column *c,
                              const struct ArrowArray *a,
                              const struct wi_slice *in, struct weir_error *err)
{
    if (a->offset < 0 || a->offset > INT64_MAX / 4 || a->length < 0 ||
        (uint64_t)a->length < in->first + in->n) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "batch: column %s has %lld rows at offset %lld, the "
                       "batch needs %llu",
                       c->name, (long long)a->length, (long long)a->offset,
                       (unsigned long long)(in->first + in->n));
    }
    return WEIR_OK;
}

static weir_err check_column(const struct wi_column *c,
                             const struct wi_slice *in,
                             const struct ArrowArray *a, struct weir_error *err)
{
    int n_buffers = c->kind == WI_KIND_VAR ? 3 : 2;
    if (a == NULL || a->n_buffers != n_buffers || a->buffers == NULL ||
        a->n_children != 0 || a->dictionary != NULL) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "batch: column %s (format %s) has %lld buffers, not %d, "
                       "or has children",
                       c->name, c->format,
                       a == NULL ? 0LL : (long long)a->n_buffers, n_buffers);
    }
    return wi_column_check_rows(c, a, in, err);
}

/* ---- nulls --------------------------------------------------------------- */

static bool is_under_null(const struct wi_slice *in, uint64_t row)
{
    for (const struct wi_slice *s = in; s != NULL; s = s->up) {
        if (s->validity != NULL && !wi_bit(s->validity, s->first + row)) {
            return true;
        }
    }
    return false;
}

weir_err wi_column_allows(const struct wi_column *c, const struct wi_slice *in,
                          const uint8_t *validity, uint64_t offset,
                          struct weir_error *err)
{
    for (uint64_t i = 0; !c->nullable && i < in->n; i++) {
        if (!wi_bit(validity, offset + i) && !is_under_null(in, i)) {
            return wi_fail(err, WEIR_ERR_SCHEMA,
                           "batch: column %s holds nulls, the schema says it "
                           "is not nullable",
                           c->name);
        }
    }
    return WEIR_OK;
}

weir_err wi_column_nulls(const struct wi_column *c, const struct wi_slice *in,
                         const struct ArrowArray *a, uint64_t offset,
                         const uint8_t **out, struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    bool full = no_nulls(a, offset, in->n);
    if (wi_unlikely(!full && !c->nullable)) {
        rc = wi_column_allows(c, in, a->buffers[0], offset, err);
        full = true;
    }
    *out = full ? NULL : a->buffers[0];
    return rc;
}

/* ---- columns ------------------------------------------------------------- */

weir_err wi_column_import(const struct wi_column *c, const struct wi_slice *in,
                          const struct ArrowArray *a, struct wi_view *v,
                          struct weir_error *err)
{
    const uint8_t *validity = NULL;
    weir_err rc = check_column(c, in, a, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    uint64_t offset = in->first + (uint64_t)a->offset;
    rc = wi_column_nulls(c, in, a, offset, &validity, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    const void *bytes = c->kind == WI_KIND_VAR ? a->buffers[2] : NULL;
    if (in->n > 0 && a->buffers[1] == NULL) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "batch: column %s has rows but no value buffer",
                       c->name);
    }
    v->validity = validity;
    v->values = or_empty(a->buffers[1]);
    v->bytes = or_empty(bytes);
    v->offset = a->buffers[1] == NULL ? 0 : offset;
    v->given = a->buffers[0];
    v->texts = NULL;
    return WEIR_OK;
}

bool wi_column_is_imported(const struct wi_column *c, const struct wi_slice *in,
                           const struct ArrowArray *a, const struct wi_view *v)
{
    bool var = c->kind == WI_KIND_VAR;
    if (a == NULL || a->buffers == NULL || a->n_buffers != (var ? 3 : 2)) {
        return false;
    }
    uint64_t offset = in->first + (uint64_t)a->offset;
    return a->buffers[0] == v->given && or_empty(a->buffers[1]) == v->values &&
           (!var || or_empty(a->buffers[2]) == v->bytes) &&
           (a->buffers[1] == NULL || offset == v->offset);
}

/* ---- structs ------------------------------------------------------------- */

static bool is_struct_of(const struct wi_column *c, const struct ArrowArray *a)
{
    return a != NULL && a->n_buffers == 1 && a->buffers != NULL &&
           a->n_children == (int64_t)c->n_fields && a->children != NULL &&
           a->dictionary == NULL;
}

static struct wi_slice slice_of(const struct wi_slice *in,
                                const struct ArrowArray *a)
{
    return (struct wi_slice){.first = in->first + (uint64_t)a->offset,
                             .n = in->n,
                             .validity =
                                 a->null_count == 0 ? NULL : a->buffers[0],
                             .up = in};
}

weir_err wi_struct_import(const struct wi_column *c, const struct wi_slice *in,
                          const struct ArrowArray *a, struct wi_view *v,
                          struct wi_slice *fields_out, struct weir_error *err)
{
    const uint8_t *validity = NULL;
    if (!is_struct_of(c, a)) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "batch: column %s is no struct of %u columns: it has "
                       "%lld buffers, not 1, and %lld children",
                       c->name, c->n_fields,
                       a == NULL ? 0LL : (long long)a->n_buffers,
                       a == NULL ? 0LL : (long long)a->n_children);
    }
    weir_err rc = wi_column_check_rows(c, a, in, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    *fields_out = slice_of(in, a);
    rc = wi_column_nulls(c, in, a, fields_out->first, &validity, err);
    *v = (struct wi_view){.validity = validity,
                          .values = empty_buffer,
                          .bytes = (const void *)empty_buffer,
                          .offset = fields_out->first,
                          .given = a->buffers[0]};
    return rc;
}

bool wi_struct_is_imported(const struct wi_column *c, const struct wi_slice *in,
                           const struct ArrowArray *a, const struct wi_view *v,
                           struct wi_slice *fields_out)
{
    if (!is_struct_of(c, a)) {
        return false;
    }
    *fields_out = slice_of(in, a);
    return a->buffers[0] == v->given && fields_out->first == v->offset;
}

static weir_err import_any(const struct wi_column *c, const struct wi_slice *in,
                           const struct ArrowArray *a, struct wi_view *v,
                           struct weir_error *err);

/* Depth: that of the schema. */
static WI_COLD weir_err import_fields(const struct wi_column *c,
                                      const struct wi_slice *in,
                                      const struct ArrowArray *a,
                                      struct wi_view *v, struct weir_error *err)
{
    struct wi_slice fields;
    weir_err rc = wi_struct_import(c, in, a, v, &fields, err);
    uint32_t at = 1;
    for (uint32_t k = 0; rc == WEIR_OK && k < c->n_fields; k++) {
        rc = import_any(c + at, &fields, a->children[k], v + at, err);
        at += 1 + c[at].n_below;
    }
    return rc;
}

/* A column and those below it, which follow it, as their views do. */
static weir_err import_any(const struct wi_column *c, const struct wi_slice *in,
                           const struct ArrowArray *a, struct wi_view *v,
                           struct weir_error *err)
{
    return wi_likely(c->kind != WI_KIND_STRUCT)
               ? wi_column_import(c, in, a, v, err)
               : import_fields(c, in, a, v, err);
}

static bool is_any_imported(const struct wi_column *c,
                            const struct wi_slice *in,
                            const struct ArrowArray *a, const struct wi_view *v)
{
    struct wi_slice fields;
    uint32_t at = 1;
    if (c->kind != WI_KIND_STRUCT) {
        return wi_column_is_imported(c, in, a, v);
    }
    bool same = wi_struct_is_imported(c, in, a, v, &fields);
    for (uint32_t k = 0; same && k < c->n_fields; k++) {
        same = is_any_imported(c + at, &fields, a->children[k], v + at);
        at += 1 + c[at].n_below;
    }
    return same;
}

/* ---- batches ------------------------------------------------------------- */

weir_err wi_schema_import(const struct wi_schema *s,
                          const struct ArrowArray *batch, struct wi_view *views,
                          struct weir_error *err)
{
    weir_err rc = wi_batch_check(s, batch, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    const struct wi_slice in = wi_batch_slice(batch);
    uint32_t at = 0;
    for (uint32_t i = 0; rc == WEIR_OK && i < s->n_top; i++) {
        rc = import_any(&s->columns[at], &in, batch->children[i], &views[at],
                        err);
        at += 1 + s->columns[at].n_below;
    }
    return rc;
}

bool wi_batch_has_shape(const struct wi_schema *s,
                        const struct ArrowArray *batch, uint64_t rows)
{
    return batch != NULL && batch->release != NULL && batch->children != NULL &&
           (uint64_t)batch->length == rows && batch->n_children == s->n_top;
}

bool wi_schema_is_imported(const struct wi_schema *s,
                           const struct ArrowArray *batch, uint64_t rows,
                           const struct wi_view *views)
{
    if (!wi_batch_has_shape(s, batch, rows)) {
        return false;
    }
    const struct wi_slice in = wi_batch_slice(batch);
    bool same = true;
    uint32_t at = 0;
    for (uint32_t i = 0; same && i < s->n_top; i++) {
        same = is_any_imported(&s->columns[at], &in, batch->children[i],
                               &views[at]);
        at += 1 + s->columns[at].n_below;
    }
    return same;
}

/* ---- offsets ------------------------------------------------------------- */

enum { OFFSET_BLOCK = 64 };

static inline int32_t offset_at(const uint8_t *offsets, uint64_t i)
{
    return (int32_t)wi_load_u32(offsets + i * sizeof(int32_t));
}

/* Does an offset of a block descend? A constant count and no branch, so that
 * compilers vectorise it. */
#define DEFINE_BLOCK(name, target)                                             \
    static target bool name(const uint8_t *offsets)                            \
    {                                                                          \
        uint32_t any = 0;                                                      \
        for (uint64_t i = 0; i < OFFSET_BLOCK; i++) {                          \
            bool down = offset_at(offsets, i + 1) < offset_at(offsets, i);     \
            any |= down ? UINT32_MAX : 0;                                      \
        }                                                                      \
        return any != 0;                                                       \
    }

DEFINE_BLOCK(block_descends, )
#if WI_X86
DEFINE_BLOCK(block_descends_avx2, WI_TARGET_AVX2)
#endif

uint64_t wi_offsets_descent(const uint8_t *offsets, uint64_t n, enum wi_isa isa)
{
    bool (*descends)(const uint8_t *) = block_descends;
    uint64_t i = 0;
#if WI_X86
    descends = isa >= WI_ISA_AVX2 ? block_descends_avx2 : descends;
#endif
    (void)isa;
    while (n - i >= OFFSET_BLOCK && !descends(offsets + i * sizeof(int32_t))) {
        i += OFFSET_BLOCK;
    }
    while (i < n && offset_at(offsets, i + 1) >= offset_at(offsets, i)) {
        i++;
    }
    return i;
}

static weir_err check_var(const struct wi_column *c, const struct wi_view *v,
                          uint64_t rows, struct weir_error *err)
{
    const uint8_t *offsets = v->values;
    offsets += v->offset * sizeof(int32_t);
    int32_t first = offset_at(offsets, 0);
    if (wi_unlikely(first < 0)) {
        return wi_fail(err, WEIR_ERR_DATA,
                       "batch: column %s, row 0: offset %d; offsets are 0 or "
                       "more",
                       c->name, first);
    }
    uint64_t row = wi_offsets_descent(offsets, rows, wi_isa_best());
    if (wi_unlikely(row < rows)) {
        return wi_fail(err, WEIR_ERR_DATA,
                       "batch: column %s, row %llu: offset %d after %d; "
                       "offsets must not descend",
                       c->name, (unsigned long long)row,
                       offset_at(offsets, row + 1), offset_at(offsets, row));
    }
    if (wi_unlikely(v->bytes == (const uint8_t *)empty_buffer &&
                    offset_at(offsets, rows) != first)) {
        return wi_fail(err, WEIR_ERR_DATA,
                       "batch: column %s has values of %d bytes, and no buffer "
                       "for them",
                       c->name, offset_at(offsets, rows) - first);
    }
    return WEIR_OK;
}

weir_err wi_schema_check_offsets(const struct wi_schema *s,
                                 const struct wi_view *views, uint64_t rows,
                                 struct weir_error *err)
{
    for (uint32_t i = 0; s->n_var > 0 && rows > 0 && i < s->n_columns; i++) {
        if (s->columns[i].kind == WI_KIND_VAR && views[i].texts == NULL) {
            weir_err rc = check_var(&s->columns[i], &views[i], rows, err);
            if (rc != WEIR_OK) {
                return rc;
            }
        }
    }
    return WEIR_OK;
}
