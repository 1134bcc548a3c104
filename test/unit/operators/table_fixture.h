/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Tables in tests: all parts through the scan operator, as rows.
 *
 *   wt_scan(table, "id:int32 name:utf8?", 5, &got)    five parts, in order
 *
 * The columns are those of the table with these names and types.
 */
#ifndef WT_TABLE_FIXTURE_H
#define WT_TABLE_FIXTURE_H

#include <criterion/criterion.h>
#include <stdlib.h>

#include "operators/op/ops.h"
#include "operators/table/table.h"
#include "test/support/operators.h"

enum { WT_TABLE_COLUMNS = 32 };

/** A scan under way. */
struct wt_scan {
    struct wi_ctx ctx;
    struct wi_scan_params params;
    uint32_t columns[WT_TABLE_COLUMNS];
};

static inline void wt_scan_init(struct wt_scan *s, weir_table *table,
                                const struct wi_columns *columns)
{
    wt_ctx_init(&s->ctx, 0);
    s->params = (struct wi_scan_params){.columns = columns, .table = table};
    s->params.table_cols = s->columns;
    for (uint32_t i = 0; i < columns->n; i++) {
        int at = wi_columns_find(&table->columns, columns->at[i].name);
        cr_assert_geq(at, 0, "no column %s", columns->at[i].name);
        cr_assert(
            wi_type_same(&table->columns.at[at].type, &columns->at[i].type),
            "column %s has another type", columns->at[i].name);
        s->columns[i] = (uint32_t)at;
    }
}

/** One part into `out`, which has its columns; worker k of as many workers
 *  reads part k. Returns how it ended; s->ctx.err says why. */
static inline enum wi_state wt_scan_part(struct wt_scan *s, uint32_t part,
                                         uint32_t n_parts,
                                         struct wt_op_rows *out)
{
    struct wi_op *op;
    s->ctx.part = s->ctx.worker = part;
    s->ctx.n_parts = s->ctx.workers = n_parts;
    if (wi_scan_open(&s->ctx, &s->params, &op) != WEIR_OK) {
        return WI_FAILED;
    }
    enum wi_state state = wt_collect(op, out);
    wi_op_close(op);
    return state;
}

/** All parts; they must succeed. @param out  initialised here */
static inline void wt_scan(weir_table *table, const char *columns,
                           uint32_t n_parts, struct wt_op_rows *out)
{
    struct wt_scan s;
    wt_op_rows_init(out, columns);
    wt_scan_init(&s, table, &out->columns);
    for (uint32_t part = 0; part < n_parts; part++) {
        cr_assert_eq(wt_scan_part(&s, part, n_parts, out), WI_DONE,
                     "part %u of %u: %s", part, n_parts, s.ctx.err.message);
    }
}

/** The first part that fails; one must. Returns s->ctx.err. */
static inline struct weir_error
wt_scan_error(weir_table *table, const char *columns, uint32_t n_parts)
{
    struct wt_scan s;
    struct wt_op_rows out;
    enum wi_state state = WI_DONE;
    wt_op_rows_init(&out, columns);
    wt_scan_init(&s, table, &out.columns);
    for (uint32_t i = 0; state == WI_DONE && i < n_parts; i++) {
        state = wt_scan_part(&s, i, n_parts, &out);
    }
    cr_assert_eq(state, WI_FAILED, "no part failed");
    wt_op_rows_fini(&out);
    return s.ctx.err;
}

#endif /* WT_TABLE_FIXTURE_H */
