/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source: Apache Arrow, "The Arrow C data interface", format strings. An
 * ArrowArray does not say how it is laid out: 32-bit and 64-bit offsets, and
 * views without data buffers, all come as three buffers. So it must be told.
 */
#include "core/format/intake.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/cc.h"
#include "core/base/err.h"
#include "core/format/frame_bits.h"
#include "core/format/import.h"
#include "core/format/intake_index.h"
#include "core/format/intake_source.h"

/* One column. What it has of the last batch is for wi_intake_is_imported(). */
struct intake_column {
    bool same; /* laid out as the schema says */
    enum wi_layout layout;
    struct wi_index index; /* into a dictionary that is laid out so */
    struct wi_room found;  /* texts of the last batch, or values */
    int64_t n_buffers;
    const void *values;
    const void *bytes;
    uint64_t offset;
    const void *dictionary; /* its values */
    int64_t dictionary_offset;
};

struct wi_intake {
    const struct wi_schema *s;
    struct intake_column columns[];
};

/* ---- opening ------------------------------------------------------------- */

static const struct {
    const char *given;
    const char *plain;
    enum wi_layout layout;
} layouts[] = {
    {"u", "u", WI_LAYOUT_PLAIN}, {"z", "z", WI_LAYOUT_PLAIN},
    {"U", "u", WI_LAYOUT_LARGE}, {"Z", "z", WI_LAYOUT_LARGE},
    {"vu", "u", WI_LAYOUT_VIEW}, {"vz", "z", WI_LAYOUT_VIEW},
};

/* Are values of this format what the column holds? */
static bool match(const struct wi_column *c, const char *format,
                  enum wi_layout *layout_out)
{
    *layout_out = WI_LAYOUT_PLAIN;
    for (size_t i = 0; i < WI_ARRAY_LEN(layouts); i++) {
        if (strcmp(layouts[i].given, format) == 0) {
            *layout_out = layouts[i].layout;
            return strcmp(layouts[i].plain, c->format) == 0;
        }
    }
    return strcmp(c->format, format) == 0;
}

static weir_err open_column(const struct wi_column *c,
                            const struct ArrowSchema *given,
                            struct intake_column *col, struct weir_error *err)
{
    if (given == NULL || given->release == NULL || given->format == NULL) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "layout: column %s is missing or released", c->name);
    }
    const struct ArrowSchema *values =
        given->dictionary != NULL ? given->dictionary : given;
    bool fits =
        given->dictionary == NULL || wi_index_parse(given->format, &col->index);
    if (!fits || given->n_children != 0 || values->n_children != 0 ||
        values->format == NULL || values->dictionary != NULL ||
        !match(c, values->format, &col->layout)) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "layout: column %s has format \"%s\"%s, the shuffle has "
                       "\"%s\"; what may stand for u is U and vu, for z Z and "
                       "vz, and for any of them an integer with a dictionary",
                       c->name, values->format == NULL ? "" : values->format,
                       given->dictionary != NULL ? " of a dictionary" : "",
                       c->format);
    }
    col->same = given->dictionary == NULL && col->layout == WI_LAYOUT_PLAIN;
    return WEIR_OK;
}

static weir_err check_given(const struct wi_schema *s,
                            const struct ArrowSchema *given,
                            struct weir_error *err)
{
    if (given == NULL || given->release == NULL || given->format == NULL) {
        return wi_fail(err, WEIR_ERR_ARG, "layout is missing or released");
    }
    if (strcmp(given->format, "+s") != 0 || given->children == NULL ||
        given->n_children != (int64_t)s->n_columns) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "layout has format \"%s\" and %lld columns; a struct "
                       "(\"+s\") of the shuffle's %u columns is needed",
                       given->format, (long long)given->n_children,
                       s->n_columns);
    }
    return WEIR_OK;
}

weir_err wi_intake_open(const struct wi_schema *s,
                        const struct ArrowSchema *given, struct wi_intake **out,
                        struct weir_error *err)
{
    bool same = true;
    weir_err rc = check_given(s, given, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct wi_intake *in =
        calloc(1, sizeof(*in) + s->n_columns * sizeof(in->columns[0]));
    if (in == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "layout: no memory");
    }
    in->s = s;
    for (uint32_t i = 0; rc == WEIR_OK && i < s->n_columns; i++) {
        rc = open_column(&s->columns[i], given->children[i], &in->columns[i],
                         err);
        same = same && in->columns[i].same;
    }
    if (rc != WEIR_OK || same) {
        wi_intake_close(in);
        in = NULL;
    }
    if (rc == WEIR_OK) {
        *out = in;
    }
    return rc;
}

void wi_intake_close(struct wi_intake *in)
{
    for (uint32_t i = 0; in != NULL && i < in->s->n_columns; i++) {
        free(in->columns[i].found.mem);
        free(in->columns[i].index.rows.mem);
        free(in->columns[i].index.validity.mem);
    }
    free(in);
}

/* ---- importing ----------------------------------------------------------- */

static void remember(struct intake_column *col, const struct ArrowArray *a,
                     uint64_t offset)
{
    const struct ArrowArray *d = a->dictionary;
    col->n_buffers = a->n_buffers;
    col->values = a->buffers[1];
    col->bytes = a->n_buffers > 2 ? a->buffers[2] : NULL;
    col->offset = offset;
    col->dictionary = d != NULL ? d->buffers[1] : NULL;
    col->dictionary_offset = d != NULL ? d->offset : 0;
}

/* Texts of the rows that are picked of an array that has them. */
static weir_err find_texts(const struct wi_column *c, struct intake_column *col,
                           const struct ArrowArray *a, uint64_t offset,
                           uint64_t n, const struct wi_picks *picks,
                           struct wi_view *v, struct weir_error *err)
{
    struct wi_source source;
    weir_err rc = wi_source_of(c, col->layout, a, offset, n, &source, err);
    if (rc == WEIR_OK) {
        rc = wi_room_make(&col->found, c, picks->n * sizeof(struct wi_text),
                          err);
    }
    if (rc == WEIR_OK) {
        rc = wi_source_texts(c, &source, picks, col->found.mem, err);
    }
    *v = (struct wi_view){.validity = picks->validity,
                          .offset = picks->offset,
                          .texts = col->found.mem};
    return rc;
}

static weir_err import_texts(const struct wi_column *c,
                             struct intake_column *col,
                             const struct ArrowArray *a, struct wi_picks *picks,
                             struct wi_view *v, struct weir_error *err)
{
    uint64_t first = picks->offset;
    if (a->dictionary != NULL || a->buffers == NULL) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "batch: column %s has a dictionary, or no buffers",
                       c->name);
    }
    weir_err rc = wi_column_nulls(c, a, first, picks->n, &picks->validity, err);
    return rc == WEIR_OK ? find_texts(c, col, a, first, picks->n, picks, v, err)
                         : rc;
}

/* Values of a dictionary, one behind the other. */
static weir_err copy_values(const struct wi_column *c,
                            struct intake_column *col,
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
    weir_err rc = wi_room_make(&col->found, c, bytes, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (d->length == 0) { /* then all rows are null */
        memset(col->found.mem, 0, bytes);
    } else if (bits) {
        wi_copy_bits(col->found.mem, 0, from.values, from.offset, &rows,
                     wi_isa_best());
    } else {
        wi_copy_fixed(col->found.mem, &from, c->width, &rows);
    }
    *v =
        (struct wi_view){.validity = picks->validity, .values = col->found.mem};
    return WEIR_OK;
}

static weir_err import_indexed(const struct wi_column *c,
                               struct intake_column *col,
                               const struct ArrowArray *a,
                               struct wi_picks *picks, struct wi_view *v,
                               struct weir_error *err)
{
    weir_err rc = wi_index_look_up(&col->index, c, a, picks->offset, picks->n,
                                   &picks->rows, &picks->validity, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    const struct ArrowArray *d = a->dictionary;
    picks->offset = 0; /* of the new validity */
    return c->kind == WI_KIND_VAR
               ? find_texts(c, col, d, (uint64_t)d->offset, (uint64_t)d->length,
                            picks, v, err)
               : copy_values(c, col, d, picks, v, err);
}

static weir_err import_other(const struct wi_column *c,
                             struct intake_column *col,
                             const struct ArrowArray *batch,
                             const struct ArrowArray *a, struct wi_view *v,
                             struct weir_error *err)
{
    if (a == NULL) {
        return wi_fail(err, WEIR_ERR_SCHEMA, "batch: column %s is missing",
                       c->name);
    }
    weir_err rc =
        wi_column_check_rows(c, a, batch->offset + batch->length, err);
    uint64_t first = (uint64_t)batch->offset + (uint64_t)a->offset;
    struct wi_picks picks = {.offset = first, .n = (uint64_t)batch->length};
    if (rc == WEIR_OK) {
        rc = (col->index.width != 0 ? import_indexed
                                    : import_texts)(c, col, a, &picks, v, err);
    }
    if (rc == WEIR_OK) {
        v->given = a->buffers[0];
        remember(col, a, first);
    }
    return rc;
}

weir_err wi_intake_import(struct wi_intake *in, const struct ArrowArray *batch,
                          struct wi_view *views, struct weir_error *err)
{
    weir_err rc = wi_batch_check(in->s, batch, err);
    for (uint32_t i = 0; rc == WEIR_OK && i < in->s->n_columns; i++) {
        const struct wi_column *c = &in->s->columns[i];
        const struct ArrowArray *a = batch->children[i];
        struct intake_column *col = &in->columns[i];
        rc = col->same ? wi_column_import(c, batch, a, &views[i], err)
                       : import_other(c, col, batch, a, &views[i], err);
    }
    return rc;
}

static bool is_same_array(const struct intake_column *col,
                          const struct ArrowArray *batch,
                          const struct ArrowArray *a, const struct wi_view *v)
{
    if (a == NULL || a->buffers == NULL || a->n_buffers != col->n_buffers) {
        return false;
    }
    const struct ArrowArray *d = a->dictionary;
    if (d == NULL ? col->dictionary != NULL
                  : d->buffers == NULL || d->buffers[1] != col->dictionary ||
                        d->offset != col->dictionary_offset) {
        return false;
    }
    return a->buffers[0] == v->given && a->buffers[1] == col->values &&
           (a->n_buffers < 3 || a->buffers[2] == col->bytes) &&
           (uint64_t)batch->offset + (uint64_t)a->offset == col->offset;
}

bool wi_intake_is_imported(const struct wi_intake *in,
                           const struct ArrowArray *batch, uint64_t rows,
                           const struct wi_view *views)
{
    if (!wi_batch_has_shape(in->s, batch, rows)) {
        return false;
    }
    for (uint32_t i = 0; i < in->s->n_columns; i++) {
        const struct ArrowArray *a = batch->children[i];
        const struct intake_column *col = &in->columns[i];
        if (col->same ? !wi_column_is_imported(&in->s->columns[i], batch, a,
                                               &views[i])
                      : !is_same_array(col, batch, a, &views[i])) {
            return false;
        }
    }
    return true;
}
