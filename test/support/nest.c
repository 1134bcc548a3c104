/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/nest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFERS = 4, MOST_CHILDREN = 16, INLINE_BYTES = 12, HEAD_ITEMS = 3 };

/* ---- types --------------------------------------------------------------- */

static uint32_t width_of(const char *format)
{
    switch (format[0]) {
    case 'c':
    case 'C':
        return 1;
    case 's':
    case 'S':
        return 2;
    case 'i':
    case 'I':
    case 'f':
        return 4;
    case 'w':
        return (uint32_t)strtoul(format + 2, NULL, 10);
    case 'd':
        return 16;
    default:
        return strcmp(format, "tin") == 0 ? 16 : 8;
    }
}

static bool is_text(const char *format)
{
    return strchr("uzUZv", format[0]) != NULL;
}

static bool is_list(const char *format)
{
    return format[0] == '+' && format[1] != 's';
}

/* Items of each value of a list of fixed size; 0: it is none. */
static uint32_t fixed_items(const char *format)
{
    return format[1] == 'w' ? (uint32_t)strtoul(format + 3, NULL, 10) : 0;
}

static const char *form_of(const struct wt_nest *type,
                           const struct wt_nest_size *size)
{
    return type->pushed != NULL && !size->plain ? type->pushed : type->format;
}

/* Indices, of values that are none. */
static bool is_indexed(const struct wt_nest *type,
                       const struct wt_nest_size *size)
{
    return type->format[0] != '+' &&
           strcmp(form_of(type, size), type->format) != 0 &&
           strcmp(form_of(type, size), "i") == 0;
}

/* ---- values -------------------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u + b + 1;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static bool is_null(const struct wt_nest *type, const struct wt_nest_size *size,
                    uint64_t seed)
{
    return type->nullable && (size->all_null || (seed >> 40) % 4 == 0);
}

static uint32_t text_len(const struct wt_nest_size *size, uint64_t seed)
{
    uint32_t most = size->var_bytes != 0 ? size->var_bytes : 24;
    return seed % 5 == 0 ? 0 : (uint32_t)(seed / 5 % (most + 1));
}

static uint32_t n_items(const struct wt_nest *type,
                        const struct wt_nest_size *size, uint64_t seed)
{
    uint32_t most = size->items != 0 ? size->items : 5;
    uint32_t fixed = fixed_items(type->format);
    return fixed != 0 ? fixed : (uint32_t)(seed / 7 % (most + 1));
}

static void put_bytes(uint64_t seed, uint8_t *to, uint32_t n)
{
    for (uint32_t at = 0; at < n; at += 8) {
        uint64_t word = mix(seed, at) & 0x3f3f3f3f3f3f3f3fu;
        word |= 0x4040404040404040u; /* printable enough for text */
        memcpy(to + at, &word, n - at < 8 ? n - at : 8);
    }
}

static bool bytes_are(uint64_t seed, const uint8_t *from, uint32_t n)
{
    uint8_t *want = malloc(n + 1);
    assert(want != NULL);
    put_bytes(seed, want, n);
    bool same = memcmp(want, from, n) == 0;
    free(want);
    return same;
}

/* ---- schemas ------------------------------------------------------------- */

struct schema_node {
    struct ArrowSchema *children[MOST_CHILDREN];
    struct ArrowSchema structs[MOST_CHILDREN];
    struct ArrowSchema dictionary;
};

static void release_part(struct ArrowSchema *s)
{
    for (int64_t i = 0; i < s->n_children; i++) {
        if (s->children[i]->release != NULL) {
            s->children[i]->release(s->children[i]);
        }
    }
    free(s->private_data);
    s->release = NULL;
}

static void release_nothing(struct ArrowSchema *s)
{
    s->release = NULL;
}

static void fill_schema(const struct wt_nest *type, bool pushed,
                        struct ArrowSchema *out)
{
    const struct wt_nest_size size = {.plain = !pushed};
    struct schema_node *node = calloc(1, sizeof(*node));
    assert(node != NULL && type->n_children <= MOST_CHILDREN);
    *out = (struct ArrowSchema){
        .name = type->name,
        .format = form_of(type, &size),
        .flags = type->nullable ? ARROW_FLAG_NULLABLE : 0,
        .n_children = type->n_children,
        .children = type->n_children != 0 ? node->children : NULL,
        .release = release_part,
        .private_data = node,
    };
    if (is_indexed(type, &size)) {
        node->dictionary = (struct ArrowSchema){
            .name = "", .format = type->format, .release = release_nothing};
        out->dictionary = &node->dictionary;
    }
    for (uint32_t i = 0; i < type->n_children; i++) {
        node->children[i] = &node->structs[i];
        fill_schema(&type->children[i], pushed, &node->structs[i]);
    }
}

void wt_nest_schema(const struct wt_nest *columns, uint32_t n, bool pushed,
                    struct ArrowSchema *out)
{
    const struct wt_nest batch = {
        .name = "", .format = "+s", .children = columns, .n_children = n};
    fill_schema(&batch, pushed, out);
}

/* ---- making -------------------------------------------------------------- */

/* What an array of ours frees. */
struct node {
    const void *buffers[BUFFERS + 1];
    struct ArrowArray *children[MOST_CHILDREN];
    struct ArrowArray arrays[MOST_CHILDREN];
    struct ArrowArray dictionary;
    const void *dictionary_buffers[BUFFERS];
};

static void release_node(struct ArrowArray *a)
{
    struct node *node = a->private_data;
    for (int64_t i = 0; i < a->n_children; i++) {
        if (a->children[i]->release != NULL) {
            a->children[i]->release(a->children[i]);
        }
    }
    for (int i = 0; i <= BUFFERS; i++) {
        free((void *)(uintptr_t)node->buffers[i]);
    }
    for (int i = 0; i < BUFFERS; i++) {
        free((void *)(uintptr_t)node->dictionary_buffers[i]);
    }
    free(node);
    a->release = NULL;
}

static void *fresh(size_t bytes)
{
    uint8_t *p = malloc(bytes != 0 ? bytes : 1);
    assert(p != NULL);
    memset(p, 0xa5, bytes);
    return p;
}

static void set_bit(uint8_t *bits, uint64_t i, bool on)
{
    uint8_t mask = (uint8_t)(1u << (i % 8));
    bits[i / 8] = (uint8_t)(on ? bits[i / 8] | mask : bits[i / 8] & ~mask);
}

static bool get_bit(const uint8_t *bits, uint64_t i)
{
    return (bits[i / 8] >> (i % 8) & 1) != 0;
}

/* Values of a column, seeds of all rows, and which of them are null because of
 * what they are in. */
struct column {
    const struct wt_nest *type;
    const struct wt_nest_size *size;
    const uint64_t *seeds;
    const bool *under; /* NULL: none */
    uint64_t n;
};

static void make_fixed(const struct column *c, const void **buffers)
{
    uint32_t width = width_of(c->type->format);
    uint8_t *values = fresh(c->n * width);
    for (uint64_t i = 0; i < c->n; i++) {
        put_bytes(c->seeds[i], values + i * width, width);
    }
    buffers[1] = values;
}

static void make_bits(const struct column *c, const void **buffers)
{
    uint8_t *values = fresh((c->n + 7) / 8);
    for (uint64_t i = 0; i < c->n; i++) {
        set_bit(values, i, (c->seeds[i] & 1) != 0);
    }
    buffers[1] = values;
}

/* Offsets of 4 or 8 bytes from `begin` on. */
static void *make_offsets(const uint32_t *lens, uint64_t n, uint64_t begin,
                          bool large)
{
    uint8_t *offsets = fresh((n + 1) * (large ? 8 : 4));
    uint64_t at = begin;
    for (uint64_t i = 0; i <= n; i++) {
        memcpy(offsets + i * (large ? 8 : 4), &at, large ? 8 : 4);
        at += i < n ? lens[i] : 0;
    }
    return offsets;
}

static uint8_t *make_texts(const struct column *c, uint32_t **lens_out)
{
    uint32_t *lens = fresh(c->n * sizeof(*lens));
    uint64_t bytes = HEAD_ITEMS;
    for (uint64_t i = 0; i < c->n; i++) {
        lens[i] = text_len(c->size, c->seeds[i]);
        bytes += lens[i];
    }
    uint8_t *texts = fresh(bytes);
    uint64_t at = HEAD_ITEMS;
    for (uint64_t i = 0; i < c->n; i++) {
        put_bytes(c->seeds[i], texts + at, lens[i]);
        at += lens[i];
    }
    *lens_out = lens;
    return texts;
}

static int64_t make_views(const uint32_t *lens, uint8_t *texts, uint64_t n,
                          const void **buffers)
{
    uint8_t *views = fresh(n * 16);
    uint32_t at = HEAD_ITEMS;
    for (uint64_t i = 0; i < n; i++) {
        uint8_t *v = views + i * 16;
        memset(v, 0, 16);
        memcpy(v, &lens[i], 4);
        memcpy(v + 4, texts + at, lens[i] <= INLINE_BYTES ? lens[i] : 4);
        if (lens[i] > INLINE_BYTES) {
            memcpy(v + 12, &at, 4);
        }
        at += lens[i];
    }
    int64_t *sizes = fresh(sizeof(*sizes));
    sizes[0] = at;
    buffers[1] = views;
    buffers[2] = texts;
    buffers[3] = sizes;
    return 4;
}

/* Returns how many buffers. */
static int64_t make_var(const struct column *c, const char *form,
                        const void **buffers)
{
    uint32_t *lens;
    int64_t n = 3;
    uint8_t *texts = make_texts(c, &lens);
    if (form[0] == 'v') {
        n = make_views(lens, texts, c->n, buffers);
    } else {
        buffers[1] =
            make_offsets(lens, c->n, HEAD_ITEMS, strchr("UZ", form[0]) != NULL);
        buffers[2] = texts;
    }
    free(lens);
    return n;
}

static int64_t make_values(const struct column *c, const char *form,
                           const void **buffers)
{
    if (is_text(form)) {
        return make_var(c, form, buffers);
    }
    (form[0] == 'b' ? make_bits : make_fixed)(c, buffers);
    return 2;
}

/* The dictionary has the values backwards. */
static void make_indexed(const struct column *c, struct ArrowArray *a,
                         struct node *node)
{
    uint64_t *seeds = fresh(c->n * sizeof(*seeds));
    int32_t *indices = fresh(c->n * sizeof(*indices));
    for (uint64_t i = 0; i < c->n; i++) {
        seeds[i] = c->seeds[c->n - 1 - i];
        indices[i] = (int32_t)(c->n - 1 - i);
    }
    struct column values = *c;
    values.seeds = seeds;
    int64_t n = make_values(&values, c->type->format, node->dictionary_buffers);
    node->dictionary = (struct ArrowArray){.length = (int64_t)c->n,
                                           .n_buffers = n,
                                           .buffers = node->dictionary_buffers};
    node->buffers[1] = indices;
    a->dictionary = &node->dictionary;
    a->n_buffers = 2;
    free(seeds);
}

static void make_array(const struct column *c, uint64_t skip,
                       struct ArrowArray *out);

/* Which rows are null: their children are anything then. */
static bool *nulls_of(const struct column *c)
{
    bool *null = fresh(c->n * sizeof(*null));
    for (uint64_t i = 0; i < c->n; i++) {
        null[i] = (c->under != NULL && c->under[i]) ||
                  is_null(c->type, c->size, c->seeds[i]);
    }
    return null;
}

static void make_struct(const struct column *c, struct ArrowArray *a,
                        struct node *node)
{
    uint64_t *seeds = fresh((c->n + HEAD_ITEMS) * sizeof(*seeds));
    bool *null = nulls_of(c);
    bool *under = calloc(c->n + HEAD_ITEMS, sizeof(*under));
    assert(under != NULL);
    memcpy(under + HEAD_ITEMS, null, c->n * sizeof(*under));
    for (uint32_t k = 0; k < c->type->n_children; k++) {
        for (uint64_t i = 0; i < c->n + HEAD_ITEMS; i++) {
            uint64_t own = i < HEAD_ITEMS ? i : c->seeds[i - HEAD_ITEMS];
            seeds[i] = mix(own, k);
        }
        const struct column child = {.type = &c->type->children[k],
                                     .size = c->size,
                                     .seeds = seeds,
                                     .under = under,
                                     .n = c->n + HEAD_ITEMS};
        make_array(&child, HEAD_ITEMS, &node->arrays[k]);
        node->children[k] = &node->arrays[k];
    }
    a->n_buffers = 1;
    free(seeds);
    free(null);
    free(under);
}

/* Items of the rows, after some that are nobody's. */
static void make_list(const struct column *c, struct ArrowArray *a,
                      struct node *node)
{
    bool fixed = fixed_items(c->type->format) != 0;
    uint64_t head = fixed ? 0 : HEAD_ITEMS;
    uint32_t *lens = fresh(c->n * sizeof(*lens));
    uint64_t n = head;
    for (uint64_t i = 0; i < c->n; i++) {
        lens[i] = n_items(c->type, c->size, c->seeds[i]);
        n += lens[i];
    }
    uint64_t *seeds = fresh(n * sizeof(*seeds));
    uint64_t at = 0;
    for (; at < head; at++) {
        seeds[at] = at;
    }
    for (uint64_t i = 0; i < c->n; i++) {
        for (uint32_t j = 0; j < lens[i]; j++) {
            seeds[at++] = mix(c->seeds[i], j);
        }
    }
    const struct column items = {
        .type = &c->type->children[0], .size = c->size, .seeds = seeds, .n = n};
    make_array(&items, 0, &node->arrays[0]);
    node->children[0] = &node->arrays[0];
    a->n_buffers = fixed ? 1 : 2;
    if (!fixed) {
        node->buffers[1] = make_offsets(
            lens, c->n, head, strcmp(form_of(c->type, c->size), "+L") == 0);
    }
    free(lens);
    free(seeds);
}

static void make_validity(const struct column *c, struct ArrowArray *a,
                          struct node *node)
{
    uint8_t *valid = fresh((c->n + 7) / 8);
    bool any = false;
    for (uint64_t i = 0; i < c->n; i++) {
        bool null = is_null(c->type, c->size, c->seeds[i]) ||
                    (c->under != NULL && c->under[i] && c->seeds[i] % 2 == 0);
        set_bit(valid, i, !null);
        any = any || null;
    }
    node->buffers[0] = valid;
    a->null_count = any ? -1 : 0;
}

/* Rows [skip, n), with what is before them. */
static void make_array(const struct column *c, uint64_t skip,
                       struct ArrowArray *out)
{
    struct node *node = calloc(1, sizeof(*node));
    assert(node != NULL);
    *out = (struct ArrowArray){.length = (int64_t)(c->n - skip),
                               .offset = (int64_t)skip,
                               .buffers = node->buffers,
                               .n_children = c->type->n_children,
                               .children = node->children,
                               .release = release_node,
                               .private_data = node};
    if (is_list(c->type->format)) {
        make_list(c, out, node);
    } else if (c->type->format[0] == '+') {
        make_struct(c, out, node);
    } else if (is_indexed(c->type, c->size)) {
        make_indexed(c, out, node);
    } else {
        out->n_buffers =
            make_values(c, form_of(c->type, c->size), node->buffers);
    }
    make_validity(c, out, node);
}

void wt_nest_make(const struct wt_nest *type, const struct wt_nest_size *size,
                  const uint64_t *seeds, uint32_t skip, uint32_t n,
                  struct ArrowArray *out)
{
    const struct column c = {
        .type = type, .size = size, .seeds = seeds, .n = skip + n};
    make_array(&c, skip, out);
}

/* ---- checking ------------------------------------------------------------ */

static bool check_children(const struct wt_nest *type,
                           const struct wt_nest_size *size,
                           const struct ArrowArray *a, uint64_t at,
                           uint64_t seed)
{
    for (uint32_t k = 0; k < type->n_children; k++) {
        if (!wt_nest_check(&type->children[k], size, a->children[k], at,
                           mix(seed, k))) {
            return false;
        }
    }
    return a->n_children == type->n_children;
}

static bool check_items(const struct wt_nest *type,
                        const struct wt_nest_size *size,
                        const struct ArrowArray *a, uint64_t at, uint64_t seed)
{
    uint32_t fixed = fixed_items(type->format);
    uint32_t n = n_items(type, size, seed);
    uint64_t begin = at * fixed;
    if (fixed == 0 && strcmp(type->format, "+L") == 0) {
        const int64_t *offsets = a->buffers[1];
        begin = (uint64_t)offsets[at];
        n = offsets[at + 1] - offsets[at] == n ? n : UINT32_MAX;
    } else if (fixed == 0) {
        const int32_t *offsets = a->buffers[1];
        begin = (uint64_t)offsets[at];
        n = offsets[at + 1] - offsets[at] == (int32_t)n ? n : UINT32_MAX;
    }
    for (uint32_t j = 0; n != UINT32_MAX && j < n; j++) {
        if (!wt_nest_check(&type->children[0], size, a->children[0], begin + j,
                           mix(seed, j))) {
            return false;
        }
    }
    return n != UINT32_MAX && a->n_children == 1;
}

/* As a null list is when it was sent, unless it has always as many items. */
static bool is_empty(const char *format, const struct ArrowArray *a,
                     uint64_t at)
{
    if (fixed_items(format) != 0) {
        return true;
    }
    if (strcmp(format, "+L") == 0) {
        const int64_t *offsets = a->buffers[1];
        return offsets[at] == offsets[at + 1];
    }
    const int32_t *offsets = a->buffers[1];
    return offsets[at] == offsets[at + 1];
}

static bool check_text(const struct wt_nest_size *size,
                       const struct ArrowArray *a, uint64_t at, uint64_t seed)
{
    const int32_t *offsets = a->buffers[1];
    uint32_t len = text_len(size, seed);
    return offsets[at + 1] - offsets[at] == (int32_t)len &&
           bytes_are(seed, (const uint8_t *)a->buffers[2] + offsets[at], len);
}

bool wt_nest_check(const struct wt_nest *type, const struct wt_nest_size *size,
                   const struct ArrowArray *a, uint64_t at, uint64_t seed)
{
    const char *format = type->format;
    at += (uint64_t)a->offset;
    bool null = a->buffers[0] != NULL && !get_bit(a->buffers[0], at);
    if (null || is_null(type, size, seed)) {
        return null == is_null(type, size, seed) &&
               (!is_list(format) || is_empty(format, a, at));
    }
    if (is_list(format)) {
        return check_items(type, size, a, at, seed);
    }
    if (format[0] == '+') {
        return check_children(type, size, a, at, seed);
    }
    if (is_text(format)) {
        return check_text(size, a, at, seed);
    }
    if (format[0] == 'b') {
        return get_bit(a->buffers[1], at) == ((seed & 1) != 0);
    }
    uint32_t width = width_of(format);
    return bytes_are(seed, (const uint8_t *)a->buffers[1] + at * width, width);
}
