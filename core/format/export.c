/* SPDX-License-Identifier: Apache-2.0 */
#include "core/format/export.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/base/cc.h"
#include "core/base/err.h"
#include "core/format/frame_bits.h"

/* ---- opening ------------------------------------------------------------- */

/* Memory that grows, on lines. */
struct grown {
    uint8_t *mem;
    size_t bytes;
};

struct wi_unpacked {
    struct grown validity;
    struct grown values; /* or bits, or offsets */
    struct grown bytes;
    uint32_t end;         /* VAR: of the bytes so far */
    struct grown offsets; /* of a list; its values are someone else's */
};

static void release_child(struct ArrowArray *array)
{
    array->release = NULL;
}

/* Point at the children of a struct, columns[at] on, and at theirs: `list` has
 * them. Returns the list's end. */
static struct ArrowArray **point_at(struct wi_export *x, uint32_t at,
                                    uint32_t n, struct ArrowArray **list)
{
    struct ArrowArray **end = list + n;
    for (uint32_t k = 0; k < n; k++) {
        const struct wi_column *c = &x->s->columns[at];
        list[k] = &x->arrays[at];
        if (c->kind == WI_KIND_STRUCT) {
            x->fields[at] = end;
            end = point_at(x, at + 1, c->n_fields, end);
        }
        at += 1 + c->n_below;
    }
    return end;
}

/* False: no memory. */
static bool open_own(struct wi_export *x, bool is_items)
{
    const struct wi_schema *s = x->s;
    if (s->n_lists == 0 && !is_items) {
        return true;
    }
    x->own = calloc(s->n_columns, sizeof(*x->own));
    return x->own != NULL;
}

static struct wi_export *open_export(const struct wi_schema *s, bool is_items)
{
    size_t n = s->n_columns;
    size_t bytes = sizeof(struct wi_export) + n * sizeof(struct ArrowArray) +
                   (3 * n + n * 3 + 1) * sizeof(void *);
    bytes = wi_align_up(bytes, WI_CACHE_LINE);
    struct wi_export *x = aligned_alloc(WI_CACHE_LINE, bytes);
    if (x == NULL) {
        return NULL;
    }
    memset(x, 0, bytes);
    x->s = s;
    x->children = (void *)&x->arrays[n];
    x->fields = (void *)&x->children[n];
    x->items = (void *)&x->fields[n];
    x->buffers = (void *)&x->items[n];
    (void)point_at(x, 0, s->n_top, x->children);
    bool full = open_own(x, is_items);
    for (uint32_t i = 0; full && s->n_lists > 0 && i < n; i++) {
        if (s->columns[i].items != NULL) {
            x->items[i] = open_export(s->columns[i].items, true);
            full = x->items[i] != NULL;
        }
    }
    if (!full) {
        wi_export_close(x);
        return NULL;
    }
    return x;
}

struct wi_export *wi_export_open(const struct wi_schema *s)
{
    return open_export(s, false);
}

void wi_export_close(struct wi_export *x)
{
    for (uint32_t i = 0; x != NULL && x->own != NULL && i < x->s->n_columns;
         i++) {
        free(x->own[i].validity.mem);
        free(x->own[i].values.mem);
        free(x->own[i].bytes.mem);
        free(x->own[i].offsets.mem);
        wi_export_close(x->items[i]);
    }
    if (x != NULL) {
        free(x->own);
    }
    free(x);
}

/* ---- arrays -------------------------------------------------------------- */

static inline int64_t buffers_of(const struct wi_column *c)
{
    return c->kind == WI_KIND_VAR ? 3 : c->kind == WI_KIND_STRUCT ? 1 : 2;
}

void wi_export_array(struct wi_export *x, uint32_t i, uint32_t rows)
{
    const struct wi_column *c = &x->s->columns[i];
    x->arrays[i] = (struct ArrowArray){
        .length = rows,
        .null_count = c->nullable ? -1 : 0,
        .n_buffers = buffers_of(c),
        .n_children = c->n_fields,
        .buffers = &x->buffers[i * 3],
        .children = x->fields[i],
        .release = release_child,
    };
}

/* ---- unpacking ----------------------------------------------------------- */

/* What is left of a value. */
struct input {
    const uint8_t *at;
    size_t left;
    weir_err rc; /* the first fault */
    const char *why;
};

static const uint8_t *fail(struct input *in, weir_err rc, const char *why)
{
    in->rc = in->rc == WEIR_OK ? rc : in->rc;
    in->why = in->why == NULL ? why : in->why;
    return NULL;
}

static const uint8_t *take(struct input *in, uint64_t bytes)
{
    if (wi_unlikely(bytes > in->left)) {
        return fail(in, WEIR_ERR_PEER_PROTOCOL, "it ends too early");
    }
    const uint8_t *at = in->at;
    in->at += bytes;
    in->left -= bytes;
    return at;
}

/* At least so many bytes, keeping those that were there; NULL: no memory. */
static uint8_t *grow(struct grown *g, uint64_t bytes, struct input *in)
{
    if (wi_likely(g->mem != NULL && bytes <= g->bytes)) {
        return g->mem;
    }
    size_t more = wi_align_up(bytes + bytes / 2 + 1, WI_CACHE_LINE);
    uint8_t *mem = aligned_alloc(WI_CACHE_LINE, more);
    if (mem == NULL) {
        fail(in, WEIR_ERR_NO_MEMORY, "no memory");
        return NULL;
    }
    if (g->mem != NULL) {
        memcpy(mem, g->mem, g->bytes);
    }
    free(g->mem);
    *g = (struct grown){mem, more};
    return mem;
}

/* The bits of values [first, first + n); `bits` NULL: ones. */
static void put_bits(struct grown *g, uint32_t first, uint32_t n,
                     const uint8_t *bits, struct input *in)
{
    const struct wi_rows rows = {.n = n};
    uint8_t *mem = grow(g, ((uint64_t)first + n + 64) / 8 + 8, in);
    if (mem == NULL) {
        return;
    }
    if (bits == NULL) {
        wi_set_bits(mem, first, n);
    } else {
        wi_copy_bits(mem, first, bits, 0, &rows, wi_isa_best());
    }
}

static void get_validity(struct wi_unpacked *u, uint32_t first, uint32_t n,
                         struct input *in)
{
    const uint8_t *flag = take(in, 1);
    uint8_t some = flag != NULL ? *flag : 0;
    const uint8_t *bits = NULL;
    if (some > 1) {
        fail(in, WEIR_ERR_PEER_PROTOCOL, "a flag is neither 0 nor 1");
    } else if (some == 1) {
        bits = take(in, ((uint64_t)n + 7) / 8);
    }
    if (in->rc == WEIR_OK) {
        put_bits(&u->validity, first, n, bits, in);
    }
}

static void get_fixed(struct wi_unpacked *u, uint32_t width, uint32_t first,
                      uint32_t n, struct input *in)
{
    uint64_t bytes = (uint64_t)n * width;
    uint64_t used = (uint64_t)first * width;
    const uint8_t *from = take(in, bytes);
    uint8_t *to = from != NULL ? grow(&u->values, used + bytes, in) : NULL;
    if (to != NULL) {
        memcpy(to + used, from, bytes);
    }
}

/* Lengths, then bytes. */
static void get_var(struct wi_unpacked *u, uint32_t first, uint32_t n,
                    struct input *in)
{
    const uint8_t *lens = take(in, (uint64_t)n * 4);
    uint8_t *ends = lens != NULL
                        ? grow(&u->values, ((uint64_t)first + n + 1) * 4, in)
                        : NULL;
    uint64_t end = u->end;
    if (ends == NULL) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        end += wi_load_u32(lens + (size_t)i * 4);
        wi_store_u32(ends + ((size_t)first + i + 1) * 4, (uint32_t)end);
    }
    if (end > INT32_MAX) {
        fail(in, WEIR_ERR_PEER_PROTOCOL, "its texts have 2 GiB");
        return;
    }
    const uint8_t *from = take(in, end - u->end);
    uint8_t *to = from != NULL ? grow(&u->bytes, end, in) : NULL;
    if (to != NULL) {
        memcpy(to + u->end, from, end - u->end);
        u->end = (uint32_t)end;
    }
}

/* Values [first, first + n) of a column of items. */
static void get_column(struct wi_export *x, uint32_t i, uint32_t first,
                       uint32_t n, struct input *in)
{
    const struct wi_column *c = &x->s->columns[i];
    struct wi_unpacked *u = &x->own[i];
    const uint8_t *bits;
    if (c->nullable) {
        get_validity(u, first, n, in);
    }
    if (in->rc != WEIR_OK) {
        return;
    }
    switch (c->kind) {
    case WI_KIND_FIXED:
        get_fixed(u, c->width, first, n, in);
        break;
    case WI_KIND_BITS:
        bits = take(in, ((uint64_t)n + 7) / 8);
        if (bits != NULL) {
            put_bits(&u->values, first, n, bits, in);
        }
        break;
    case WI_KIND_VAR:
        get_var(u, first, n, in);
        break;
    case WI_KIND_STRUCT:
        break;
    }
}

/* One value of a list: `total` items came before it. Returns how many it has.
 * Each takes a bit or more, so memory is made for what has come only. */
static uint32_t get_value(struct wi_export *items, const struct wi_column *c,
                          uint32_t total, struct input *in)
{
    uint32_t n = c->n_items;
    if (c->list != WI_LIST_FIXED) {
        const uint8_t *count = take(in, 4);
        n = count != NULL ? wi_load_u32(count) : 0;
    }
    if (n > in->left * 8 || n > INT32_MAX - total) {
        fail(in, WEIR_ERR_PEER_PROTOCOL, "it has too many items");
    }
    for (uint32_t i = 0; in->rc == WEIR_OK && i < items->s->n_columns; i++) {
        get_column(items, i, total, n, in);
    }
    if (in->rc == WEIR_OK && in->left != 0) {
        fail(in, WEIR_ERR_PEER_PROTOCOL, "it is longer than its items");
    }
    return n;
}

static void put_offset(const struct wi_column *c, uint8_t *offsets, uint64_t i,
                       uint32_t total)
{
    if (c->list == WI_LIST_64) {
        wi_store_u64(offsets + i * 8, total);
    } else {
        wi_store_u32(offsets + i * 4, total);
    }
}

/* Room for the first of everything, so that no buffer is NULL. */
static void begin_items(struct wi_export *items, struct input *in)
{
    for (uint32_t i = 0; i < items->s->n_columns; i++) {
        const struct wi_column *c = &items->s->columns[i];
        struct wi_unpacked *u = &items->own[i];
        u->end = 0;
        if (c->nullable) {
            (void)grow(&u->validity, 1, in);
        }
        if (c->kind != WI_KIND_STRUCT) {
            (void)grow(&u->values, 4, in);
            (void)grow(&u->bytes, 1, in);
        }
        if (c->kind == WI_KIND_VAR && in->rc == WEIR_OK) {
            wi_store_u32(u->values.mem, 0);
        }
    }
}

/* Arrays of the items, and of what is in them. */
static weir_err end_items(struct wi_export *items, uint32_t total,
                          struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; rc == WEIR_OK && i < items->s->n_columns; i++) {
        const struct wi_column *c = &items->s->columns[i];
        const struct wi_unpacked *u = &items->own[i];
        items->buffers[i * 3] = c->nullable ? u->validity.mem : NULL;
        items->buffers[i * 3 + 1] = u->values.mem;
        items->buffers[i * 3 + 2] = u->bytes.mem;
        wi_export_array(items, i, total);
        if (c->items != NULL) {
            rc = wi_export_list(items, i, total, err);
        }
    }
    return rc;
}

static WI_COLD weir_err bad_list(const struct wi_column *c, uint32_t row,
                                 const struct input *in, struct weir_error *err)
{
    return wi_fail(err, in->rc, "frame: list column %s, row %u: %s", c->name,
                   row, in->why);
}

weir_err wi_export_list(struct wi_export *x, uint32_t i, uint32_t rows,
                        struct weir_error *err)
{
    const struct wi_column *c = &x->s->columns[i];
    struct wi_export *items = x->items[i];
    struct wi_unpacked *own = &x->own[i];
    const uint8_t *ends = x->buffers[i * 3 + 1];
    const uint8_t *bytes = x->buffers[i * 3 + 2];
    struct input in = {.rc = WEIR_OK};
    uint8_t *offsets =
        grow(&own->offsets, ((uint64_t)rows + 1) * sizeof(int64_t), &in);
    uint32_t total = 0;
    uint32_t row = 0;
    begin_items(items, &in);
    if (in.rc == WEIR_OK) {
        put_offset(c, offsets, 0, 0);
    }
    for (; in.rc == WEIR_OK && row < rows; row++) {
        uint32_t from = wi_load_u32(ends + (size_t)row * 4);
        in.at = bytes + from;
        in.left = wi_load_u32(ends + ((size_t)row + 1) * 4) - from;
        total += get_value(items, c, total, &in);
        put_offset(c, offsets, (uint64_t)row + 1, total);
    }
    if (in.rc != WEIR_OK) {
        return bad_list(c, row == 0 ? 0 : row - 1, &in, err);
    }
    x->buffers[i * 3 + 1] = c->list == WI_LIST_FIXED ? NULL : offsets;
    x->buffers[i * 3 + 2] = NULL;
    x->arrays[i].n_buffers = c->list == WI_LIST_FIXED ? 1 : 2;
    x->arrays[i].n_children = 1;
    x->arrays[i].children = items->children;
    return end_items(items, total, err);
}
