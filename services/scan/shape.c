/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes. Most of what is checked, nanoarrow checks; this adds what it leaves
 * out and what would overflow in it:
 *
 *   - products of lengths and widths, before it computes them;
 *   - an offsets buffer that is not empty and shorter than one offset;
 *   - offsets of dense unions that are the child's length (it allows them);
 *   - offset + size of large list views that overflow;
 *   - run-end encoded values without runs;
 *   - what string and binary views point at (it looks at none).
 */
#include "services/scan/shape.h"

#include <stdbool.h>

#include "services/scan/fail.h"
#include "services/scan/format.h"

/* More rows or elements than any batch has; no product below overflows. */
#define ROWS_MAX ((int64_t)1 << 40)
#define BITS_MAX (INT64_MAX / 4)

enum { VIEW_BYTES = 16, VIEW_INLINE = 12 };

/* ---- open ---------------------------------------------------------------- */

/* nanoarrow says what is wrong with a type, not of which field. */
static weir_err check_known(const struct ArrowSchema *s, struct weir_error *err)
{
    struct ArrowSchemaView view;
    struct ArrowError why;
    ArrowErrorInit(&why);
    if (ArrowSchemaViewInit(&view, s, &why) != NANOARROW_OK) {
        return wi_scan_fail(err, WEIR_ERR_SCHEMA,
                            "field '%s': type '%.60s' is not known here: %s",
                            s->name != NULL ? s->name : "", s->format,
                            why.message);
    }
    weir_err code = WEIR_OK;
    for (int64_t i = 0; code == WEIR_OK && i < s->n_children; i++) {
        code = check_known(s->children[i], err);
    }
    if (code == WEIR_OK && s->dictionary != NULL) {
        code = check_known(s->dictionary, err);
    }
    return code;
}

static uint32_t count_fields(const struct ArrowArrayView *v)
{
    uint32_t n = 1;
    for (int64_t i = 0; i < v->n_children; i++) {
        n += count_fields(v->children[i]);
    }
    return n + (v->dictionary != NULL ? count_fields(v->dictionary) : 0);
}

weir_err wi_scan_shape_init(struct wi_scan_shape *shape,
                            const struct ArrowSchema *schema,
                            struct weir_error *err)
{
    weir_err code = wi_scan_format_check(schema, err);
    if (code == WEIR_OK) {
        code = check_known(schema, err);
    }
    if (code != WEIR_OK) {
        return code;
    }
    struct ArrowError why;
    ArrowErrorInit(&why);
    if (ArrowArrayViewInitFromSchema(&shape->root, schema, &why) !=
        NANOARROW_OK) {
        return wi_scan_fail(err, WEIR_ERR_NO_MEMORY,
                            "no memory for the shape of a schema: %s",
                            why.message);
    }
    shape->n_fields = count_fields(&shape->root);
    return WEIR_OK;
}

void wi_scan_shape_fini(struct wi_scan_shape *shape)
{
    ArrowArrayViewReset(&shape->root);
}

uint32_t wi_scan_fixed_buffers(const struct ArrowArrayView *v)
{
    uint32_t n = 0;
    uint32_t most = wi_scan_has_views(v) ? NANOARROW_BINARY_VIEW_FIXED_BUFFERS
                                         : NANOARROW_MAX_FIXED_BUFFERS;
    while (n < most && v->layout.buffer_type[n] != NANOARROW_BUFFER_TYPE_NONE) {
        n++;
    }
    return n;
}

/* ---- check --------------------------------------------------------------- */

static weir_err bad(struct weir_error *err, const struct ArrowArrayView *v,
                    const char *what)
{
    return wi_scan_fail(err, WEIR_ERR_DATA, "malformed batch: %s of a %s array",
                        what, ArrowTypeString(v->storage_type));
}

/* Lengths of one field, before anything is computed with them. */
static weir_err check_lengths(const struct ArrowArrayView *v,
                              struct weir_error *err)
{
    if (v->length < 0 || v->offset < 0 || v->length > ROWS_MAX ||
        v->offset > ROWS_MAX || v->null_count < -1 ||
        v->null_count > v->length) {
        return bad(err, v, "length, offset or count of nulls");
    }
    int64_t rows = v->offset + v->length + 1;
    for (int i = 0; i < NANOARROW_MAX_FIXED_BUFFERS; i++) {
        int64_t bits = v->layout.element_size_bits[i];
        if (bits < 0 || (bits > 0 && rows > BITS_MAX / bits)) {
            return bad(err, v, "width of the values");
        }
        if (v->layout.buffer_type[i] == NANOARROW_BUFFER_TYPE_DATA_OFFSET &&
            v->buffer_views[i].size_bytes > 0 &&
            v->buffer_views[i].size_bytes < bits / 8) {
            return bad(err, v, "offsets");
        }
    }
    int64_t width = v->layout.child_size_elements;
    if (width < 0 || (width > 0 && rows > ROWS_MAX / width)) {
        return bad(err, v, "width of the lists");
    }
    return WEIR_OK;
}

static weir_err check_dense_union(const struct ArrowArrayView *v,
                                  struct weir_error *err)
{
    for (int64_t i = 0; i < v->length; i++) {
        int8_t child = ArrowArrayViewUnionChildIndex(v, i);
        if (ArrowArrayViewUnionChildOffset(v, i) >=
            v->children[child]->length) {
            return bad(err, v, "an offset");
        }
    }
    return WEIR_OK;
}

static weir_err check_large_list_view(const struct ArrowArrayView *v,
                                      struct weir_error *err)
{
    const int64_t *offs = v->buffer_views[1].data.as_int64;
    const int64_t *sizes = v->buffer_views[2].data.as_int64;
    int64_t most = v->children[0]->length;
    for (int64_t i = v->offset; i < v->offset + v->length; i++) {
        if (offs[i] < 0 || sizes[i] < 0 || offs[i] > most ||
            sizes[i] > most - offs[i]) {
            return bad(err, v, "an offset or a size");
        }
    }
    return WEIR_OK;
}

/* The views of nulls too: a reader may look at them. */
static weir_err check_views(const struct ArrowArrayView *v,
                            struct weir_error *err)
{
    const uint8_t *at = v->buffer_views[1].data.as_uint8;
    for (int64_t i = v->offset; i < v->offset + v->length; i++) {
        union ArrowBinaryView view;
        memcpy(&view, at + (size_t)i * VIEW_BYTES, sizeof(view));
        int32_t size = view.inlined.size;
        if (size >= 0 && size <= VIEW_INLINE) {
            continue;
        }
        int32_t buffer = view.ref.buffer_index;
        if (size < 0 || buffer < 0 || buffer >= v->n_variadic_buffers ||
            view.ref.offset < 0 ||
            view.ref.offset > v->variadic_buffer_sizes[buffer] - size) {
            return bad(err, v, "a view");
        }
    }
    return WEIR_OK;
}

/* What nanoarrow leaves out, once it is content. */
static weir_err check_rest(const struct ArrowArrayView *v,
                           struct weir_error *err)
{
    weir_err code = WEIR_OK;
    if (v->storage_type == NANOARROW_TYPE_DENSE_UNION) {
        code = check_dense_union(v, err);
    } else if (wi_scan_has_views(v) && v->length > 0) {
        code = check_views(v, err);
    } else if (v->storage_type == NANOARROW_TYPE_RUN_END_ENCODED &&
               v->length > 0 && v->children[0]->length == 0) {
        code = bad(err, v, "no runs");
    }
    for (int64_t i = 0; code == WEIR_OK && i < v->n_children; i++) {
        code = check_rest(v->children[i], err);
    }
    if (code == WEIR_OK && v->dictionary != NULL) {
        code = check_rest(v->dictionary, err);
    }
    return code;
}

/* What nanoarrow would compute with, before it does. Offsets and sizes of list
 * views are inside their buffers once the lengths are. */
static weir_err check_first(const struct ArrowArrayView *v,
                            struct weir_error *err)
{
    weir_err code = check_lengths(v, err);
    for (int64_t i = 0; code == WEIR_OK && i < v->n_children; i++) {
        code = check_first(v->children[i], err);
    }
    if (code == WEIR_OK && v->dictionary != NULL) {
        code = check_first(v->dictionary, err);
    }
    return code;
}

static weir_err check_list_views(const struct ArrowArrayView *v,
                                 struct weir_error *err)
{
    weir_err code = WEIR_OK;
    if (v->storage_type == NANOARROW_TYPE_LARGE_LIST_VIEW) {
        int64_t need = (v->offset + v->length) * (int64_t)sizeof(int64_t);
        if (v->buffer_views[2].size_bytes < need) {
            return bad(err, v, "sizes");
        }
        code = check_large_list_view(v, err);
    } else if (v->storage_type == NANOARROW_TYPE_LIST_VIEW &&
               v->buffer_views[2].size_bytes <
                   (v->offset + v->length) * (int64_t)sizeof(int32_t)) {
        return bad(err, v, "sizes");
    }
    for (int64_t i = 0; code == WEIR_OK && i < v->n_children; i++) {
        code = check_list_views(v->children[i], err);
    }
    if (code == WEIR_OK && v->dictionary != NULL) {
        code = check_list_views(v->dictionary, err);
    }
    return code;
}

static weir_err validate(struct wi_scan_shape *shape,
                         enum ArrowValidationLevel level,
                         struct weir_error *err)
{
    struct ArrowError why;
    ArrowErrorInit(&why);
    if (ArrowArrayViewValidate(&shape->root, level, &why) != NANOARROW_OK) {
        return wi_scan_fail(err, WEIR_ERR_DATA, "malformed batch: %s",
                            why.message);
    }
    return WEIR_OK;
}

weir_err wi_scan_shape_check(struct wi_scan_shape *shape,
                             struct weir_error *err)
{
    weir_err code = check_first(&shape->root, err);
    if (code == WEIR_OK) {
        code = validate(shape, NANOARROW_VALIDATION_LEVEL_DEFAULT, err);
    }
    if (code == WEIR_OK) {
        code = check_list_views(&shape->root, err);
    }
    if (code == WEIR_OK) {
        code = validate(shape, NANOARROW_VALIDATION_LEVEL_FULL, err);
    }
    return code != WEIR_OK ? code : check_rest(&shape->root, err);
}

/* Sizes of list views: nanoarrow leaves them unknown. */
static void measure_list_views(struct ArrowArrayView *v)
{
    if (v->layout.buffer_type[2] == NANOARROW_BUFFER_TYPE_SIZE &&
        v->buffer_views[2].size_bytes == -1) {
        v->buffer_views[2].size_bytes =
            (v->offset + v->length) * v->layout.element_size_bits[2] / 8;
    }
    for (int64_t i = 0; i < v->n_children; i++) {
        measure_list_views(v->children[i]);
    }
    if (v->dictionary != NULL) {
        measure_list_views(v->dictionary);
    }
}

weir_err wi_scan_shape_measure(struct wi_scan_shape *shape,
                               struct weir_error *err)
{
    weir_err code = check_first(&shape->root, err);
    if (code == WEIR_OK) {
        code = validate(shape, NANOARROW_VALIDATION_LEVEL_DEFAULT, err);
    }
    if (code == WEIR_OK) {
        measure_list_views(&shape->root);
    }
    return code;
}
