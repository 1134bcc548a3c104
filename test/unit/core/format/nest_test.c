/* SPDX-License-Identifier: Apache-2.0 */
/* Columns in columns: taken in, built into frames, and read there. */
#include "test/support/nest.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cc.h"
#include "core/format/frame_build.h"
#include "core/format/frame_check.h"
#include "core/format/import.h"
#include "core/format/intake.h"

enum { ROWS = 300, AHEAD = 7, SKIP = 5, FRAME_BYTES = 1 << 17 };

static const struct wt_nest deep[] = {{"y", "u", 1, NULL, 0, "vu"},
                                      {"b", "b", 0, NULL, 0, NULL}};
static const struct wt_nest fields[] = {
    {"x", "l", 0, NULL, 0, NULL},  {"t", "+s", 1, deep, 2, NULL},
    {"z", "z", 0, NULL, 0, "Z"},   {"f", "+s", 0, deep, 2, NULL},
    {"w", "w:5", 1, NULL, 0, "i"},
};
static const struct wt_nest columns[] = {
    {"a", "i", 0, NULL, 0, NULL},
    {"s", "+s", 1, fields, 5, NULL},
    {"u", "u", 1, NULL, 0, "i"},
    {"r", "+s", 0, fields, 5, NULL},
};
enum { FLAT = 22 };

static const struct wt_nest pair[] = {{"key", "u", 0, NULL, 0, "vu"},
                                      {"value", "l", 1, NULL, 0, NULL}};
static const struct wt_nest entries = {"entries", "+s", 0, pair, 2, NULL};
static const struct wt_nest number = {"item", "i", 1, NULL, 0, NULL};
static const struct wt_nest word = {"item", "u", 1, NULL, 0, "i"};
static const struct wt_nest flag = {"item", "b", 0, NULL, 0, NULL};
static const struct wt_nest three = {"item", "+w:3", 1, &flag, 1, NULL};
static const struct wt_nest some = {"item", "+l", 1, &number, 1, "+L"};
static const struct wt_nest all = {"item", "+s", 1, fields, 5, NULL};
static const struct wt_nest in_struct[] = {{"m", "+m", 0, &entries, 1, NULL},
                                           {"x", "l", 1, NULL, 0, NULL}};
static const struct wt_nest lists[] = {
    {"l", "+l", 1, &number, 1, "+L"},  {"L", "+L", 0, &word, 1, "+l"},
    {"w", "+w:3", 1, &some, 1, NULL},  {"m", "+m", 1, &entries, 1, NULL},
    {"d", "+l", 1, &three, 1, NULL},   {"s", "+l", 0, &all, 1, "+L"},
    {"f", "+s", 1, in_struct, 2, NULL}};
enum { LISTS = 7, COLUMNS = 4, MOST = 8 };

/* One batch of the columns above. */
struct batch {
    struct wi_schema *schema;
    struct wi_intake *intake;
    const struct wt_nest *columns;
    uint32_t n;
    struct wt_nest_size size;
    uint64_t seeds[MOST][SKIP + AHEAD + ROWS];
    struct ArrowArray array;
    struct ArrowArray *children[MOST];
    struct ArrowArray arrays[MOST];
    const void *none[1];
    struct wi_view views[FLAT];
};

static void open_schema(struct batch *b, bool pushed)
{
    struct ArrowSchema s;
    struct weir_error err = {0};
    wt_nest_schema(b->columns, b->n, false, &s);
    cr_assert_eq(wi_schema_open(&s, &b->schema, &err), WEIR_OK, "%s",
                 err.message);
    s.release(&s);
    if (!pushed && b->schema->n_lists > 0) {
        cr_assert_eq(wi_intake_open(b->schema, NULL, &b->intake, &err), WEIR_OK,
                     "%s", err.message);
    }
    if (pushed) {
        wt_nest_schema(b->columns, b->n, true, &s);
        cr_assert_eq(wi_intake_open(b->schema, &s, &b->intake, &err), WEIR_OK,
                     "%s", err.message);
        cr_assert_not_null(b->intake);
        s.release(&s);
    }
}

static struct batch *open_batch(const struct wt_nest *of, uint32_t n,
                                uint64_t seed, bool pushed)
{
    struct batch *b = calloc(1, sizeof(*b));
    cr_assert_not_null(b);
    b->columns = of;
    b->n = n;
    b->size.plain = !pushed;
    open_schema(b, pushed);
    for (uint32_t c = 0; c < b->n; c++) {
        for (uint32_t i = 0; i < SKIP + AHEAD + ROWS; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            b->seeds[c][i] = seed ^ seed >> 29;
        }
        wt_nest_make(&b->columns[c], &b->size, b->seeds[c], SKIP, AHEAD + ROWS,
                     &b->arrays[c]);
        b->children[c] = &b->arrays[c];
    }
    b->array = (struct ArrowArray){.length = ROWS,
                                   .offset = AHEAD,
                                   .n_buffers = 1,
                                   .buffers = b->none,
                                   .n_children = b->n,
                                   .children = b->children,
                                   .release = b->arrays[0].release};
    return b;
}

static weir_err import(struct batch *b, struct weir_error *err)
{
    return b->intake != NULL
               ? wi_intake_import(b->intake, &b->array, b->views, err)
               : wi_schema_import(b->schema, &b->array, b->views, err);
}

static bool is_imported(const struct batch *b)
{
    return b->intake != NULL
               ? wi_intake_is_imported(b->intake, &b->array, ROWS, b->views)
               : wi_schema_is_imported(b->schema, &b->array, ROWS, b->views);
}

static void close_batch(struct batch *b)
{
    for (uint32_t c = 0; c < b->n; c++) {
        b->arrays[c].release(&b->arrays[c]);
    }
    wi_intake_close(b->intake);
    wi_schema_close(b->schema);
    free(b);
}

#define FOR_ALL_OF(b, columns, n)                                              \
    for (uint64_t seed = 1; seed < 9; seed++)                                  \
        for (struct batch *b =                                                 \
                 open_batch(columns, n, seed / 2, seed % 2 != 0);              \
             b != NULL; close_batch(b), b = NULL)
#define FOR_ALL(b) FOR_ALL_OF(b, columns, COLUMNS)

Test(nest, fields_are_columns_after_their_struct)
{
    static const char *const names[FLAT] = {
        "a",     "s",     "s.x", "s.t",   "s.t.y", "s.t.b", "s.z", "s.f",
        "s.f.y", "s.f.b", "s.w", "u",     "r",     "r.x",   "r.t", "r.t.y",
        "r.t.b", "r.z",   "r.f", "r.f.y", "r.f.b", "r.w"};
    struct batch b = {.columns = columns, .n = COLUMNS};
    open_schema(&b, false);
    const struct wi_schema *s = b.schema;
    cr_assert_eq(s->n_top, COLUMNS);
    cr_assert_eq(s->n_columns, FLAT);
    for (uint32_t i = 0; i < FLAT; i++) {
        cr_assert_str_eq(s->columns[i].name, names[i]);
    }
    cr_assert_eq(s->columns[1].n_below, 9);
    cr_assert_eq(s->columns[1].n_fields, 5);
    cr_assert_eq(wi_schema_find(s, "u"), 11);
    cr_assert_eq(wi_schema_find(s, "s.x"), -1, "a field is no column");
    wi_schema_close(b.schema);
}

/* Frames of some rows, one after another, and what is read in them. */
static void check_frames(struct batch *b, const uint32_t *idx, uint32_t n)
{
    uint8_t *mem = aligned_alloc(64, FRAME_BYTES);
    struct wi_export *x = wi_export_open(b->schema);
    struct wi_builder *to;
    struct weir_error err = {0};
    struct ArrowArray out;
    cr_assert(mem != NULL && x != NULL);
    cr_assert_eq(wi_builder_open(b->schema, &to, NULL), WEIR_OK);
    for (uint32_t from = 0; from < n;) {
        struct wi_frame_header h;
        wi_builder_start(to, mem, FRAME_BYTES / 8, 0);
        uint32_t k = wi_builder_append(to, b->views, idx + from, 0, n - from);
        cr_assert_gt(k, 0);
        cr_assert_gt(wi_builder_finish(to, true), 0);
        memcpy(&h, mem, sizeof(h));
        struct wi_frame_at at = {.h = &h, .mem = mem};
        cr_assert_eq(wi_frame_export(x, &at, &out, &err), WEIR_OK, "%s",
                     err.message);
        cr_assert_eq(out.length, k);
        cr_assert_eq(out.n_children, b->n);
        for (uint32_t i = 0; i < k * b->n; i++) {
            uint32_t c = i % b->n;
            uint32_t row = idx[from + i / b->n];
            cr_assert(wt_nest_check(&b->columns[c], &b->size, out.children[c],
                                    i / b->n, b->seeds[c][SKIP + AHEAD + row]),
                      "column %s, row %u", b->columns[c].name, row);
        }
        from += k;
    }
    wi_builder_close(to);
    wi_export_close(x);
    free(mem);
}

static void import_and_check(struct batch *b)
{
    struct weir_error err = {0};
    uint32_t idx[ROWS];
    for (uint32_t i = 0; i < ROWS; i++) {
        idx[i] = i * 7 % ROWS;
    }
    cr_assert_eq(import(b, &err), WEIR_OK, "%s", err.message);
    cr_assert_eq(wi_schema_check_offsets(b->schema, b->views, ROWS, &err),
                 WEIR_OK, "%s", err.message);
    check_frames(b, idx, ROWS);
}

Test(nest, frames_have_every_value)
{
    FOR_ALL(b)
    {
        import_and_check(b);
    }
}

Test(nest, frames_have_every_item)
{
    FOR_ALL_OF(b, lists, LISTS)
    {
        import_and_check(b);
        import_and_check(b);
        cr_assert(is_imported(b));
        b->arrays[0].offset++;
        cr_assert_not(is_imported(b));
        b->arrays[0].offset--;
    }
}

Test(nest, the_same_batch_is_known_again)
{
    FOR_ALL(b)
    {
        cr_assert_eq(import(b, NULL), WEIR_OK);
        cr_assert(is_imported(b));
        struct ArrowArray *y = b->arrays[1].children[1]->children[0];
        y->offset++;
        cr_assert_not(is_imported(b), "a field of a field is elsewhere");
        y->offset--;
        b->arrays[3].offset++;
        cr_assert_not(is_imported(b), "a struct is elsewhere");
        b->arrays[3].offset--;
        cr_assert(is_imported(b));
    }
}

/* ---- what is refused ----------------------------------------------------- */

static void refused(struct batch *b, weir_err code, const char *text)
{
    struct weir_error err = {0};
    cr_assert_eq(import(b, &err), code);
    cr_assert_not_null(strstr(err.message, text), "%s", err.message);
}

Test(nest, structs_of_another_shape_are_refused)
{
    FOR_ALL(b)
    {
        struct ArrowArray *t = b->arrays[1].children[1];
        t->n_children = 1;
        refused(b, WEIR_ERR_SCHEMA, "column s.t is no struct of 2");
        t->n_children = 2;
        t->n_buffers = 2;
        refused(b, WEIR_ERR_SCHEMA, "column s.t is no struct of 2");
        t->n_buffers = 1;
        int64_t length = t->children[1]->length;
        t->children[1]->length = t->offset + 3;
        refused(b, WEIR_ERR_SCHEMA, "column s.t.b has");
        t->children[1]->length = length;
        t->offset = -1;
        refused(b, WEIR_ERR_SCHEMA, "column s.t has");
        t->offset = INT64_MAX / 2;
        refused(b, WEIR_ERR_SCHEMA, "column s.t has");
    }
}

/* Nulls of a field that has none are hidden by those of its structs only. */
Test(nest, nulls_must_lie_under_those_of_a_struct)
{
    FOR_ALL(b)
    {
        struct ArrowArray *s = &b->arrays[1];
        cr_assert_eq(import(b, NULL), WEIR_OK);
        s->null_count = 0;
        refused(b, WEIR_ERR_SCHEMA, "holds nulls");
        s->null_count = -1;
        struct ArrowArray *x = b->arrays[3].children[0];
        uint64_t at = (uint64_t)(AHEAD + b->arrays[3].offset + x->offset + 50);
        ((uint8_t *)(uintptr_t)x->buffers[0])[at / 8] &=
            (uint8_t) ~(1u << at % 8);
        x->null_count = 1;
        refused(b, WEIR_ERR_SCHEMA, "column r.x holds nulls");
    }
}

static void schema_refused(const struct wt_nest *top, const char *text)
{
    struct ArrowSchema s;
    struct wi_schema *out;
    struct weir_error err = {0};
    wt_nest_schema(top, 1, false, &s);
    cr_assert_eq(wi_schema_open(&s, &out, &err), WEIR_ERR_SCHEMA);
    cr_assert_not_null(strstr(err.message, text), "%s", err.message);
    s.release(&s);
}

Test(nest, schemas_have_a_depth)
{
    enum { DEPTH = WI_SCHEMA_DEPTH };
    struct wt_nest chain[DEPTH + 2];
    for (uint32_t i = 0; i < DEPTH + 2; i++) {
        chain[i] = (struct wt_nest){"s", "+s", 1, &chain[i + 1], 1, NULL};
    }
    chain[DEPTH + 1] = (struct wt_nest){"x", "l", 0, NULL, 0, NULL};
    schema_refused(&chain[0], "32 deep");
    struct ArrowSchema s;
    struct wi_schema *out;
    wt_nest_schema(&chain[1], 1, false, &s);
    cr_assert_eq(wi_schema_open(&s, &out, NULL), WEIR_OK);
    cr_assert_eq(out->n_columns, DEPTH + 1);
    wi_schema_close(out);
    s.release(&s);
}

Test(nest, structs_have_fields_of_types_that_travel)
{
    static const struct wt_nest empty = {"s", "+s", 1, NULL, 0, NULL};
    static const struct wt_nest inner[] = {{"v", "vu", 1, NULL, 0, NULL}};
    static const struct wt_nest odd = {"s", "+s", 1, inner, 1, NULL};
    static const struct wt_nest twice = {"u", "u", 1, inner, 1, NULL};
    schema_refused(&empty, "column s has 0 columns");
    schema_refused(&odd, "(s.v) has format \"vu\"");
    schema_refused(&twice, "(u) has format \"u\"");
}

/* a {b}, c is not a {b, c}. */
Test(nest, fingerprints_know_what_is_in_what)
{
    static const struct wt_nest in[] = {{"b", "l", 0, NULL, 0, NULL},
                                        {"c", "l", 0, NULL, 0, NULL}};
    static const struct wt_nest one[] = {{"a", "+s", 0, in, 2, NULL}};
    static const struct wt_nest parts[] = {{"a", "+s", 0, in, 1, NULL},
                                           {"a.c", "l", 0, NULL, 0, NULL}};
    struct ArrowSchema s[2];
    struct wi_schema *out[2];
    wt_nest_schema(one, 1, false, &s[0]);
    wt_nest_schema(parts, 2, false, &s[1]);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(wi_schema_open(&s[i], &out[i], NULL), WEIR_OK);
        s[i].release(&s[i]);
    }
    cr_assert_eq(out[0]->n_columns, out[1]->n_columns);
    cr_assert_neq(out[0]->fingerprint, out[1]->fingerprint);
    wi_schema_close(out[0]);
    wi_schema_close(out[1]);
}

/* ---- packed values that came from elsewhere ------------------------------ */

static struct wi_schema *open_one(const struct wt_nest *column)
{
    struct ArrowSchema s;
    struct wi_schema *out = NULL;
    wt_nest_schema(column, 1, false, &s);
    cr_assert_eq(wi_schema_open(&s, &out, NULL), WEIR_OK);
    s.release(&s);
    return out;
}

/* One row of a list column, of exactly these bytes. */
static weir_err unpack(struct wi_export *x, const uint8_t *bytes, uint32_t len,
                       struct weir_error *err)
{
    const uint32_t ends[2] = {0, len};
    uint8_t *own = malloc(len + 1);
    cr_assert_not_null(own);
    memcpy(own, bytes, len);
    x->buffers[0] = NULL;
    x->buffers[1] = ends;
    x->buffers[2] = own;
    wi_export_array(x, 0, 1);
    weir_err rc = wi_export_list(x, 0, 1, err);
    free(own);
    return rc;
}

Test(nest, packed_values_are_checked)
{
    static const struct {
        uint8_t bytes[16];
        uint32_t len;
        const char *why; /* NULL: nothing is wrong */
    } cases[] = {
        {{2, 0, 0, 0, 1, 1, 7, 0, 0, 0, 9, 0, 0, 0}, 14, NULL},
        {{1, 0, 0, 0, 0, 7, 0, 0, 0}, 9, NULL},
        {{0, 0, 0, 0, 0}, 5, NULL},
        {{0}, 0, "ends too early"},
        {{0, 0, 0}, 3, "ends too early"},
        {{0, 0, 0, 0}, 4, "ends too early"},
        {{1, 0, 0, 0, 2, 7, 0, 0, 0}, 9, "neither 0 nor 1"},
        {{1, 0, 0, 0, 0, 7, 0, 0}, 8, "ends too early"},
        {{1, 0, 0, 0, 0, 7, 0, 0, 0, 0}, 10, "longer than its items"},
        {{9, 0, 0, 0, 0}, 5, "too many items"},
        {{8, 0, 0, 0, 1}, 5, "ends too early"},
        {{255, 255, 255, 255, 0, 7, 0, 0, 0}, 9, "too many items"},
        {{255, 255, 255, 127, 0, 7, 0, 0, 0}, 9, "too many items"},
    };
    const struct wt_nest list = {"l", "+l", 0, &number, 1, NULL};
    struct wi_schema *s = open_one(&list);
    struct wi_export *x = wi_export_open(s);
    cr_assert_not_null(x);
    for (size_t i = 0; i < WI_ARRAY_LEN(cases); i++) {
        struct weir_error err = {0};
        weir_err rc = unpack(x, cases[i].bytes, cases[i].len, &err);
        cr_assert_eq(rc,
                     cases[i].why == NULL ? WEIR_OK : WEIR_ERR_PEER_PROTOCOL,
                     "case %zu: %s", i, err.message);
        cr_assert(cases[i].why == NULL ||
                      (strstr(err.message, cases[i].why) != NULL &&
                       strstr(err.message, "column l, row 0") != NULL),
                  "case %zu: %s", i, err.message);
    }
    wi_export_close(x);
    wi_schema_close(s);
}

/* Texts whose lengths say more than there is. */
Test(nest, packed_texts_are_checked)
{
    static const uint8_t good[] = {2, 0, 0, 0, 0, 1,   0,   0,
                                   0, 2, 0, 0, 0, 'a', 'b', 'c'};
    const struct wt_nest list = {"l", "+l", 0, &word, 1, NULL};
    struct wi_schema *s = open_one(&list);
    struct wi_export *x = wi_export_open(s);
    uint8_t bytes[sizeof(good)];
    cr_assert_not_null(x);
    cr_assert_eq(unpack(x, good, sizeof(good), NULL), WEIR_OK);
    const int32_t *offsets = x->items[0]->buffers[1];
    cr_assert_eq(offsets[1], 1);
    cr_assert_eq(offsets[2], 3);
    cr_assert_eq(memcmp(x->items[0]->buffers[2], "abc", 3), 0);
    for (size_t at = 5; at < 13; at++) { /* each byte of the lengths */
        memcpy(bytes, good, sizeof(good));
        bytes[at] = (uint8_t)(bytes[at] ^ 0x80);
        cr_assert_eq(unpack(x, bytes, sizeof(good), NULL),
                     WEIR_ERR_PEER_PROTOCOL, "byte %zu", at);
    }
    wi_export_close(x);
    wi_schema_close(s);
}

/* Whatever a byte is changed to, what is taken for good lies inside. */
static uint64_t walk(const struct wi_column *c, const struct ArrowArray *a)
{
    uint64_t sum = 0;
    uint32_t at = 1;
    for (uint32_t k = 0; k < c->n_fields; k++) {
        sum += walk(c + at, a->children[k]);
        at += 1 + c[at].n_below;
    }
    if (c->items != NULL) {
        const int64_t *wide = a->buffers[1];
        const int32_t *narrow = a->buffers[1];
        int64_t last = c->list == WI_LIST_FIXED ? a->length * c->n_items
                       : c->list == WI_LIST_64  ? wide[a->length]
                                                : narrow[a->length];
        cr_assert_eq(a->children[0]->length, last);
        return sum + walk(c->items->columns, a->children[0]);
    }
    const uint8_t *bytes = a->buffers[0];
    for (int64_t i = 0; bytes != NULL && i < (a->length + 7) / 8; i++) {
        sum += bytes[i];
    }
    bytes = c->kind == WI_KIND_STRUCT ? NULL : a->buffers[1];
    int64_t n = c->kind == WI_KIND_BITS  ? (a->length + 7) / 8
                : c->kind == WI_KIND_VAR ? 4 * (a->length + 1)
                                         : a->length * c->width;
    for (int64_t i = 0; bytes != NULL && i < n; i++) {
        sum += bytes[i];
    }
    if (c->kind == WI_KIND_VAR) {
        bytes = a->buffers[2];
        for (int32_t i = 0; i < ((const int32_t *)a->buffers[1])[a->length];
             i++) {
            sum += bytes[i];
        }
    }
    return sum;
}

Test(nest, changed_bytes_of_lists_stay_inside)
{
    struct batch *b = open_batch(lists, LISTS, 3, false);
    uint8_t *mem = aligned_alloc(64, FRAME_BYTES);
    struct wi_export *x = wi_export_open(b->schema);
    struct wi_builder *to;
    uint64_t sum = 0;
    uint32_t refusals = 0;
    cr_assert(mem != NULL && x != NULL);
    cr_assert_eq(import(b, NULL), WEIR_OK);
    cr_assert_eq(wi_builder_open(b->schema, &to, NULL), WEIR_OK);
    wi_builder_start(to, mem, FRAME_BYTES, 12);
    cr_assert_gt(wi_builder_append(to, b->views, NULL, 0, 12), 0);
    uint32_t bytes = wi_builder_finish(to, false);
    for (uint32_t at = 64; at < bytes * 2; at++) {
        struct wi_frame_header h;
        struct ArrowArray out;
        uint8_t was = mem[at / 2];
        mem[at / 2] = (uint8_t)(was ^ (at % 2 != 0 ? 0x81 : 0x02));
        memcpy(&h, mem, sizeof(h));
        struct wi_frame_at frame = {.h = &h, .mem = mem};
        if (at / 2 >= 64 && wi_frame_export(x, &frame, &out, NULL) == WEIR_OK) {
            uint32_t i = 0;
            for (uint32_t c = 0; c < b->n; c++) {
                sum += walk(&b->schema->columns[i], out.children[c]);
                i += 1 + b->schema->columns[i].n_below;
            }
        } else {
            refusals++;
        }
        mem[at / 2] = was;
    }
    cr_assert_gt(refusals, 100);
    cr_assert_gt(sum, 0);
    wi_builder_close(to);
    wi_export_close(x);
    free(mem);
    close_batch(b);
}

Test(nest, lists_have_items_of_one_type)
{
    static const struct wt_nest two[] = {{"a", "l", 0, NULL, 0, NULL},
                                         {"b", "l", 0, NULL, 0, NULL}};
    static const struct wt_nest no_map = {"m", "+m", 1, two, 1, NULL};
    static const struct wt_nest both = {"l", "+l", 1, two, 2, NULL};
    static const struct wt_nest none = {"l", "+l", 1, NULL, 0, NULL};
    static const struct wt_nest zero = {"l", "+w:0", 1, two, 1, NULL};
    schema_refused(&no_map, "of a map is a struct of two");
    schema_refused(&both, "\"+l\" and 2 children");
    schema_refused(&none, "column l has 0 columns");
    schema_refused(&zero, "format \"+w:0\"");
}

Test(nest, lists_of_another_shape_are_refused)
{
    FOR_ALL_OF(b, lists, LISTS)
    {
        struct ArrowArray *l = &b->arrays[0];
        l->n_buffers = 3;
        refused(b, WEIR_ERR_SCHEMA, "column l (format +l) is no list");
        l->n_buffers = 2;
        int64_t length = l->children[0]->length;
        l->children[0]->length = 20;
        refused(b, WEIR_ERR_SCHEMA, "column l.item has 20 rows");
        l->children[0]->length = length;
        l->offset = INT64_MAX / 2;
        refused(b, WEIR_ERR_SCHEMA, "column l has");
        l->offset = SKIP;
        b->arrays[2].children[0]->length = 3;
        refused(b, WEIR_ERR_SCHEMA, "column w.item has 3 rows");
    }
}

Test(nest, offsets_of_lists_are_checked)
{
    struct batch *b = open_batch(lists, LISTS, 2, false);
    int32_t *offsets = (int32_t *)(uintptr_t)b->arrays[0].buffers[1];
    int32_t was = offsets[SKIP + AHEAD + 40];
    offsets[SKIP + AHEAD + 40] = 1 << 30;
    refused(b, WEIR_ERR_DATA, "column l, row 40: offset");
    offsets[SKIP + AHEAD + 40] = -1;
    refused(b, WEIR_ERR_DATA, "column l, row 39: offset -1");
    offsets[SKIP + AHEAD + 40] = was;
    cr_assert_eq(import(b, NULL), WEIR_OK);
    close_batch(b);
}
