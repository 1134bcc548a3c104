/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that keep their rows give the same rows again, from memory. */
#include <criterion/criterion.h>

#include "operators/op/ops.h"

enum { ROWS = 5000 };

struct place {
    struct wi_ctx ctx;
    weir_table *table;
    struct wi_columns columns;
    uint32_t cols[1];
    struct wi_scan_params params;
};

static void open_place(struct place *p, uint32_t column)
{
    static const struct weir_series_column series[] = {
        {.name = "a", .format = "l", .kind = WEIR_SERIES_SEQUENCE, .step = 1},
        {.name = "b", .format = "l", .kind = WEIR_SERIES_UNIFORM, .last = 99}};
    struct wi_type type;
    struct weir_error err = {0};
    *p = (struct place){.ctx = {.workers = 1, .n_parts = 2}};
    cr_assert_eq(weir_table_series_open(series, 2, ROWS, 1, &p->table, &err),
                 WEIR_OK, "%s", err.message);
    cr_assert_eq(weir_table_keep(p->table, &err), WEIR_OK);
    cr_assert(wi_type_parse("int64", &type));
    cr_assert_eq(wi_columns_add(&p->columns, "x", &type), WEIR_OK);
    p->cols[0] = column;
    p->params = (struct wi_scan_params){
        .columns = &p->columns, .table = p->table, .table_cols = p->cols};
}

static void close_place(struct place *p)
{
    weir_table_close(p->table);
    wi_columns_fini(&p->columns);
    cr_assert_eq(p->ctx.mem.held_bytes, 0);
}

static struct wi_op *open_scan(struct place *p)
{
    struct wi_op *scan = NULL;
    cr_assert_eq(wi_scan_open(&p->ctx, &p->params, &scan), WEIR_OK, "%s",
                 p->ctx.err.message);
    return scan;
}

/* Sum of the rest of the rows. */
static int64_t drain(struct wi_op *scan, uint64_t *rows)
{
    struct wi_chunk chunk;
    int64_t sum = 0;
    enum wi_state state;
    while ((state = wi_op_step(scan, &chunk)) == WI_MOVED) {
        for (uint32_t i = 0; i < chunk.n; i++) {
            sum += wi_vec_i64(&chunk.col[0])[wi_chunk_pos(&chunk, i)];
        }
        *rows += chunk.n;
    }
    cr_assert_eq(state, WI_DONE);
    return sum;
}

static int64_t scan_all(struct place *p)
{
    uint64_t rows = 0;
    struct wi_op *scan = open_scan(p);
    int64_t sum = drain(scan, &rows);
    cr_assert_eq(rows, ROWS / 2);
    wi_op_close(scan);
    return sum;
}

/* A scan of the table has an input of its own, one of memory has none. */
static bool from_memory(const struct wi_op *scan)
{
    return scan->input[0] == NULL;
}

Test(kept, the_second_scan_reads_memory)
{
    struct place p;
    open_place(&p, 0);
    int64_t sum = scan_all(&p);
    struct wi_op *scan = open_scan(&p);
    uint64_t rows = 0;
    cr_assert(from_memory(scan));
    cr_assert_eq(drain(scan, &rows), sum);
    cr_assert_eq(rows, ROWS / 2);
    wi_op_close(scan);
    p.ctx.part = 1;
    cr_assert_neq(scan_all(&p), sum, "parts are kept apart");
    close_place(&p);
}

Test(kept, half_a_scan_keeps_nothing)
{
    struct place p;
    struct wi_chunk chunk;
    open_place(&p, 0);
    struct wi_op *scan = open_scan(&p);
    cr_assert_eq(wi_op_step(scan, &chunk), WI_MOVED);
    wi_op_stop(scan);
    cr_assert_eq(wi_op_step(scan, &chunk), WI_DONE);
    wi_op_close(scan);
    scan = open_scan(&p);
    cr_assert_not(from_memory(scan));
    wi_op_close(scan);
    close_place(&p);
}

Test(kept, other_columns_or_parts_are_read_again)
{
    struct place p;
    open_place(&p, 0);
    int64_t a = scan_all(&p);
    p.cols[0] = 1;
    int64_t b = scan_all(&p);
    cr_assert_neq(a, b);
    cr_assert_eq(scan_all(&p), b);
    p.ctx.n_parts = 1;
    uint64_t rows = 0;
    struct wi_op *scan = open_scan(&p);
    (void)drain(scan, &rows);
    cr_assert_eq(rows, ROWS);
    wi_op_close(scan);
    close_place(&p);
}

Test(kept, rows_stay_while_somebody_reads_them)
{
    struct place p;
    uint64_t rows = 0;
    open_place(&p, 0);
    int64_t sum = scan_all(&p);
    struct wi_op *first = open_scan(&p);
    p.cols[0] = 1;
    struct wi_op *other = open_scan(&p);
    cr_assert_eq(drain(first, &rows), sum);
    (void)drain(other, &rows);
    cr_assert_eq(rows, ROWS);
    wi_op_close(first);
    wi_op_close(other);
    p.cols[0] = 0;
    cr_assert_eq(scan_all(&p), sum);
    close_place(&p);
}
