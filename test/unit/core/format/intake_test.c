/* SPDX-License-Identifier: Apache-2.0 */
#include "core/format/frame_build.h"
#include "core/format/frame_table.h"
#include "core/format/intake.h"
#include "core/format/intake_source.h"
#include "core/partition/partition.h"
#include "test/support/relaid.h"
#include "test/unit/core/format/batch_fixture.h"

enum { COLUMNS = 7 };

static const struct weir_field fields[COLUMNS] = {
    {"u", "u", 0},  {"l", "l", 1},   {"z?", "z", 1}, {"u?", "u", 1},
    {"b?", "b", 1}, {"w", "w:7", 0}, {"i?", "i", 1}};

/* A batch as the schema says, and the same in another layout. */
struct pair {
    struct wt_batch plain;
    struct ArrowArray array;
    struct wi_intake *intake;
    struct wi_view views[COLUMNS];
};

static void no_release(struct ArrowArray *array)
{
    array->release = NULL;
}

static weir_err import(struct pair *p, struct weir_error *err)
{
    return wi_intake_import(p->intake, &p->array, p->views, err);
}

static void open_pair(struct pair *p, uint64_t seed, enum wt_layout layout)
{
    struct ArrowSchema schema;
    struct weir_error err = {0};
    memset(p, 0, sizeof(*p));
    wt_open_schema(&p->plain, seed, fields, COLUMNS);
    wt_random_batch(&p->plain, 700, 90);
    p->array = p->plain.array;
    p->array.release = no_release;
    wt_relaid_make(fields, layout, &p->array);
    wt_relaid_schema(fields, COLUMNS, layout, &schema);
    cr_assert_eq(wi_intake_open(p->plain.schema, &schema, &p->intake, &err),
                 WEIR_OK, "%s", err.message);
    schema.release(&schema);
    cr_assert_not_null(p->intake);
    cr_assert_eq(import(p, &err), WEIR_OK, "%s", err.message);
}

static void close_pair(struct pair *p)
{
    p->array.release(&p->array);
    wi_intake_close(p->intake);
    wt_close(&p->plain);
}

#define FOR_ALL(seed, layout)                                                  \
    for (uint64_t seed = 1; seed < 9; seed++)                                  \
        for (enum wt_layout layout = WT_LAYOUT_PLAIN + 1; layout < WT_LAYOUTS; \
             layout++)

Test(intake, every_layout_has_the_same_values)
{
    FOR_ALL(seed, layout)
    {
        struct pair p;
        open_pair(&p, seed, layout);
        for (uint32_t c = 0; c < COLUMNS; c++) {
            const struct wi_column *col = &p.plain.schema->columns[c];
            for (uint64_t row = 0; row < 700; row++) {
                struct wt_cell a = wt_cell(col, &p.plain.views[c], row);
                struct wt_cell b = wt_cell(col, &p.views[c], row);
                cr_assert(wt_equal(&a, &b), "seed %d layout %d: %s, row %d",
                          (int)seed, (int)layout, col->name, (int)row);
            }
        }
        close_pair(&p);
    }
}

/* ---- frames -------------------------------------------------------------- */

/* Where the buffer of a table's entry begins. */
static uint32_t at_entry(const uint8_t *mem, uint32_t entry)
{
    return wi_table_get(mem, entry).off;
}

/* Values of a frame by row: what the builder wrote of rows idx[0..n). */
static void check_frame(const struct pair *p, const uint8_t *mem,
                        const uint32_t *idx, uint32_t n)
{
    const struct wi_schema *s = p->plain.schema;
    uint32_t entry = 0;
    for (uint32_t c = 0; c < COLUMNS; c++) {
        const struct wi_column *col = &s->columns[c];
        struct wi_view v = {0};
        v.validity = col->nullable ? mem + at_entry(mem, entry++) : NULL;
        v.values = mem + at_entry(mem, entry++);
        v.bytes =
            col->kind == WI_KIND_VAR ? mem + at_entry(mem, entry++) : NULL;
        for (uint32_t i = 0; i < n; i++) {
            uint64_t row = idx != NULL ? idx[i] : 3 + i;
            struct wt_cell a = wt_cell(col, &p->plain.views[c], row);
            struct wt_cell b = wt_cell(col, &v, i);
            cr_assert(wt_equal(&a, &b), "%s, row %d", col->name, (int)i);
        }
    }
}

static uint32_t build(const struct pair *p, const uint32_t *idx, uint8_t *mem,
                      uint32_t bytes)
{
    struct wi_builder *b;
    cr_assert_eq(wi_builder_open(p->plain.schema, &b, NULL), WEIR_OK);
    wi_builder_start(b, mem, bytes, 0);
    uint32_t n = wi_builder_append(b, p->views, idx, 3, 300);
    cr_assert_gt(n, 0);
    cr_assert_gt(wi_builder_finish(b, true), 0);
    wi_builder_close(b);
    return n;
}

Test(intake, frames_have_the_values_of_every_layout)
{
    enum { BYTES = 16384 };
    uint8_t *mem = aligned_alloc(64, BYTES);
    uint32_t idx[300];
    for (uint32_t i = 0; i < 300; i++) {
        idx[i] = 2 * i + i % 2;
    }
    FOR_ALL(seed, layout)
    {
        struct pair p;
        open_pair(&p, seed, layout);
        check_frame(&p, mem, NULL, build(&p, NULL, mem, BYTES));
        check_frame(&p, mem, idx, build(&p, idx, mem, BYTES));
        close_pair(&p);
    }
    free(mem);
}

/* ---- partitioning -------------------------------------------------------- */

static void split(const struct pair *p, const struct wi_view *views,
                  uint16_t *dest)
{
    static const char *const keys[] = {"u?", "u", "b?", "i?"};
    const struct wi_partition_params params = {
        .kind = WEIR_HASH, .n_dest = 97, .keys = keys, .n_keys = 4, .seed = 5};
    struct wi_partition *part;
    cr_assert_eq(wi_partition_open(p->plain.schema, &params, &part, NULL),
                 WEIR_OK);
    memcpy(dest, wi_partition_dest(part, views, 11, 600, NULL),
           600 * sizeof(*dest));
    wi_partition_close(part);
}

Test(intake, equal_texts_hash_equal)
{
    FOR_ALL(seed, layout)
    {
        struct pair p;
        uint16_t a[600];
        uint16_t b[600];
        open_pair(&p, seed, layout);
        split(&p, p.plain.views, a);
        split(&p, p.views, b);
        cr_assert_eq(memcmp(a, b, sizeof(a)), 0);
        close_pair(&p);
    }
}

Test(intake, same_batch_is_known_again)
{
    struct pair p;
    open_pair(&p, 3, WT_LAYOUT_VIEW);
    cr_assert(wi_intake_is_imported(p.intake, &p.array, 700, p.views));
    cr_assert_not(wi_intake_is_imported(p.intake, &p.array, 699, p.views));
    for (int c = 0; c < COLUMNS; c++) {
        for (int b = 0; b < 2; b++) {
            const void *was = p.array.children[c]->buffers[b];
            p.array.children[c]->buffers[b] = &p;
            cr_assert_not(
                wi_intake_is_imported(p.intake, &p.array, 700, p.views));
            p.array.children[c]->buffers[b] = was;
        }
    }
    p.array.children[2]->offset++;
    cr_assert_not(wi_intake_is_imported(p.intake, &p.array, 700, p.views));
    p.array.children[2]->offset--;
    cr_assert(wi_intake_is_imported(p.intake, &p.array, 700, p.views));
    close_pair(&p);
}

Test(intake, layout_of_the_schema_needs_no_intake)
{
    struct wt_batch t;
    struct ArrowSchema schema;
    struct wi_intake *in = (void *)&t;
    wt_open_schema(&t, 1, fields, COLUMNS);
    wt_relaid_schema(fields, COLUMNS, WT_LAYOUT_PLAIN, &schema);
    cr_assert_eq(wi_intake_open(t.schema, &schema, &in, NULL), WEIR_OK);
    cr_assert_null(in);
    schema.release(&schema);
    cr_assert_eq(wi_intake_open(t.schema, &schema, &in, NULL), WEIR_ERR_ARG);
    wt_close(&t);
}

/* ---- one column of views or offsets -------------------------------------- */

static const struct wi_column text = {.name = "t", .kind = WI_KIND_VAR};

struct column {
    uint8_t views[3][16];
    const void *buffers[5];
    int64_t sizes[1];
    struct ArrowArray a;
    struct wi_text texts[3];
};

static void open_views(struct column *t)
{
    const uint32_t first[4] = {20, 0, 0, 30};
    memset(t, 0, sizeof(*t));
    memcpy(t->views[1], first, 16);
    t->sizes[0] = 50;
    t->buffers[1] = t->views;
    t->buffers[2] = "01234567890123456789012345678901234567890123456789";
    t->buffers[3] = t->sizes;
    t->a =
        (struct ArrowArray){.length = 3, .n_buffers = 4, .buffers = t->buffers};
}

static weir_err texts_of(struct column *t, enum wi_layout layout)
{
    struct wi_source s;
    const struct wi_picks picks = {.n = 3};
    weir_err rc = wi_source_of(&text, layout, &t->a, 0, 3, &s, NULL);
    return rc == WEIR_OK ? wi_source_texts(&text, &s, &picks, t->texts, NULL)
                         : rc;
}

static weir_err with_word(uint32_t word, uint32_t value)
{
    struct column t;
    open_views(&t);
    memcpy(t.views[1] + (size_t)word * 4, &value, 4);
    return texts_of(&t, WI_LAYOUT_VIEW);
}

Test(intake, views_end_inside_their_buffers)
{
    struct column t;
    open_views(&t);
    cr_assert_eq(texts_of(&t, WI_LAYOUT_VIEW), WEIR_OK);
    cr_assert_eq(t.texts[1].len, 20);
    cr_assert_eq(t.texts[1].room, 20, "what follows may be read");
    cr_assert_eq(t.texts[2].room, 12, "the last view ends the buffer");
    cr_assert_eq(with_word(0, 21), WEIR_ERR_DATA);
    cr_assert_eq(with_word(0, 0xffffffff), WEIR_ERR_DATA);
    cr_assert_eq(with_word(0, 0x80000000), WEIR_ERR_DATA);
    cr_assert_eq(with_word(0, 12), WEIR_OK, "inline");
    cr_assert_eq(with_word(2, 1), WEIR_ERR_DATA, "no such buffer");
    cr_assert_eq(with_word(2, 0xffffffff), WEIR_ERR_DATA);
    cr_assert_eq(with_word(3, 31), WEIR_ERR_DATA);
    cr_assert_eq(with_word(3, 0xffffffff), WEIR_ERR_DATA);
    cr_assert_eq(with_word(3, 0), WEIR_OK);
}

Test(intake, buffers_of_views_are_checked)
{
    struct column t;
    open_views(&t);
    t.sizes[0] = -1;
    cr_assert_eq(texts_of(&t, WI_LAYOUT_VIEW), WEIR_ERR_DATA);
    t.sizes[0] = 50;
    t.buffers[2] = NULL;
    cr_assert_eq(texts_of(&t, WI_LAYOUT_VIEW), WEIR_ERR_DATA);
    t.buffers[3] = NULL;
    cr_assert_eq(texts_of(&t, WI_LAYOUT_VIEW), WEIR_ERR_SCHEMA);
    t.a.n_buffers = 2;
    cr_assert_eq(texts_of(&t, WI_LAYOUT_VIEW), WEIR_ERR_SCHEMA);
    t.a.n_buffers = 3; /* none, and short texts only */
    memset(t.views, 0, sizeof(t.views));
    t.buffers[2] = NULL;
    cr_assert_eq(texts_of(&t, WI_LAYOUT_VIEW), WEIR_OK);
    t.buffers[1] = NULL;
    cr_assert_eq(texts_of(&t, WI_LAYOUT_VIEW), WEIR_ERR_SCHEMA);
}

static weir_err with_offsets(int64_t a, int64_t b, int64_t c, int64_t d,
                             const void *bytes)
{
    struct column t = {0};
    const int64_t offsets[4] = {a, b, c, d};
    t.buffers[1] = offsets;
    t.buffers[2] = bytes;
    t.a =
        (struct ArrowArray){.length = 3, .n_buffers = 3, .buffers = t.buffers};
    return texts_of(&t, WI_LAYOUT_LARGE);
}

Test(intake, large_offsets_do_not_descend)
{
    const char *bytes = "0123456789";
    cr_assert_eq(with_offsets(2, 2, 5, 10, bytes), WEIR_OK);
    cr_assert_eq(with_offsets(2, 5, 4, 10, bytes), WEIR_ERR_DATA);
    cr_assert_eq(with_offsets(2, 11, 11, 10, bytes), WEIR_ERR_DATA);
    cr_assert_eq(with_offsets(2, 1, 5, 10, bytes), WEIR_ERR_DATA);
    cr_assert_eq(with_offsets(-2, 1, 5, 10, bytes), WEIR_ERR_DATA);
    cr_assert_eq(with_offsets(9, 9, 9, 8, bytes), WEIR_ERR_DATA);
    cr_assert_eq(with_offsets(0, 0, 0, 1ll << 31, bytes), WEIR_ERR_DATA);
    cr_assert_eq(with_offsets(0, 0, 0, 5, NULL), WEIR_ERR_DATA);
    cr_assert_eq(with_offsets(7, 7, 7, 7, NULL), WEIR_OK);
}

/* ---- dictionaries -------------------------------------------------------- */

/* Rows of "w" by three indices of a type, of a dictionary of two rows. */
static weir_err look_up(const char *format, const void *indices,
                        const uint8_t *validity, uint8_t *values_out)
{
    static const struct weir_field field = {"w", "w:2", 1};
    const void *values[] = {NULL, "aabb"};
    const void *buffers[] = {validity, indices};
    const void *none[] = {NULL};
    struct wt_batch t;
    struct wi_intake *in = NULL;
    struct wi_view v;
    struct ArrowSchema schema;
    struct ArrowSchema of = {.format = "w:2"};
    struct ArrowArray d = {.length = 2, .n_buffers = 2, .buffers = values};
    struct ArrowArray a = {.length = 3,
                           .null_count = validity != NULL ? -1 : 0,
                           .n_buffers = 2,
                           .buffers = buffers,
                           .dictionary = &d};
    struct ArrowArray *children[] = {&a};
    const struct ArrowArray batch = {.length = 3,
                                     .n_buffers = 1,
                                     .buffers = none,
                                     .n_children = 1,
                                     .children = children,
                                     .release = no_release};
    wt_open_schema(&t, 1, &field, 1);
    cr_assert_eq(weir_schema_build(&field, 1, &schema, NULL), WEIR_OK);
    schema.children[0]->format = format;
    schema.children[0]->dictionary = &of;
    weir_err rc = wi_intake_open(t.schema, &schema, &in, NULL);
    if (rc == WEIR_OK) {
        rc = wi_intake_import(in, &batch, &v, NULL);
    }
    if (rc == WEIR_OK) {
        memcpy(values_out, v.values, 6);
    }
    schema.release(&schema);
    wi_intake_close(in);
    wt_close(&t);
    return rc;
}

Test(intake, indices_of_every_integer_are_followed)
{
    static const char *const formats[] = {"c", "C", "s", "S",
                                          "i", "I", "l", "L"};
    for (uint32_t k = 0; k < 8; k++) {
        uint8_t indices[24] = {0};
        uint8_t values[6];
        uint32_t width = 1u << k / 2;
        indices[0] = 1;
        indices[2 * (size_t)width] = 1;
        cr_assert_eq(look_up(formats[k], indices, NULL, values), WEIR_OK);
        cr_assert_eq(memcmp(values, "bbaabb", 6), 0, "%s", formats[k]);
        indices[width] = 2; /* one more than there are */
        cr_assert_eq(look_up(formats[k], indices, NULL, values), WEIR_ERR_DATA);
        cr_assert_eq(
            look_up(formats[k], indices, (const uint8_t *)"\x05", values),
            WEIR_OK, "under a null");
        memset(indices + width, 0xff, width); /* -1, or the largest */
        cr_assert_eq(look_up(formats[k], indices, NULL, values), WEIR_ERR_DATA);
    }
    cr_assert_eq(look_up("f", "", NULL, NULL), WEIR_ERR_SCHEMA);
    cr_assert_eq(look_up("", "", NULL, NULL), WEIR_ERR_SCHEMA);
}
