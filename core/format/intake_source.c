/* SPDX-License-Identifier: Apache-2.0 */
#include "core/format/intake_source.h"

#include "core/base/bytes.h"
#include "core/base/cc.h"
#include "core/base/err.h"

enum { VIEW_BYTES = 16, INLINE_BYTES = 12 };

static const uint8_t nothing[VIEW_BYTES]; /* of an array without rows */

/* ---- opening ------------------------------------------------------------- */

static uint32_t offset_bytes(const struct wi_source *s)
{
    return s->layout == WI_LAYOUT_LARGE ? 8 : 4;
}

static int64_t load_offset(const struct wi_source *s, uint64_t i)
{
    return s->layout == WI_LAYOUT_LARGE
               ? (int64_t)wi_load_u64(s->values + i * 8)
               : (int32_t)wi_load_u32(s->values + i * 4);
}

/* Offsets in between are checked where they are used. */
static weir_err open_offsets(const struct wi_column *c, struct wi_source *s,
                             const void *bytes, struct weir_error *err)
{
    s->begin = load_offset(s, 0);
    s->end = load_offset(s, s->n);
    s->bytes = bytes;
    if (s->begin < 0 || s->end < s->begin) {
        return wi_fail(err, WEIR_ERR_DATA,
                       "batch: column %s has offsets from %lld to %lld",
                       c->name, (long long)s->begin, (long long)s->end);
    }
    if (bytes == NULL && s->end != s->begin) {
        return wi_fail(err, WEIR_ERR_DATA,
                       "batch: column %s has values of %lld bytes, and no "
                       "buffer for them",
                       c->name, (long long)(s->end - s->begin));
    }
    return WEIR_OK;
}

static weir_err open_views(const struct wi_column *c, struct wi_source *s,
                           const struct ArrowArray *a, struct weir_error *err)
{
    s->data = (const void *const *)a->buffers + 2;
    s->n_data = (uint64_t)a->n_buffers - 3;
    s->sizes = a->buffers[a->n_buffers - 1];
    if (s->sizes == NULL && s->n_data > 0) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "batch: column %s has %llu data buffers and no buffer "
                       "of their sizes",
                       c->name, (unsigned long long)s->n_data);
    }
    for (uint64_t k = 0; k < s->n_data; k++) {
        int64_t size = (int64_t)wi_load_u64(s->sizes + k * 8);
        if (size < 0 || (size > 0 && s->data[k] == NULL)) {
            return wi_fail(err, WEIR_ERR_DATA,
                           "batch: column %s, data buffer %llu: %lld bytes%s",
                           c->name, (unsigned long long)k, (long long)size,
                           size < 0 ? "" : ", and it is missing");
        }
    }
    return WEIR_OK;
}

weir_err wi_source_of(const struct wi_column *c, enum wi_layout layout,
                      const struct ArrowArray *a, uint64_t offset, uint64_t n,
                      struct wi_source *out, struct weir_error *err)
{
    bool view = layout == WI_LAYOUT_VIEW;
    if (a->n_children != 0 || a->buffers == NULL ||
        (view ? a->n_buffers < 3 : a->n_buffers != 3)) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "batch: column %s has %lld buffers, not %s3, or has "
                       "children",
                       c->name, (long long)a->n_buffers,
                       view ? "at least " : "");
    }
    *out = (struct wi_source){.layout = layout, .n = n, .values = nothing};
    if (n == 0) {
        return WEIR_OK;
    }
    if (a->buffers[1] == NULL) {
        return wi_fail(err, WEIR_ERR_SCHEMA,
                       "batch: column %s has rows but no value buffer",
                       c->name);
    }
    out->values = a->buffers[1];
    out->values += offset * (view ? VIEW_BYTES : offset_bytes(out));
    return view ? open_views(c, out, a, err)
                : open_offsets(c, out, a->buffers[2], err);
}

/* ---- texts --------------------------------------------------------------- */

static inline uint32_t room_of(uint64_t bytes)
{
    return (uint32_t)wi_min_u64(bytes, UINT32_MAX);
}

/* False: it is not inside its buffer. */
static inline bool view_text(const struct wi_source *s, uint64_t i,
                             struct wi_text *t)
{
    const uint8_t *view = s->values + i * VIEW_BYTES;
    uint32_t len = wi_load_u32(view);
    t->len = len;
    if (len <= INLINE_BYTES) {
        t->at = view + 4;
        t->room = room_of((s->n - i) * VIEW_BYTES - 4);
        return true;
    }
    uint32_t k = wi_load_u32(view + 8);
    uint32_t from = wi_load_u32(view + 12);
    if (len > INT32_MAX || k >= s->n_data) {
        return false;
    }
    uint64_t size = wi_load_u64(s->sizes + (uint64_t)k * 8);
    if ((uint64_t)from + len > size) {
        return false;
    }
    t->at = (const uint8_t *)s->data[k] + from;
    t->room = room_of(size - from);
    return true;
}

static inline bool offset_text(const struct wi_source *s, uint64_t i,
                               struct wi_text *t)
{
    int64_t from = load_offset(s, i);
    int64_t end = load_offset(s, i + 1);
    if (from < s->begin || end < from || end > s->end ||
        end - from > INT32_MAX) {
        return false;
    }
    bool none = s->bytes == NULL;
    t->at = none ? s->values : s->bytes + from;
    t->len = (uint32_t)(end - from);
    t->room = none ? 0 : room_of((uint64_t)(s->end - from));
    return true;
}

static inline bool text_at(const struct wi_source *s, uint64_t i,
                           struct wi_text *t)
{
    return s->layout == WI_LAYOUT_VIEW ? view_text(s, i, t)
                                       : offset_text(s, i, t);
}

static WI_COLD weir_err fail_text(const struct wi_column *c,
                                  const struct wi_source *s, uint64_t row,
                                  struct weir_error *err)
{
    if (s->layout != WI_LAYOUT_VIEW) {
        return wi_fail(err, WEIR_ERR_DATA,
                       "batch: column %s, row %llu: offset %lld after %lld; "
                       "offsets must not descend, nor pass the last one",
                       c->name, (unsigned long long)row,
                       (long long)load_offset(s, row + 1),
                       (long long)load_offset(s, row));
    }
    const uint8_t *view = s->values + row * VIEW_BYTES;
    return wi_fail(err, WEIR_ERR_DATA,
                   "batch: column %s, row %llu: a view of %u bytes at %u of "
                   "data buffer %u ends outside; there are %llu",
                   c->name, (unsigned long long)row, wi_load_u32(view),
                   wi_load_u32(view + 12), wi_load_u32(view + 8),
                   (unsigned long long)s->n_data);
}

weir_err wi_source_texts(const struct wi_column *c, const struct wi_source *s,
                         const struct wi_picks *picks,
                         struct wi_text *texts_out, struct weir_error *err)
{
    const struct wi_source own = *s; /* what is written might alias it */
    const struct wi_picks p = *picks;
    for (uint64_t i = 0; i < p.n; i++) {
        uint64_t at = p.rows != NULL ? p.rows[i] : i;
        if (p.validity != NULL && !wi_bit(p.validity, p.offset + i)) {
            texts_out[i] = (struct wi_text){.at = own.values};
        } else if (wi_unlikely(!text_at(&own, at, &texts_out[i]))) {
            return fail_text(c, s, at, err);
        }
    }
    return WEIR_OK;
}
