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
#include "core/format/import.h"
#include "core/format/intake_index.h"
#include "core/format/intake_list.h"
#include "core/format/intake_source.h"

/* One column. What it has of the last batch is for wi_intake_is_imported(). */
struct intake_column {
    bool same; /* laid out as the schema says, and taken as it is */
    struct wi_intake_list *list; /* NULL: it is none */
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

/* An intake for the items of a list, below. */
static const struct wi_items_ops items_ops;

static weir_err open_any(const struct wi_column *c,
                         const struct ArrowSchema *given,
                         struct intake_column *col, bool *same,
                         struct weir_error *err);

/* The fields of a struct, which follow it. */
static weir_err open_fields(const struct wi_column *c,
                            const struct ArrowSchema *given,
                            struct intake_column *col, bool *same,
                            struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    uint32_t at = 1;
    if (given != NULL &&
        (strcmp(given->format, c->format) != 0 || given->dictionary != NULL ||
         given->n_children != (int64_t)c->n_fields ||
         given->children == NULL)) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "layout: column %s has format \"%s\"%s and %lld "
                       "children; the shuffle has a struct of %u there",
                       c->name, given->format,
                       given->dictionary != NULL ? " of a dictionary" : "",
                       (long long)given->n_children, c->n_fields);
    }
    for (uint32_t k = 0; rc == WEIR_OK && k < c->n_fields; k++) {
        const struct ArrowSchema *child = NULL;
        rc = wi_layout_child(c, given, k, &child, err);
        if (rc == WEIR_OK) {
            rc = open_any(c + at, child, col + at, same, err);
        }
        at += 1 + c[at].n_below;
    }
    return rc;
}

static weir_err open_column(const struct wi_column *c,
                            const struct ArrowSchema *given,
                            struct intake_column *col, struct weir_error *err)
{
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

/* A column and those below it; `given` is NULL if all is as the schema says. */
static weir_err open_any(const struct wi_column *c,
                         const struct ArrowSchema *given,
                         struct intake_column *col, bool *same,
                         struct weir_error *err)
{
    if (given != NULL && (given->release == NULL || given->format == NULL)) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "layout: column %s is missing or released", c->name);
    }
    if (c->kind == WI_KIND_STRUCT) {
        return open_fields(c, given, col, same, err);
    }
    if (c->items != NULL) {
        *same = false;
        return wi_intake_list_open(c, given, &items_ops, &col->list, err);
    }
    if (given == NULL) {
        col->same = true;
        return WEIR_OK;
    }
    weir_err rc = open_column(c, given, col, err);
    *same = *same && col->same;
    return rc;
}

static weir_err check_given(const struct wi_schema *s,
                            const struct ArrowSchema *given,
                            struct weir_error *err)
{
    if (given->release == NULL || given->format == NULL) {
        return wi_fail(err, WEIR_ERR_ARG, "layout is missing or released");
    }
    if (strcmp(given->format, "+s") != 0 || given->children == NULL ||
        given->n_children != (int64_t)s->n_top) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "layout has format \"%s\" and %lld columns; a struct "
                       "(\"+s\") of the shuffle's %u columns is needed",
                       given->format, (long long)given->n_children, s->n_top);
    }
    for (uint32_t i = 0; i < s->n_top; i++) {
        if (given->children[i] == NULL) {
            return wi_fail(err, WEIR_ERR_ARG, "layout: column %u is missing",
                           i);
        }
    }
    return WEIR_OK;
}

static weir_err open_all(const struct wi_schema *s,
                         const struct ArrowSchema *given, bool *same,
                         struct wi_intake **out, struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    struct wi_intake *in =
        calloc(1, sizeof(*in) + s->n_columns * sizeof(in->columns[0]));
    if (in == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "layout: no memory");
    }
    in->s = s;
    uint32_t at = 0;
    for (uint32_t i = 0; rc == WEIR_OK && i < s->n_top; i++) {
        rc =
            open_any(&s->columns[at], given != NULL ? given->children[i] : NULL,
                     &in->columns[at], same, err);
        at += 1 + s->columns[at].n_below;
    }
    if (rc != WEIR_OK) {
        wi_intake_close(in);
        return rc;
    }
    *out = in;
    return WEIR_OK;
}

weir_err wi_intake_open(const struct wi_schema *s,
                        const struct ArrowSchema *given, struct wi_intake **out,
                        struct weir_error *err)
{
    bool same = true;
    struct wi_intake *in = NULL;
    weir_err rc = given != NULL ? check_given(s, given, err) : WEIR_OK;
    if (rc == WEIR_OK) {
        rc = open_all(s, given, &same, &in, err);
    }
    if (rc == WEIR_OK && same) {
        wi_intake_close(in);
        in = NULL;
    }
    if (rc == WEIR_OK) {
        *out = in;
    }
    return rc;
}

static weir_err open_items(const struct wi_schema *s,
                           const struct ArrowSchema *given,
                           struct wi_intake **out, struct weir_error *err)
{
    bool same = true;
    return open_all(s, given, &same, out, err);
}

void wi_intake_close(struct wi_intake *in)
{
    for (uint32_t i = 0; in != NULL && i < in->s->n_columns; i++) {
        free(in->columns[i].found.mem);
        free(in->columns[i].index.rows.mem);
        free(in->columns[i].index.validity.mem);
        wi_intake_list_close(in->columns[i].list);
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
                             const struct wi_slice *in,
                             const struct ArrowArray *a, struct wi_picks *picks,
                             struct wi_view *v, struct weir_error *err)
{
    uint64_t first = picks->offset;
    if (a->dictionary != NULL || a->buffers == NULL) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "batch: column %s has a dictionary, or no buffers",
                       c->name);
    }
    weir_err rc = wi_column_nulls(c, in, a, first, &picks->validity, err);
    return rc == WEIR_OK ? find_texts(c, col, a, first, picks->n, picks, v, err)
                         : rc;
}

static weir_err import_indexed(const struct wi_column *c,
                               struct intake_column *col,
                               const struct wi_slice *in,
                               const struct ArrowArray *a,
                               struct wi_picks *picks, struct wi_view *v,
                               struct weir_error *err)
{
    weir_err rc = wi_index_look_up(&col->index, c, a, picks->offset, picks->n,
                                   &picks->rows, &picks->validity, err);
    if (rc == WEIR_OK && picks->validity != NULL) {
        rc = wi_column_allows(c, in, picks->validity, 0, err);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    const struct ArrowArray *d = a->dictionary;
    picks->offset = 0; /* of the new validity */
    return c->kind == WI_KIND_VAR
               ? find_texts(c, col, d, (uint64_t)d->offset, (uint64_t)d->length,
                            picks, v, err)
               : wi_index_values(c, &col->found, d, picks, v, err);
}

static weir_err import_other(const struct wi_column *c,
                             struct intake_column *col,
                             const struct wi_slice *in,
                             const struct ArrowArray *a, struct wi_view *v,
                             struct weir_error *err)
{
    if (a == NULL) {
        return wi_fail(err, WEIR_ERR_SCHEMA, "batch: column %s is missing",
                       c->name);
    }
    weir_err rc = wi_column_check_rows(c, a, in, err);
    uint64_t first = in->first + (uint64_t)a->offset;
    struct wi_picks picks = {.offset = first, .n = in->n};
    if (rc == WEIR_OK) {
        rc = (col->index.width != 0 ? import_indexed : import_texts)(
            c, col, in, a, &picks, v, err);
    }
    if (rc == WEIR_OK) {
        v->given = a->buffers[0];
        remember(col, a, first);
    }
    return rc;
}

static weir_err import_any(const struct wi_column *c, struct intake_column *col,
                           const struct wi_slice *in,
                           const struct ArrowArray *a, struct wi_view *v,
                           struct weir_error *err);

static weir_err import_fields(const struct wi_column *c,
                              struct intake_column *col,
                              const struct wi_slice *in,
                              const struct ArrowArray *a, struct wi_view *v,
                              struct weir_error *err)
{
    struct wi_slice fields;
    weir_err rc = wi_struct_import(c, in, a, v, &fields, err);
    uint32_t at = 1;
    for (uint32_t k = 0; rc == WEIR_OK && k < c->n_fields; k++) {
        rc = import_any(c + at, col + at, &fields, a->children[k], v + at, err);
        at += 1 + c[at].n_below;
    }
    return rc;
}

static weir_err import_any(const struct wi_column *c, struct intake_column *col,
                           const struct wi_slice *in,
                           const struct ArrowArray *a, struct wi_view *v,
                           struct weir_error *err)
{
    if (c->kind == WI_KIND_STRUCT) {
        return import_fields(c, col, in, a, v, err);
    }
    if (col->list != NULL) {
        return wi_intake_list_import(col->list, in, a, v, err);
    }
    return col->same ? wi_column_import(c, in, a, v, err)
                     : import_other(c, col, in, a, v, err);
}

static weir_err import_all(struct wi_intake *in, const struct wi_slice *slice,
                           const struct ArrowArray *list, struct wi_view *views,
                           struct weir_error *err)
{
    const struct wi_schema *s = in->s;
    weir_err rc = WEIR_OK;
    uint32_t at = 0;
    for (uint32_t i = 0; rc == WEIR_OK && i < s->n_top; i++) {
        rc = import_any(&s->columns[at], &in->columns[at], slice,
                        list->children[i], &views[at], err);
        at += 1 + s->columns[at].n_below;
    }
    return rc;
}

weir_err wi_intake_import(struct wi_intake *in, const struct ArrowArray *batch,
                          struct wi_view *views, struct weir_error *err)
{
    weir_err rc = wi_batch_check(in->s, batch, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    const struct wi_slice rows = wi_batch_slice(batch);
    return import_all(in, &rows, batch, views, err);
}

static const struct wi_items_ops items_ops = {
    .open = open_items,
    .import = import_all,
    .close = wi_intake_close,
};

static bool is_same_array(const struct intake_column *col,
                          const struct wi_slice *in, const struct ArrowArray *a,
                          const struct wi_view *v)
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
           in->first + (uint64_t)a->offset == col->offset;
}

static bool is_any_imported(const struct wi_column *c,
                            const struct intake_column *col,
                            const struct wi_slice *in,
                            const struct ArrowArray *a, const struct wi_view *v)
{
    struct wi_slice fields;
    uint32_t at = 1;
    if (col->list != NULL) {
        return wi_intake_list_is_imported(col->list, in, a, v);
    }
    if (c->kind != WI_KIND_STRUCT) {
        return col->same ? wi_column_is_imported(c, in, a, v)
                         : is_same_array(col, in, a, v);
    }
    bool same = wi_struct_is_imported(c, in, a, v, &fields);
    for (uint32_t k = 0; same && k < c->n_fields; k++) {
        same =
            is_any_imported(c + at, col + at, &fields, a->children[k], v + at);
        at += 1 + c[at].n_below;
    }
    return same;
}

bool wi_intake_is_imported(const struct wi_intake *in,
                           const struct ArrowArray *batch, uint64_t rows,
                           const struct wi_view *views)
{
    const struct wi_schema *s = in->s;
    if (!wi_batch_has_shape(s, batch, rows)) {
        return false;
    }
    const struct wi_slice slice = wi_batch_slice(batch);
    bool same = true;
    uint32_t at = 0;
    for (uint32_t i = 0; same && i < s->n_top; i++) {
        same = is_any_imported(&s->columns[at], &in->columns[at], &slice,
                               batch->children[i], &views[at]);
        at += 1 + s->columns[at].n_below;
    }
    return same;
}
