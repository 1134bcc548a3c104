/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that a plan spells out, as a table. */
#include <stdlib.h>
#include <string.h>

#include "operators/base/arrow.h"
#include "operators/base/fail.h"
#include "operators/plan/literal.h"
#include "operators/table/table.h"

struct literal_table {
    struct wi_literals lit;
    struct wi_columns columns; /* of lit */
};

struct literal_scan {
    const struct wi_literals *lit;
    struct wi_row_range left;
    uint32_t n_cols;
    const uint32_t *cols;
    struct wi_columns
        columns; /* those asked for; their names are the table's */
    struct wi_op_mem mem;
    struct wi_arrow_out *out;
    struct wi_vec *all;  /* of a slice */
    struct wi_vec *some; /* those asked for */
};

static void scan_close(void *arg)
{
    struct literal_scan *scan = arg;
    wi_arrow_out_close(scan->out);
    free(scan->columns.at);
    free(scan->all);
    free(scan->some);
    free(scan);
}

static weir_err scan_fill(struct literal_scan *scan,
                          const struct weir_table_part *part,
                          struct weir_error *err)
{
    const struct wi_columns *all = scan->lit->columns;
    scan->left = wi_table_cut(scan->lit->n, part->part, part->n_parts);
    scan->cols = part->columns;
    scan->n_cols = part->n_columns;
    scan->columns.at = calloc(part->n_columns + 1u, sizeof(*scan->columns.at));
    scan->all = calloc(all->n + 1u, sizeof(*scan->all));
    scan->some = calloc(part->n_columns + 1u, sizeof(*scan->some));
    if (scan->columns.at == NULL || scan->all == NULL || scan->some == NULL) {
        return wi_exec_no_memory(err, sizeof(*scan));
    }
    scan->columns.n = part->n_columns;
    for (uint32_t i = 0; i < part->n_columns; i++) {
        scan->columns.at[i] = all->at[part->columns[i]];
    }
    return wi_arrow_out_open(&scan->columns, &scan->mem, &scan->out, err);
}

static weir_err scan_open(void *table, const struct weir_table_part *part,
                          void **scan_out, struct weir_error *err)
{
    const struct literal_table *t = table;
    struct literal_scan *scan = calloc(1, sizeof(*scan));
    if (scan == NULL) {
        return wi_exec_no_memory(err, sizeof(*scan));
    }
    scan->lit = &t->lit;
    weir_err rc = scan_fill(scan, part, err);
    if (rc != WEIR_OK) {
        scan_close(scan);
        return rc;
    }
    *scan_out = scan;
    return WEIR_OK;
}

static weir_err scan_next(void *arg, struct ArrowArray *batch_out,
                          struct weir_error *err)
{
    struct literal_scan *scan = arg;
    const uint64_t left = scan->left.end - scan->left.first;
    const uint32_t n = left < WI_CHUNK_ROWS ? (uint32_t)left : WI_CHUNK_ROWS;
    const struct ArrowArray *batch;
    struct wi_chunk chunk;
    if (n == 0) {
        return WEIR_DONE;
    }
    wi_literals_slice(scan->lit, scan->left.first, n, scan->all, &chunk);
    for (uint32_t i = 0; i < scan->n_cols; i++) {
        scan->some[i] = scan->all[scan->cols[i]];
    }
    chunk.n_cols = scan->n_cols;
    chunk.col = scan->some;
    scan->left.first += n;
    weir_err rc = wi_arrow_out_put(scan->out, &chunk, &batch, err);
    if (rc == WEIR_OK) {
        *batch_out = *batch;
    }
    return rc;
}

static void table_free(void *arg)
{
    struct literal_table *t = arg;
    wi_literals_fini(&t->lit);
    wi_columns_fini(&t->columns);
    free(t);
}

/* The table owns a list of its columns. */
static weir_err copy_columns(const struct wi_columns *from,
                             struct wi_columns *to, struct weir_error *err)
{
    for (uint32_t i = 0; i < from->n; i++) {
        if (wi_columns_add(to, from->at[i].name, &from->at[i].type) !=
            WEIR_OK) {
            return wi_exec_no_memory(err, sizeof(*from));
        }
    }
    return WEIR_OK;
}

weir_err wi_literals_table(struct wi_literals *lit, struct wi_columns *columns,
                           weir_table **table_out, struct weir_error *err)
{
    static const struct weir_table_ops ops = {
        .open = scan_open,
        .next = scan_next,
        .close = scan_close,
        .free = table_free,
    };
    struct wi_columns own = {0};
    struct literal_table *t = calloc(1, sizeof(*t));
    weir_err rc = t == NULL ? wi_exec_no_memory(err, sizeof(*t))
                            : copy_columns(columns, &own, err);
    if (rc == WEIR_OK) {
        rc = wi_table_open(&own, &ops, t, table_out, err);
    }
    if (rc != WEIR_OK) {
        wi_columns_fini(&own);
        free(t);
        return rc;
    }
    t->lit = *lit;
    t->columns = *columns;
    t->lit.columns = &t->columns;
    *lit = (struct wi_literals){0};
    *columns = (struct wi_columns){0};
    return WEIR_OK;
}
