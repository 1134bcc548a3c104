/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/relaid.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 64, BUFFERS = 5, INLINE_BYTES = 12, PLAIN_COLUMNS = 2 };

/* What a batch of ours frees. */
struct owned {
    struct ArrowArray old;
    struct ArrowArray columns[MOST_COLUMNS];
    struct ArrowArray *children[MOST_COLUMNS];
    struct ArrowArray dictionaries[MOST_COLUMNS];
    const void *buffers[MOST_COLUMNS][BUFFERS];
    void *own[MOST_COLUMNS][3];
};

static bool is_text(const struct weir_field *f)
{
    return strcmp(f->format, "u") == 0 || strcmp(f->format, "z") == 0;
}

void wt_relaid_schema(const struct weir_field *fields, uint32_t n,
                      enum wt_layout layout, struct ArrowSchema *out)
{
    static const char *const texts[WT_LAYOUTS] = {"u", "U", "vu"};
    static const char *const bytes[WT_LAYOUTS] = {"z", "Z", "vz"};
    static struct ArrowSchema dictionaries[MOST_COLUMNS];
    weir_err rc = weir_schema_build(fields, n, out, NULL);
    assert(rc == WEIR_OK);
    (void)rc;
    for (uint32_t i = 0; i < n; i++) { /* nobody frees the formats */
        if (layout == WT_LAYOUT_DICTIONARY && i >= PLAIN_COLUMNS) {
            dictionaries[i].format = fields[i].format;
            out->children[i]->format = "i";
            out->children[i]->dictionary = &dictionaries[i];
        } else if (layout != WT_LAYOUT_DICTIONARY && is_text(&fields[i])) {
            out->children[i]->format =
                (fields[i].format[0] == 'u' ? texts : bytes)[layout];
        }
    }
}

static void *fresh(size_t bytes)
{
    uint8_t *p = malloc(bytes != 0 ? bytes : 1);
    assert(p != NULL);
    memset(p, 0xff, bytes); /* no offset, length or index */
    return p;
}

static bool is_null(const struct ArrowArray *a, int64_t at)
{
    const uint8_t *bits = a->buffers[0];
    return bits != NULL && a->null_count != 0 &&
           (bits[at / 8] >> (at % 8) & 1) == 0;
}

/* 64-bit offsets, moved up; their bytes as many in front of the first. */
static void make_large(const struct ArrowArray *old, struct ArrowArray *a,
                       const void **buffers, void **own)
{
    enum { AHEAD = 1000 };
    int64_t all = old->offset + old->length;
    const int32_t *ends = old->buffers[1];
    int64_t *offsets = fresh(((size_t)all + 1) * sizeof(*offsets));
    for (int64_t i = old->offset; i <= all; i++) {
        offsets[i] = AHEAD + ends[i];
    }
    uint8_t *bytes = fresh((size_t)(AHEAD + ends[all]));
    memcpy(bytes + AHEAD, old->buffers[2], (size_t)ends[all]);
    own[0] = offsets;
    own[1] = bytes;
    buffers[1] = offsets;
    buffers[2] = bytes;
    a->n_buffers = 3;
}

static void put_view(uint8_t *view, const uint8_t *bytes, int32_t from,
                     int32_t len, int32_t buffer)
{
    memset(view, 0, 16);
    memcpy(view, &len, 4);
    if (len <= INLINE_BYTES) {
        memcpy(view + 4, bytes + from, (size_t)len);
        return;
    }
    memcpy(view + 4, bytes + from, 4);
    memcpy(view + 8, &buffer, 4);
    memcpy(view + 12, &from, 4);
}

/* Every other text is in a second buffer, at the same place. */
static void make_views(const struct ArrowArray *old, struct ArrowArray *a,
                       const void **buffers, void **own)
{
    int64_t all = old->offset + old->length;
    const int32_t *ends = old->buffers[1];
    uint8_t *views = fresh((size_t)all * 16);
    uint8_t *second = fresh((size_t)ends[all]);
    int64_t *sizes = fresh(2 * sizeof(*sizes));
    memcpy(second, old->buffers[2], (size_t)ends[all]);
    sizes[0] = ends[all];
    sizes[1] = ends[all];
    for (int64_t i = old->offset; i < all; i++) {
        if (!is_null(old, i)) {
            put_view(views + i * 16, second, ends[i], ends[i + 1] - ends[i],
                     (int32_t)(i % 2));
        }
    }
    own[0] = views;
    own[1] = second;
    own[2] = sizes;
    buffers[1] = views;
    buffers[2] = old->buffers[2];
    buffers[3] = second;
    buffers[4] = sizes;
    a->n_buffers = 5;
}

/* The column becomes the dictionary. Every other null is one of the indices,
 * the rest are of the dictionary. */
static void make_indices(const struct ArrowArray *old, struct ArrowArray *a,
                         struct ArrowArray *dictionary, const void **buffers,
                         void **own)
{
    int64_t all = old->offset + old->length;
    int32_t *indices = fresh((size_t)all * sizeof(*indices));
    uint8_t *valid = fresh((size_t)(all + 7) / 8);
    for (int64_t i = old->offset; i < all; i++) {
        if (!is_null(old, i) || i % 2 == 0) {
            indices[i] = (int32_t)(i - old->offset);
        } else {
            valid[i / 8] &= (uint8_t) ~(1u << (i % 8));
        }
    }
    *dictionary = *old;
    own[0] = indices;
    own[1] = valid;
    buffers[0] = valid;
    buffers[1] = indices;
    a->dictionary = dictionary;
    a->n_buffers = 2;
    a->null_count = -1;
}

static void release_child(struct ArrowArray *a)
{
    a->release = NULL;
}

static void release_batch(struct ArrowArray *a)
{
    struct owned *o = a->private_data;
    for (int64_t c = 0; c < a->n_children; c++) {
        for (int i = 0; i < 3; i++) {
            free(o->own[c][i]);
        }
    }
    o->old.release(&o->old);
    free(o);
    a->release = NULL;
}

void wt_relaid_make(const struct weir_field *fields, enum wt_layout layout,
                    struct ArrowArray *batch)
{
    struct owned *o = calloc(1, sizeof(*o));
    assert(o != NULL && batch->n_children <= MOST_COLUMNS);
    o->old = *batch;
    for (int64_t c = 0; c < batch->n_children; c++) {
        const struct ArrowArray *old = o->old.children[c];
        struct ArrowArray *a = &o->columns[c];
        *a = *old;
        a->release = release_child;
        o->children[c] = a;
        if (layout == WT_LAYOUT_DICTIONARY && c >= PLAIN_COLUMNS) {
            a->buffers = o->buffers[c];
            make_indices(old, a, &o->dictionaries[c], o->buffers[c], o->own[c]);
            continue;
        }
        if (!is_text(&fields[c]) || layout == WT_LAYOUT_PLAIN ||
            layout == WT_LAYOUT_DICTIONARY) {
            continue;
        }
        o->buffers[c][0] = old->buffers[0];
        a->buffers = o->buffers[c];
        (layout == WT_LAYOUT_LARGE ? make_large : make_views)(
            old, a, o->buffers[c], o->own[c]);
    }
    batch->children = o->children;
    batch->private_data = o;
    batch->release = release_batch;
}
