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
enum { COLUMNS = 4, FLAT = 22 };

/* One batch of the columns above. */
struct batch {
    struct wi_schema *schema;
    struct wi_intake *intake;
    struct wt_nest_size size;
    uint64_t seeds[COLUMNS][SKIP + AHEAD + ROWS];
    struct ArrowArray array;
    struct ArrowArray *children[COLUMNS];
    struct ArrowArray arrays[COLUMNS];
    const void *none[1];
    struct wi_view views[FLAT];
};

static void open_schema(struct batch *b, bool pushed)
{
    struct ArrowSchema s;
    struct weir_error err = {0};
    wt_nest_schema(columns, COLUMNS, false, &s);
    cr_assert_eq(wi_schema_open(&s, &b->schema, &err), WEIR_OK, "%s",
                 err.message);
    s.release(&s);
    if (pushed) {
        wt_nest_schema(columns, COLUMNS, true, &s);
        cr_assert_eq(wi_intake_open(b->schema, &s, &b->intake, &err), WEIR_OK,
                     "%s", err.message);
        cr_assert_not_null(b->intake);
        s.release(&s);
    }
}

static struct batch *open_batch(uint64_t seed, bool pushed)
{
    struct batch *b = calloc(1, sizeof(*b));
    cr_assert_not_null(b);
    b->size.plain = !pushed;
    open_schema(b, pushed);
    for (uint32_t c = 0; c < COLUMNS; c++) {
        for (uint32_t i = 0; i < SKIP + AHEAD + ROWS; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            b->seeds[c][i] = seed ^ seed >> 29;
        }
        wt_nest_make(&columns[c], &b->size, b->seeds[c], SKIP, AHEAD + ROWS,
                     &b->arrays[c]);
        b->children[c] = &b->arrays[c];
    }
    b->array = (struct ArrowArray){.length = ROWS,
                                   .offset = AHEAD,
                                   .n_buffers = 1,
                                   .buffers = b->none,
                                   .n_children = COLUMNS,
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
    for (uint32_t c = 0; c < COLUMNS; c++) {
        b->arrays[c].release(&b->arrays[c]);
    }
    wi_intake_close(b->intake);
    wi_schema_close(b->schema);
    free(b);
}

#define FOR_ALL(b)                                                             \
    for (uint64_t seed = 1; seed < 9; seed++)                                  \
        for (struct batch *b = open_batch(seed / 2, seed % 2 != 0); b != NULL; \
             close_batch(b), b = NULL)

Test(nest, fields_are_columns_after_their_struct)
{
    static const char *const names[FLAT] = {
        "a",     "s",     "s.x", "s.t",   "s.t.y", "s.t.b", "s.z", "s.f",
        "s.f.y", "s.f.b", "s.w", "u",     "r",     "r.x",   "r.t", "r.t.y",
        "r.t.b", "r.z",   "r.f", "r.f.y", "r.f.b", "r.w"};
    struct batch b = {.schema = NULL};
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
        cr_assert_eq(out.n_children, COLUMNS);
        for (uint32_t i = 0; i < k * COLUMNS; i++) {
            uint32_t c = i % COLUMNS;
            uint32_t row = idx[from + i / COLUMNS];
            cr_assert(wt_nest_check(&columns[c], &b->size, out.children[c],
                                    i / COLUMNS,
                                    b->seeds[c][SKIP + AHEAD + row]),
                      "column %s, row %u", columns[c].name, row);
        }
        from += k;
    }
    wi_builder_close(to);
    wi_export_close(x);
    free(mem);
}

Test(nest, frames_have_every_value)
{
    FOR_ALL(b)
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
    enum { MOST = WI_SCHEMA_DEPTH };
    struct wt_nest chain[MOST + 2];
    for (uint32_t i = 0; i < MOST + 2; i++) {
        chain[i] = (struct wt_nest){"s", "+s", 1, &chain[i + 1], 1, NULL};
    }
    chain[MOST + 1] = (struct wt_nest){"x", "l", 0, NULL, 0, NULL};
    schema_refused(&chain[0], "32 deep");
    struct ArrowSchema s;
    struct wi_schema *out;
    wt_nest_schema(&chain[1], 1, false, &s);
    cr_assert_eq(wi_schema_open(&s, &out, NULL), WEIR_OK);
    cr_assert_eq(out->n_columns, MOST + 1);
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
    static const struct wt_nest whole[] = {{"a", "+s", 0, in, 2, NULL}};
    static const struct wt_nest parts[] = {{"a", "+s", 0, in, 1, NULL},
                                           {"a.c", "l", 0, NULL, 0, NULL}};
    struct ArrowSchema s[2];
    struct wi_schema *out[2];
    wt_nest_schema(whole, 1, false, &s[0]);
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
