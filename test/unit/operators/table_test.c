/* SPDX-License-Identifier: Apache-2.0 */
/* Tables in memory, series, and tables of a program's own. */
#include <string.h>

#include "operators/table/build.h"
#include "test/unit/operators/table_fixture.h"

/* ---- memory -------------------------------------------------------------- */

static const uint32_t both[] = {0, 1};

/* A batch that a series made, and what frees it. */
struct made {
    weir_table *series;
    void *scan;
    struct ArrowArray batch;
    struct ArrowSchema schema;
    bool released;
};

static void release_made(struct ArrowArray *batch)
{
    struct made *m = batch->private_data;
    m->series->ops.close(m->scan);
    weir_table_close(m->series);
    m->released = true;
    batch->release = NULL;
}

/* Rows first .. first+n-1 of "id", and a text of it. */
static void make_batch(struct made *m, int64_t first, uint64_t n)
{
    const struct weir_series_column columns[] = {
        {.name = "id", .format = "i", .first = first, .step = 1},
        {.name = "text",
         .format = "u",
         .first = first,
         .step = 1,
         .null_pct = 20}};
    const struct weir_table_part all = {
        .n_parts = 1, .n_workers = 1, .columns = both, .n_columns = 2};
    struct weir_error err = {0};
    memset(m, 0, sizeof(*m));
    cr_assert_eq(weir_table_series_open(columns, 2, n, 3, &m->series, &err),
                 WEIR_OK, "%s", err.message);
    cr_assert_eq(weir_table_schema(m->series, &m->schema, &err), WEIR_OK);
    cr_assert_eq(m->series->ops.open(m->series->arg, &all, &m->scan, &err),
                 WEIR_OK);
    cr_assert_eq(m->series->ops.next(m->scan, &m->batch, &err), WEIR_OK);
    cr_assert_eq((uint64_t)m->batch.length, n);
    m->batch.private_data = m;
    m->batch.release = release_made;
}

Test(table, workers_share_the_rows_of_batches_in_memory)
{
    struct made made[3];
    struct ArrowArray batches[3];
    struct wt_op_rows got;
    weir_table *table;
    make_batch(&made[0], 0, 1000);
    make_batch(&made[1], 1000, 1);
    make_batch(&made[2], 1001, 4000);
    for (int i = 0; i < 3; i++) {
        batches[i] = made[i].batch;
    }
    cr_assert_eq(
        weir_table_memory_open(&made[0].schema, batches, 3, &table, NULL),
        WEIR_OK);
    cr_assert_null(batches[2].release);
    for (uint32_t parts = 1; parts <= 17; parts++) {
        wt_scan(table, "text:utf8? id:int32", parts, &got);
        cr_assert_eq(got.n, 5001);
        for (uint32_t i = 0; i < got.n; i++) {
            const struct wt_value *v = wt_op_rows_at(&got, i);
            cr_assert(v[1].i == i);
            cr_assert(v[0].null || atoi(v[0].s) == (int)i);
        }
        wt_op_rows_fini(&got);
    }
    weir_table_close(table);
    for (int i = 0; i < 3; i++) {
        cr_expect(made[i].released);
        made[i].schema.release(&made[i].schema);
    }
}

Test(table, memory_without_batches_or_columns_is_empty)
{
    struct made made;
    struct wt_op_rows got;
    weir_table *table;
    make_batch(&made, 0, 10);
    cr_assert_eq(weir_table_memory_open(&made.schema, NULL, 0, &table, NULL),
                 WEIR_OK);
    wt_scan(table, "id:int32", 3, &got);
    cr_expect_eq(got.n, 0);
    wt_op_rows_fini(&got);
    weir_table_close(table);
    made.batch.release(&made.batch);
    made.schema.release(&made.schema);
}

static void expect_refused(const struct made *m, weir_err code,
                           const char *message)
{
    struct ArrowArray batch = m->batch;
    struct weir_error err = {0};
    weir_table *table = NULL;
    weir_err rc = weir_table_memory_open(&m->schema, &batch, 1, &table, &err);
    cr_expect_eq(rc, code);
    cr_expect_null(table);
    cr_expect_not_null(batch.release);
    cr_expect(strstr(err.message, message) != NULL, "\"%s\" in \"%s\"", message,
              err.message);
}

Test(table, a_batch_that_is_not_of_the_schema_is_refused_and_kept)
{
    struct made m;
    make_batch(&m, 0, 100);
    struct ArrowArray *text = m.batch.children[1];
    m.schema.children[1]->flags = 0;
    expect_refused(&m, WEIR_ERR_SCHEMA,
                   "column \"text\" (utf8): it holds nulls");
    m.schema.children[1]->flags = ARROW_FLAG_NULLABLE;
    text->length = 99;
    expect_refused(&m, WEIR_ERR_SCHEMA, "shorter than the batch");
    text->length = 100;
    text->n_buffers = 2;
    expect_refused(&m, WEIR_ERR_SCHEMA, "number of buffers");
    text->n_buffers = 3;
    m.batch.n_children = 1;
    expect_refused(&m, WEIR_ERR_SCHEMA, "1 columns, the schema has 2");
    m.batch.n_children = 2;
    int32_t *offsets = m.series == NULL ? NULL : (int32_t *)text->buffers[1];
    int32_t kept = offsets[50];
    offsets[50] = 1 << 20;
    expect_refused(&m, WEIR_ERR_DATA, "column \"text\", row 50");
    offsets[50] = kept;
    offsets[0] = -1;
    expect_refused(&m, WEIR_ERR_DATA, "row 0");
    offsets[0] = 0;
    const void *bytes = text->buffers[2];
    char *changed = (char *)(uintptr_t)bytes + offsets[51];
    const char was = *changed;
    *changed = (char)0xff;
    expect_refused(&m, WEIR_ERR_DATA,
                   "batch 0, column \"text\", row 51: the text is not UTF-8; "
                   "binary (format \"z\") takes any bytes");
    *changed = was;
    text->buffers[2] = NULL;
    expect_refused(&m, WEIR_ERR_SCHEMA, "no buffer");
    text->buffers[2] = bytes;
    struct ArrowArray **children = m.batch.children;
    m.batch.children = NULL;
    expect_refused(&m, WEIR_ERR_SCHEMA, "columns");
    m.batch.children = children;
    m.batch.release(&m.batch);
    m.schema.release(&m.schema);
}

/* ---- series -------------------------------------------------------------- */

Test(table, series_are_the_same_in_any_number_of_parts)
{
    static const char columns[] = "a:int64 b:int16 c:utf8? d:decimal(5,2) "
                                  "e:float64? f:bool g:date?";
    const struct weir_series_column series[] = {
        {.name = "a", .format = "l", .first = 10, .step = -3},
        {.name = "b",
         .format = "s",
         .kind = WEIR_SERIES_UNIFORM,
         .first = -5,
         .last = 5},
        {.name = "c",
         .format = "u",
         .kind = WEIR_SERIES_UNIFORM,
         .last = 1000,
         .null_pct = 30},
        {.name = "d",
         .format = "d:5,2",
         .kind = WEIR_SERIES_CONSTANT,
         .first = 99},
        {.name = "e", .format = "g", .first = 1, .step = 1, .null_pct = 100},
        {.name = "f", .format = "b", .kind = WEIR_SERIES_UNIFORM, .last = 1},
        {.name = "g", .format = "tdD", .first = 0, .step = 1, .null_pct = 1},
    };
    struct wt_op_rows whole;
    struct wt_op_rows got;
    weir_table *table;
    uint32_t nulls = 0;
    uint32_t count[11] = {0};
    cr_assert_eq(weir_table_series_open(series, 7, 10001, 5, &table, NULL),
                 WEIR_OK);
    wt_scan(table, columns, 1, &whole);
    cr_assert_eq(whole.n, 10001);
    for (uint32_t i = 0; i < whole.n; i++) {
        const struct wt_value *v = wt_op_rows_at(&whole, i);
        cr_assert(v[0].i == 10 - 3 * (int64_t)i);
        cr_assert(v[1].i >= -5 && v[1].i <= 5);
        count[(size_t)(v[1].i + 5)]++;
        nulls += v[2].null;
        cr_assert(v[3].i == 99 && v[4].null);
    }
    cr_expect(nulls > 2700 && nulls < 3300, "%u", nulls);
    for (int i = 0; i < 11; i++) {
        cr_expect(count[i] > 700 && count[i] < 1120, "%u", count[i]);
    }
    for (uint32_t parts = 2; parts <= 17; parts += 5) {
        wt_scan(table, columns, parts, &got);
        wt_op_rows_expect(&got, &whole, true);
        wt_op_rows_fini(&got);
    }
    wt_op_rows_fini(&whole);
    weir_table_close(table);
}

static void expect_series_error(struct weir_series_column column, uint64_t rows,
                                weir_err code)
{
    struct weir_error err = {0};
    weir_table *table = NULL;
    column.name = "x";
    cr_expect_eq(weir_table_series_open(&column, 1, rows, 1, &table, &err),
                 code, "%s", err.message);
    cr_expect_null(table);
}

Test(table, a_series_that_leaves_its_type_is_refused)
{
    struct weir_series_column c = {.format = "c", .first = 100, .step = 1};
    expect_series_error(c, 29, WEIR_ERR_ARG);
    c = (struct weir_series_column){
        .format = "l", .first = 1, .step = INT64_MAX};
    expect_series_error(c, UINT64_MAX, WEIR_ERR_ARG);
    c = (struct weir_series_column){
        .format = "C", .kind = WEIR_SERIES_UNIFORM, .first = -1};
    expect_series_error(c, 1, WEIR_ERR_ARG);
    c = (struct weir_series_column){
        .format = "l", .kind = WEIR_SERIES_UNIFORM, .first = 1};
    expect_series_error(c, 1, WEIR_ERR_ARG);
    c = (struct weir_series_column){.format = "l", .null_pct = 101};
    expect_series_error(c, 1, WEIR_ERR_ARG);
    c = (struct weir_series_column){
        .format = "d:3,1", .kind = WEIR_SERIES_CONSTANT, .first = 1000};
    expect_series_error(c, 1, WEIR_ERR_ARG);
    c = (struct weir_series_column){.format = "d:38,0", .first = INT64_MAX};
    c.step = 1;
    expect_series_error(c, 2, WEIR_ERR_ARG);
    c = (struct weir_series_column){.format = "z"};
    expect_series_error(c, 1, WEIR_ERR_SCHEMA);
    c = (struct weir_series_column){.format = "nonsense"};
    expect_series_error(c, 1, WEIR_ERR_SCHEMA);
}

Test(table, a_series_may_end_where_its_type_ends)
{
    weir_table *table;
    const struct weir_series_column whole = {
        .name = "x", .format = "L", .step = 1};
    cr_assert_eq(weir_table_series_open(&whole, 1, UINT64_MAX, 1, &table, NULL),
                 WEIR_OK);
    weir_table_close(table);
    const struct weir_series_column down = {
        .name = "x", .format = "l", .first = INT64_MAX, .step = -1};
    cr_assert_eq(weir_table_series_open(&down, 1, UINT64_MAX, 1, &table, NULL),
                 WEIR_OK);
    weir_table_close(table);
}

/* ---- tables of a program's own ------------------------------------------- */

struct own {
    int batches; /* given before it fails */
    int open;
    bool freed;
};

static weir_err own_open(void *table, const struct weir_table_part *part,
                         void **scan_out, struct weir_error *err)
{
    struct own *own = table;
    (void)part;
    (void)err;
    own->open++;
    *scan_out = own;
    return WEIR_OK;
}

static weir_err own_next(void *scan, struct ArrowArray *batch_out,
                         struct weir_error *err)
{
    struct own *own = scan;
    if (own->batches-- == 0) {
        err->code = WEIR_ERR_SYSTEM;
        (void)strcpy(err->message, "the source is gone");
        return WEIR_ERR_SYSTEM;
    }
    *batch_out = (struct ArrowArray){.length = 5, .release = wi_build_release};
    return WEIR_OK;
}

static void own_close(void *scan)
{
    ((struct own *)scan)->open--;
}

static void own_free(void *table)
{
    ((struct own *)table)->freed = true;
}

Test(table, an_error_of_an_own_table_is_passed_on)
{
    const struct weir_table_ops ops = {own_open, own_next, own_close, own_free};
    const struct weir_field field = {"n", "l", 0};
    const struct wi_columns none = {0};
    struct own own = {.batches = 2};
    struct ArrowSchema schema;
    struct wt_scan s;
    struct wt_op_rows out = {0};
    weir_table *table;
    cr_assert_eq(weir_schema_build(&field, 1, &schema, NULL), WEIR_OK);
    cr_assert_eq(weir_table_open(&schema, &ops, &own, &table, NULL), WEIR_OK);
    schema.release(&schema);
    wt_scan_init(&s, table, &none);
    cr_assert_eq(wt_scan_part(&s, 0, 1, &out), WI_FAILED);
    cr_expect_eq(s.ctx.err.code, WEIR_ERR_SYSTEM);
    cr_expect_str_eq(s.ctx.err.message, "the source is gone");
    cr_expect_eq(out.n, 10);
    cr_expect_eq(own.open, 0);
    wt_op_rows_fini(&out);
    weir_table_close(table);
    cr_expect(own.freed);
}

/* A source of one text column: the second of its batches is malformed. */
static int32_t wrong_offsets[] = {0, 1, 3, 2};

static weir_err wrong_next(void *scan, struct ArrowArray *batch_out,
                           struct weir_error *err)
{
    static const int32_t right_offsets[] = {0, 1, 2, 3};
    static const void *none[1];
    static const void *buffers[3];
    static struct ArrowArray text;
    static struct ArrowArray *children[] = {&text};
    struct own *own = scan;
    (void)err;
    buffers[1] = own->batches-- == 2 ? right_offsets : wrong_offsets;
    buffers[2] = "abc";
    text = (struct ArrowArray){.length = 3,
                               .n_buffers = 3,
                               .buffers = buffers,
                               .release = wi_build_release};
    *batch_out = (struct ArrowArray){.length = 3,
                                     .n_buffers = 1,
                                     .n_children = 1,
                                     .buffers = none,
                                     .children = children,
                                     .release = wi_build_release};
    return WEIR_OK;
}

Test(table, a_malformed_batch_of_an_own_table_fails_its_scan)
{
    const struct weir_table_ops ops = {own_open, wrong_next, own_close,
                                       own_free};
    const struct weir_field field = {"t", "u", 0};
    struct own own = {.batches = 2};
    struct ArrowSchema schema;
    struct wi_columns columns = {0};
    struct wt_scan s;
    struct wt_op_rows out;
    weir_table *table;
    wt_op_rows_init(&out, "t:utf8");
    cr_assert_eq(weir_schema_build(&field, 1, &schema, NULL), WEIR_OK);
    cr_assert_eq(weir_table_open(&schema, &ops, &own, &table, NULL), WEIR_OK);
    cr_assert_eq(wi_columns_from_arrow(&schema, &columns, NULL), WEIR_OK);
    schema.release(&schema);
    wt_scan_init(&s, table, &columns);
    cr_assert_eq(wt_scan_part(&s, 0, 1, &out), WI_FAILED);
    cr_expect_eq(s.ctx.err.code, WEIR_ERR_DATA);
    cr_expect_not_null(
        strstr(s.ctx.err.message, "batch 1, column \"t\", row 2"), "%s",
        s.ctx.err.message);
    cr_expect_eq(out.n, 3);
    cr_expect_eq(own.open, 0);
    wt_op_rows_fini(&out);
    wi_columns_fini(&columns);
    weir_table_close(table);
}

Test(table, names_that_are_there_twice_are_refused)
{
    const struct weir_table_ops ops = {own_open, own_next, own_close, own_free};
    const struct weir_field fields[] = {
        {"n", "l", 0}, {"m", "l", 0}, {"n", "i", 0}};
    struct own own = {0};
    struct weir_error err = {0};
    struct ArrowSchema schema;
    weir_table *table = NULL;
    cr_assert_eq(weir_schema_build(fields, 3, &schema, NULL), WEIR_OK);
    cr_expect_eq(weir_table_open(&schema, &ops, &own, &table, &err),
                 WEIR_ERR_SCHEMA);
    cr_expect_str_eq(err.message, "columns 1 and 3 are both named \"n\"");
    cr_expect_not(own.freed);
    schema.release(&schema);
    cr_expect_eq(weir_table_open(NULL, &ops, &own, &table, &err), WEIR_ERR_ARG);
    cr_expect_null(table);
}
