/* SPDX-License-Identifier: Apache-2.0 */
/* Filter, project, limit and union, and what all operators share. */
#include <criterion/criterion.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/op/ops.h"
#include "test/support/operators.h"

TestSuite(ops, .timeout = 60);

enum { SEEDS = 20 };

/* Rows of columns k and v: 0 .. n-1 and their squares, null each 7th. */
static void fill(struct wt_op_rows *rows, uint32_t n)
{
    wt_op_rows_init(rows, "k:int64 v:int64?");
    for (uint32_t i = 0; i < n; i++) {
        struct wt_value *v = wt_op_rows_new(rows);
        v[0].i = i;
        v[1].i = (wi_i128)i * i;
        v[1].null = i % 7 == 6;
    }
}

static struct wi_expr *expr(const char *text, const struct wt_op_rows *rows)
{
    struct wi_expr *e = NULL;
    struct weir_error err = {0};
    cr_assert_eq(wi_expr_open(text, &rows->columns, &e, &err), WEIR_OK, "%s",
                 err.message);
    return e;
}

static void expect_end(struct wi_ctx *ctx, struct wi_op *op,
                       const struct wt_op_rows *want)
{
    struct wt_op_rows got = {0};
    wt_op_rows_init(&got, "k:int64 v:int64?");
    cr_assert_eq(wt_collect(op, &got), WI_DONE, "%s", ctx->err.message);
    wt_op_rows_expect(&got, want, true);
    cr_assert_eq(op->stats.rows, want->n);
    wt_op_close(ctx, op);
    wt_op_rows_fini(&got);
}

/* ---- filter, project ----------------------------------------------------- */

Test(ops, filter_keeps_rows_that_are_true)
{
    struct wt_op_rows in;
    struct wt_op_rows want;
    fill(&in, 5000);
    wt_op_rows_init(&want, "k:int64 v:int64?");
    for (uint32_t i = 0; i < in.n; i++) {
        const struct wt_value *v = wt_op_rows_at(&in, i);
        if (!v[1].null && v[1].i % 3 == 1) {
            struct wt_value *row = wt_op_rows_new(&want);
            row[0] = wt_op_rows_at(&in, i)[0];
            row[1] = wt_op_rows_at(&in, i)[1];
        }
    }
    struct wi_expr *where = expr("v % 3 = 1", &in);
    const struct wi_filter_params p = {&in.columns, where};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct wi_ctx ctx;
        struct wi_op *op;
        wt_ctx_init(&ctx, 0);
        cr_assert_eq(wi_filter_open(&ctx, &p, wt_source(&ctx, &in, seed), &op),
                     WEIR_OK);
        expect_end(&ctx, op, &want);
    }
    wi_expr_close(where);
    wt_op_rows_fini(&in);
    wt_op_rows_fini(&want);
}

Test(ops, filter_that_keeps_all_leaves_chunks_dense)
{
    struct wt_op_rows in;
    struct wi_ctx ctx;
    struct wi_op *op;
    struct wi_chunk chunk;
    fill(&in, 100);
    wt_ctx_init(&ctx, 0);
    struct wi_expr *where = expr("k >= 0", &in);
    const struct wi_filter_params p = {&in.columns, where};
    cr_assert_eq(wi_filter_open(&ctx, &p, wt_source(&ctx, &in, 0), &op),
                 WEIR_OK);
    cr_assert_eq(wi_op_step(op, &chunk), WI_MOVED);
    cr_assert_eq(chunk.n, 100);
    cr_assert_null(chunk.sel);
    wi_op_close(op);
    wi_expr_close(where);
    wt_op_rows_fini(&in);
}

Test(ops, project_computes_and_passes_columns_on)
{
    struct wt_op_rows in;
    struct wt_op_rows want;
    fill(&in, 5000);
    wt_op_rows_init(&want, "k:int64 v:int64?");
    for (uint32_t i = 0; i < in.n; i++) {
        struct wt_value *row = wt_op_rows_new(&want);
        const struct wt_value *v = wt_op_rows_at(&in, i);
        row[0].i = v[0].i * 2 + 1;
        row[1] = v[1];
    }
    struct wi_expr *exprs[] = {expr("k * 2 + 1", &in), expr("v", &in)};
    const struct wi_project_params p = {&in.columns,
                                        (const struct wi_expr *const *)exprs};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct wi_ctx ctx;
        struct wi_op *op;
        wt_ctx_init(&ctx, 0);
        cr_assert_eq(wi_project_open(&ctx, &p, wt_source(&ctx, &in, seed), &op),
                     WEIR_OK);
        struct wt_op_rows got = {0};
        wt_op_rows_init(&got, "k:int64 v:int64?");
        cr_assert_eq(wt_collect(op, &got), WI_DONE, "%s", ctx.err.message);
        cr_assert_eq(got.n, in.n);
        wt_op_rows_expect(&got, &want, true);
        wi_op_close(op);
        cr_assert_eq(ctx.mem.held_bytes, 0);
        wt_op_rows_fini(&got);
    }
    wi_expr_close(exprs[0]);
    wi_expr_close(exprs[1]);
    wt_op_rows_fini(&in);
    wt_op_rows_fini(&want);
}

Test(ops, failure_lasts_and_names_the_innermost)
{
    struct wt_op_rows in;
    struct wi_ctx ctx;
    struct wi_op *op;
    struct wi_op *top;
    struct wt_op_rows got = {0};
    fill(&in, 100);
    wt_ctx_init(&ctx, 0);
    struct wi_expr *where = expr("1 / k > 0", &in);
    const struct wi_filter_params p = {&in.columns, where};
    const struct wi_limit_params all = {&in.columns, 1000, 0};
    cr_assert_eq(wi_filter_open(&ctx, &p, wt_source(&ctx, &in, 0), &op),
                 WEIR_OK);
    cr_assert_eq(wi_limit_open(&ctx, &all, op, &top), WEIR_OK);
    wt_op_rows_init(&got, "k:int64 v:int64?");
    cr_assert_eq(wt_collect(top, &got), WI_FAILED);
    cr_assert_eq(ctx.err.code, WEIR_ERR_QUERY_DATA);
    cr_assert_not_null(strstr(ctx.err.message, "zero"), "%s", ctx.err.message);
    cr_assert_eq(ctx.failed, op);
    wi_op_close(top);
    wi_expr_close(where);
    wt_op_rows_fini(&in);
    wt_op_rows_fini(&got);
}

Test(ops, too_little_memory_closes_the_input)
{
    struct wt_op_rows in;
    struct wi_ctx ctx;
    struct wi_op *op = NULL;
    fill(&in, 10);
    wt_ctx_init(&ctx, 100);
    struct wi_expr *where = expr("k + 1 > 3", &in);
    const struct wi_filter_params p = {&in.columns, where};
    cr_assert_eq(wi_filter_open(&ctx, &p, wt_source(&ctx, &in, 0), &op),
                 WEIR_ERR_QUERY_MEMORY);
    cr_assert_null(op);
    cr_assert_eq(ctx.mem.held_bytes, 0);
    wi_expr_close(where);
    wt_op_rows_fini(&in);
}

/* ---- limit --------------------------------------------------------------- */

static void limit_of(const struct wt_op_rows *in, uint64_t rows,
                     uint64_t offset)
{
    struct wt_op_rows want;
    wt_op_rows_init(&want, "k:int64 v:int64?");
    for (uint64_t i = offset; i < in->n && i < offset + rows; i++) {
        struct wt_value *row = wt_op_rows_new(&want);
        row[0] = wt_op_rows_at(in, (uint32_t)i)[0];
        row[1] = wt_op_rows_at(in, (uint32_t)i)[1];
    }
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct wi_ctx ctx;
        struct wi_op *op;
        const struct wi_limit_params p = {&in->columns, rows, offset};
        wt_ctx_init(&ctx, 0);
        struct wi_op *source = wt_source(&ctx, in, seed);
        cr_assert_eq(wi_limit_open(&ctx, &p, source, &op), WEIR_OK);
        struct wt_op_rows got = {0};
        wt_op_rows_init(&got, "k:int64 v:int64?");
        cr_assert_eq(wt_collect(op, &got), WI_DONE);
        wt_op_rows_expect(&got, &want, true);
        if (offset + rows < in->n) {
            cr_assert(((struct wt_op_source *)source)->stopped,
                      "the input goes on");
        }
        wi_op_close(op);
        wt_op_rows_fini(&got);
    }
    wt_op_rows_fini(&want);
}

Test(ops, limit_gives_its_rows_and_stops_its_input)
{
    static const uint64_t cases[][2] = {
        {0, 0},       {1, 0},      {1, 1},      {2048, 0},
        {2048, 2048}, {2049, 100}, {5000, 0},   {5001, 10},
        {100, 4990},  {100, 5000}, {100, 9000}, {10000, 2047}};
    struct wt_op_rows in;
    fill(&in, 5000);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        limit_of(&in, cases[i][0], cases[i][1]);
    }
    wt_op_rows_fini(&in);
}

/* ---- union --------------------------------------------------------------- */

static void union_of(const struct wt_op_rows *a, const struct wt_op_rows *b,
                     const struct wt_op_rows *want, uint64_t seed)
{
    struct wi_ctx ctx;
    struct wt_op_rows got = {0};
    const struct wi_union_params p = {&a->columns, 3};
    struct wi_op *op;
    wt_ctx_init(&ctx, 0);
    struct wi_op *inputs[] = {wt_source(&ctx, a, seed), NULL,
                              wt_source(&ctx, b, seed == 0 ? 0 : seed + 1)};
    cr_assert_eq(wi_union_open(&ctx, &p, inputs, &op), WEIR_OK);
    wt_op_rows_init(&got, "k:int64 v:int64?");
    cr_assert_eq(wt_collect(op, &got), WI_DONE);
    wt_op_rows_expect(&got, want, false);
    wi_op_close(op);
    wt_op_rows_fini(&got);
}

Test(ops, union_gives_all_rows_of_all_inputs)
{
    struct wt_op_rows a;
    struct wt_op_rows b;
    struct wt_op_rows none;
    struct wt_op_rows want;
    fill(&a, 5000);
    fill(&b, 3000);
    fill(&none, 0);
    fill(&want, 5000);
    for (uint32_t i = 0; i < b.n; i++) {
        struct wt_value *row = wt_op_rows_new(&want);
        row[0] = wt_op_rows_at(&b, i)[0];
        row[1] = wt_op_rows_at(&b, i)[1];
    }
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        union_of(&a, &b, &want, seed);
        union_of(&a, &none, &a, seed);
        union_of(&none, &none, &none, seed);
    }
    wt_op_rows_fini(&a);
    wt_op_rows_fini(&b);
    wt_op_rows_fini(&none);
    wt_op_rows_fini(&want);
}

Test(ops, stop_reaches_every_input)
{
    struct wt_op_rows in;
    struct wi_ctx ctx;
    struct wi_op *op;
    struct wi_chunk chunk;
    fill(&in, 5000);
    const struct wi_union_params p = {&in.columns, 2};
    wt_ctx_init(&ctx, 0);
    struct wi_op *inputs[] = {wt_source(&ctx, &in, 0), wt_source(&ctx, &in, 0)};
    cr_assert_eq(wi_union_open(&ctx, &p, inputs, &op), WEIR_OK);
    cr_assert_eq(wi_op_step(op, &chunk), WI_MOVED);
    wi_op_stop(op);
    wi_op_stop(op);
    cr_assert_eq(wi_op_step(op, &chunk), WI_DONE);
    cr_assert(((struct wt_op_source *)inputs[0])->stopped);
    cr_assert(((struct wt_op_source *)inputs[1])->stopped);
    wi_op_close(op);
    wt_op_rows_fini(&in);
}
