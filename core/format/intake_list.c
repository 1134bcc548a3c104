/* SPDX-License-Identifier: Apache-2.0 */
#include "core/format/intake_list.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/base/cc.h"
#include "core/base/err.h"
#include "core/format/intake_index.h"
#include "core/format/pack.h"
#include "core/format/text.h"

struct wi_intake_list {
    const struct wi_column *c;
    enum wi_list_kind kind; /* of the arrays: may have other offsets */
    const struct wi_items_ops *ops;
    struct wi_intake *items;
    struct wi_view *views; /* of the items */
    struct wi_packed packed;
    struct wi_room texts;
    const void *offsets; /* of the last import */
    uint64_t first;
};

/* ---- opening ------------------------------------------------------------- */

weir_err wi_layout_child(const struct wi_column *c,
                         const struct ArrowSchema *given, uint32_t k,
                         const struct ArrowSchema **out, struct weir_error *err)
{
    *out = given != NULL ? given->children[k] : NULL;
    if (given != NULL &&
        (*out == NULL || (*out)->release == NULL || (*out)->format == NULL)) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "layout: child %u of column %s is missing or released",
                       k, c->name);
    }
    return WEIR_OK;
}

/* Does a list of this format hold what the column holds? */
static bool match(const struct wi_column *c, const char *format,
                  enum wi_list_kind *kind_out)
{
    bool plain = strcmp(c->format, "+l") == 0 || strcmp(c->format, "+L") == 0;
    *kind_out = c->list;
    if (plain && (strcmp(format, "+l") == 0 || strcmp(format, "+L") == 0)) {
        *kind_out = format[1] == 'L' ? WI_LIST_64 : WI_LIST_32;
        return true;
    }
    return strcmp(c->format, format) == 0;
}

static weir_err check_given(const struct wi_column *c,
                            const struct ArrowSchema *given,
                            enum wi_list_kind *kind_out, struct weir_error *err)
{
    *kind_out = c->list;
    if (given != NULL &&
        (!match(c, given->format, kind_out) || given->dictionary != NULL ||
         given->n_children != 1 || given->children == NULL)) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "layout: column %s has format \"%s\"%s and %lld "
                       "children; the shuffle has \"%s\", a list",
                       c->name, given->format,
                       given->dictionary != NULL ? " of a dictionary" : "",
                       (long long)given->n_children, c->format);
    }
    const struct ArrowSchema *items;
    return wi_layout_child(c, given, 0, &items, err);
}

weir_err wi_intake_list_open(const struct wi_column *c,
                             const struct ArrowSchema *given,
                             const struct wi_items_ops *ops,
                             struct wi_intake_list **out,
                             struct weir_error *err)
{
    enum wi_list_kind kind;
    weir_err rc = check_given(c, given, &kind, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct wi_intake_list *l = calloc(1, sizeof(*l));
    if (l == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "layout: no memory");
    }
    l->c = c;
    l->kind = kind;
    l->ops = ops;
    l->views = calloc(c->items->n_columns, sizeof(*l->views));
    rc = l->views == NULL
             ? wi_fail(err, WEIR_ERR_NO_MEMORY, "layout: no memory")
             : ops->open(c->items, given, &l->items, err);
    if (rc != WEIR_OK) {
        wi_intake_list_close(l);
        return rc;
    }
    *out = l;
    return WEIR_OK;
}

void wi_intake_list_close(struct wi_intake_list *l)
{
    if (l != NULL) {
        l->ops->close(l->items);
        free(l->views);
        free(l->packed.mem);
        free(l->texts.mem);
    }
    free(l);
}

/* ---- offsets ------------------------------------------------------------- */

/* The items of row i, [begin, end), as the array says it. */
static inline int64_t offset_of(const struct wi_intake_list *l, uint64_t i)
{
    const uint8_t *offsets = l->offsets;
    uint64_t at = l->first + i;
    switch (l->kind) {
    case WI_LIST_FIXED:
        return (int64_t)(at * l->c->n_items);
    case WI_LIST_64:
        return (int64_t)wi_load_u64(offsets + at * 8);
    default:
        return (int32_t)wi_load_u32(offsets + at * 4);
    }
}

static weir_err check_array(const struct wi_intake_list *l,
                            const struct wi_slice *in,
                            const struct ArrowArray *a, struct weir_error *err)
{
    int n_buffers = l->kind == WI_LIST_FIXED ? 1 : 2;
    if (a == NULL || a->n_buffers != n_buffers || a->buffers == NULL ||
        a->n_children != 1 || a->children == NULL || a->dictionary != NULL ||
        (in->n > 0 && n_buffers == 2 && a->buffers[1] == NULL)) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "batch: column %s (format %s) is no list: it has %lld "
                       "buffers, not %d, and %lld children, or no offsets",
                       l->c->name, l->c->format,
                       a == NULL ? 0LL : (long long)a->n_buffers, n_buffers,
                       a == NULL ? 0LL : (long long)a->n_children);
    }
    return wi_column_check_rows(l->c, a, in, err);
}

/* Which items the rows have in all. */
static weir_err find_items(const struct wi_intake_list *l, uint64_t n,
                           struct wi_slice *items, struct weir_error *err)
{
    *items = (struct wi_slice){0};
    if (n == 0) {
        return WEIR_OK;
    }
    if (l->kind == WI_LIST_FIXED && l->first > INT64_MAX / l->c->n_items - n) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "batch: column %s begins at row %llu", l->c->name,
                       (unsigned long long)l->first);
    }
    int64_t begin = offset_of(l, 0);
    int64_t end = offset_of(l, n);
    for (uint64_t i = 0; i < n; i++) {
        int64_t from = offset_of(l, i);
        int64_t to = offset_of(l, i + 1);
        if (wi_unlikely(from < 0 || to < from)) {
            return wi_fail(err, WEIR_ERR_DATA,
                           "batch: column %s, row %llu: offset %lld after "
                           "%lld; offsets must not descend",
                           l->c->name, (unsigned long long)i, (long long)to,
                           (long long)from);
        }
    }
    if (end - begin > INT32_MAX) {
        return wi_fail(err, WEIR_ERR_DATA,
                       "batch: the lists of column %s have %lld items; 2^31-1 "
                       "are supported",
                       l->c->name, (long long)(end - begin));
    }
    items->first = (uint64_t)begin;
    items->n = (uint64_t)(end - begin);
    return WEIR_OK;
}

/* ---- importing ----------------------------------------------------------- */

/* How many items of a row are sent: none of a null, unless there must be. */
static inline uint32_t items_of(const struct wi_intake_list *l,
                                const struct wi_view *v, uint64_t i)
{
    bool null = v->validity != NULL && !wi_bit(v->validity, v->offset + i);
    return null && l->kind != WI_LIST_FIXED
               ? 0
               : (uint32_t)(offset_of(l, i + 1) - offset_of(l, i));
}

static weir_err pack(struct wi_intake_list *l, const struct wi_view *v,
                     uint64_t n, struct weir_error *err)
{
    struct wi_text *texts = l->texts.mem;
    int64_t begin = n > 0 ? offset_of(l, 0) : 0;
    l->packed.used = 0;
    for (uint64_t i = 0; i < n; i++) {
        size_t before = l->packed.used;
        uint64_t from = (uint64_t)(offset_of(l, i) - begin);
        if (!wi_pack_value(&l->packed, l->c, l->views, from,
                           items_of(l, v, i))) {
            return wi_fail(err, WEIR_ERR_NO_MEMORY,
                           "batch: column %s: no memory for its lists",
                           l->c->name);
        }
        size_t len = l->packed.used - before;
        if (wi_unlikely(len > INT32_MAX)) {
            return wi_fail(err, WEIR_ERR_DATA,
                           "batch: column %s, row %llu: a list of %zu bytes",
                           l->c->name, (unsigned long long)i, len);
        }
        texts[i].len = (uint32_t)len;
    }
    return WEIR_OK;
}

/* Now that the bytes move no more. */
static void point_texts(struct wi_intake_list *l, uint64_t n)
{
    struct wi_text *texts = l->texts.mem;
    const uint8_t *at = l->packed.mem;
    size_t left = l->packed.used;
    for (uint64_t i = 0; i < n; i++) {
        texts[i].at = at;
        texts[i].room = (uint32_t)wi_min_u64(left, UINT32_MAX);
        at += texts[i].len;
        left -= texts[i].len;
    }
}

weir_err wi_intake_list_import(struct wi_intake_list *l,
                               const struct wi_slice *in,
                               const struct ArrowArray *a, struct wi_view *v,
                               struct weir_error *err)
{
    struct wi_slice items;
    weir_err rc = check_array(l, in, a, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    l->first = in->first + (uint64_t)a->offset;
    l->offsets = l->kind == WI_LIST_FIXED ? NULL : a->buffers[1];
    *v = (struct wi_view){.offset = l->first, .given = a->buffers[0]};
    rc = wi_column_nulls(l->c, in, a, l->first, &v->validity, err);
    if (rc == WEIR_OK) {
        rc = find_items(l, in->n, &items, err);
    }
    if (rc == WEIR_OK) {
        rc = l->ops->import(l->items, &items, a, l->views, err);
    }
    if (rc == WEIR_OK) {
        rc = wi_schema_check_offsets(l->c->items, l->views, items.n, err);
    }
    if (rc == WEIR_OK) {
        rc = wi_room_make(&l->texts, l->c, in->n * sizeof(struct wi_text), err);
    }
    if (rc == WEIR_OK) {
        rc = pack(l, v, in->n, err);
    }
    if (rc == WEIR_OK) {
        point_texts(l, in->n);
        v->texts = l->texts.mem;
    }
    return rc;
}

bool wi_intake_list_is_imported(const struct wi_intake_list *l,
                                const struct wi_slice *in,
                                const struct ArrowArray *a,
                                const struct wi_view *v)
{
    bool fixed = l->kind == WI_LIST_FIXED;
    return a != NULL && a->buffers != NULL && a->n_buffers == (fixed ? 1 : 2) &&
           a->buffers[0] == v->given &&
           (fixed || a->buffers[1] == l->offsets) &&
           in->first + (uint64_t)a->offset == l->first;
}
