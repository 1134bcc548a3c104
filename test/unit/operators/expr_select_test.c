/* SPDX-License-Identifier: Apache-2.0 */
/* Selections: what is computed for which rows, in whole chunks. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "test/support/expr.h"

static const char *const columns[][2] = {
    {"i", "int64"}, {"n", "int64?"}, {"s", "utf8"}, {"d", "decimal(12,2)"}};

static struct wt_expr_rows rows;

/* i = row, n = row % 4 or null if that is 3, s = its text, d = row / 100 */
static void open_rows(void)
{
    wt_expr_rows_open(&rows, columns, 4, WI_CHUNK_ROWS);
    int64_t *i = rows.vecs[0].values;
    int64_t *n = rows.vecs[1].values;
    struct wi_str *s = rows.vecs[2].values;
    int64_t *d = rows.vecs[3].values;
    static char texts[WI_CHUNK_ROWS][8];
    for (uint32_t row = 0; row < WI_CHUNK_ROWS; row++) {
        i[row] = d[row] = row;
        n[row] = row % 4 == 3 ? INT64_MAX : row % 4;
        rows.nulls[1][row] = row % 4 == 3;
        s[row] = (struct wi_str){texts[row],
                                 (uint32_t)sprintf(texts[row], "%u", row)};
    }
    rows.vecs[0].null = rows.vecs[2].null = rows.vecs[3].null = NULL;
}

static void close_rows(void)
{
    wt_expr_rows_close(&rows);
}

TestSuite(expr_select, .init = open_rows, .fini = close_rows);

struct opened {
    struct wi_expr *expr;
    struct wi_op_mem mem;
    struct wi_eval *eval;
};

static void open_expr(struct opened *o, const char *text)
{
    struct weir_error err = {.message = ""};
    memset(o, 0, sizeof(*o));
    cr_assert_eq(wi_expr_open(text, &rows.columns, &o->expr, &err), WEIR_OK,
                 "%s", err.message);
    cr_assert_eq(wi_eval_open(o->expr, &o->mem, &o->eval, &err), WEIR_OK);
}

static void close_expr(struct opened *o)
{
    wi_eval_close(o->eval);
    wi_expr_close(o->expr);
    cr_assert_eq(o->mem.held_bytes, 0);
}

/* The rows that a filter keeps: how many, the first and the last. */
static void keeps(const char *text, uint32_t n, uint32_t first, uint32_t last)
{
    struct opened o;
    struct weir_error err = {.message = ""};
    static uint32_t sel[WI_CHUNK_ROWS];
    uint32_t found = 0;
    open_expr(&o, text);
    weir_err code = wi_eval_select(o.eval, &rows.chunk, sel, &found, &err);
    cr_assert_eq(code, WEIR_OK, "%s: %s", text, err.message);
    cr_expect_eq(found, n, "%s keeps %u", text, found);
    if (found > 0) {
        cr_expect_eq(sel[0], first, "%s", text);
        cr_expect_eq(sel[found - 1], last, "%s", text);
    }
    close_expr(&o);
}

static void raises(const char *text)
{
    struct opened o;
    struct weir_error err = {.message = ""};
    static uint32_t sel[WI_CHUNK_ROWS];
    uint32_t found = 0;
    open_expr(&o, text);
    cr_expect_eq(wi_eval_select(o.eval, &rows.chunk, sel, &found, &err),
                 WEIR_ERR_QUERY_DATA, "%s", text);
    close_expr(&o);
}

static void select_every(uint32_t step, uint32_t first)
{
    rows.chunk.n = 0;
    for (uint32_t row = first; row < WI_CHUNK_ROWS; row += step) {
        rows.sel[rows.chunk.n++] = row;
    }
    rows.chunk.sel = rows.sel;
}

Test(expr_select, whole_chunks)
{
    keeps("true", 2048, 0, 2047);
    keeps("false", 0, 0, 0);
    keeps("i >= 1000", 1048, 1000, 2047);
    keeps("1000 > i", 1000, 0, 999);
    keeps("d = 20.47", 1, 2047, 2047);
    keeps("d <> 20.47", 2047, 0, 2046);
    keeps("d > 20", 47, 2001, 2047);
    keeps("n = 1", 512, 1, 2045);
    keeps("n is null", 512, 3, 2047);
    keeps("n is not null and i <= 4", 4, 0, 4);
    keeps("s like '20%'", 59, 20, 2047);
    keeps("s = '7' or i = 9", 2, 7, 9);
    keeps("i in (5, 1, 2047, 9999)", 3, 1, 2047);
    keeps("i in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", 10, 1, 10);
    keeps("i % 2 between 1 and 1", 1024, 1, 2047);
    keeps("not (n = 1)", 1024, 0, 2046);
    keeps("case when n = 2 then null else i < 10 end", 8, 0, 9);
}

Test(expr_select, selected_rows_only)
{
    select_every(3, 1);
    keeps("true", rows.chunk.n, 1, 2047);
    keeps("i > 10", 679, 13, 2047);
    keeps("i > 10 and n = 1 and s <> '13'", 169, 25, 2041);
    keeps("n in (0, 1) or i = 10", 343, 1, 2044);
}

Test(expr_select, errors_of_rows_that_do_not_count_are_none)
{
    keeps("i <> 0 and 10 / i > 5", 1, 1, 1);
    keeps("i = 0 or 10 % i = 1", 3, 0, 9);
    keeps("n > 1 and n + 9223372036854775805 > 0", 512, 2, 2046);
    keeps("case when i = 0 then true else 1 / i < 0 end", 1, 0, 0);
    keeps("coalesce(n, 9223372036854775800 + i % 8) = 0", 512, 0, 2044);
    raises("10 % i = 1");
    raises("10 % i = 1 and i <> 0");
    raises("n + 9223372036854775806 > 0");
    select_every(2, 1); /* no row 0, and n is 1 or null */
    keeps("10 % i = 1", 2, 3, 9);
    keeps("n + 9223372036854775806 > 0", 512, 1, 2045);
}

Test(expr_select, a_null_position_may_hold_anything)
{
    keeps("n * n * n >= 0", 1536, 0, 2046);
    keeps("-n - n <= 0", 1536, 0, 2046);
}

Test(expr_select, texts_stay_valid_until_the_next_run)
{
    struct opened o;
    struct wi_vec vec;
    struct weir_error err;
    open_expr(&o, "upper('row ' || s) || '.'");
    uint64_t held = 0;
    for (uint32_t turn = 0; turn < 20; turn++) {
        cr_assert_eq(wi_eval_run(o.eval, &rows.chunk, &vec, &err), WEIR_OK);
        for (uint32_t row = 0; row < WI_CHUNK_ROWS; row += 97) {
            char want[32];
            uint32_t n = (uint32_t)sprintf(want, "ROW %u.", row);
            struct wi_str found = wi_vec_str(&vec)[row];
            cr_assert_eq(found.n_bytes, n);
            cr_assert_eq(memcmp(found.data, want, n), 0);
        }
        cr_assert(turn == 0 || o.mem.held_bytes == held,
                  "memory grows from chunk to chunk");
        held = o.mem.held_bytes;
    }
    close_expr(&o);
}

Test(expr_select, memory_is_limited)
{
    struct opened o;
    struct weir_error err = {.message = ""};
    struct wi_eval *eval = NULL;
    open_expr(&o, "i + 1 + n");
    struct wi_op_mem mem = {.limit_bytes = 20000};
    cr_expect_eq(wi_eval_open(o.expr, &mem, &eval, &err),
                 WEIR_ERR_QUERY_MEMORY);
    cr_expect_eq(mem.held_bytes, 0);
    close_expr(&o);
}

Test(expr_select, columns_that_are_read)
{
    struct opened o;
    open_expr(&o, "case i when 1 then s else 'x' end");
    cr_expect(wi_expr_reads(o.expr, 0));
    cr_expect_not(wi_expr_reads(o.expr, 1));
    cr_expect(wi_expr_reads(o.expr, 2));
    cr_expect_eq(wi_expr_column(o.expr), -1);
    close_expr(&o);
    open_expr(&o, "(d)");
    cr_expect_eq(wi_expr_column(o.expr), 3);
    close_expr(&o);
}
