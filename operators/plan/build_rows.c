/* SPDX-License-Identifier: Apache-2.0 */
/* Scan, filter, project, limit, union. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/plan/draft.h"
#include "operators/table/table.h"

/* ---- scan ---------------------------------------------------------------- */

/* For callers who give the name of a file or a generator, not of a table. */
static const char *table_hint(uint32_t n_tables)
{
    return n_tables == 0
               ? ": declare it first, by weir_plan_table or in JSON as "
                 "\"tables\": {\"orders\": {\"csv\": \"orders.csv\"}}"
               : "";
}

static weir_err fail_table(struct wi_draft *b, const char *name)
{
    char list[WI_DRAFT_LIST_BYTES];
    const weir_plan *plan = b->plan;
    const char **names = calloc(plan->n_tables + 1u, sizeof(*names));
    uint32_t n = 0;
    for (; names != NULL && n < plan->n_tables; n++) {
        names[n] = plan->tables[n].name;
    }
    name = name == NULL ? "" : name;
    weir_err rc = wi_draft_fail(
        b, WEIR_ERR_NOT_FOUND, "no table \"%s\"; there is %s%s", name,
        wi_draft_list(names, n, list), table_hint(plan->n_tables));
    free(names);
    return rc;
}

static weir_err fail_column(struct wi_draft *b, const weir_table *table,
                            const char *name)
{
    const char *names[WI_PLAN_COLUMNS];
    char list[WI_DRAFT_LIST_BYTES];
    uint32_t n = 0;
    for (; n < table->columns.n && n < WI_PLAN_COLUMNS; n++) {
        names[n] = table->columns.at[n].name;
    }
    return wi_draft_fail(
        b, WEIR_ERR_NOT_FOUND, "no column \"%s\" in the table; there is %s",
        name == NULL ? "" : name, wi_draft_list(names, n, list));
}

static weir_err scan_columns(struct wi_draft *b, const char *const *columns,
                             uint32_t n)
{
    const weir_table *table = b->op->p.scan.table;
    uint32_t *cols = wi_draft_take(b, n, sizeof(*cols));
    weir_err rc = cols == NULL ? wi_draft_no_memory(b) : WEIR_OK;
    for (uint32_t i = 0; rc == WEIR_OK && i < n; i++) {
        int at = (int)i;
        if (columns != NULL) {
            wi_draft_at(b, "columns[%u]", i);
            at = columns[i] == NULL
                     ? -1
                     : wi_columns_find(&table->columns, columns[i]);
        }
        if (at < 0) {
            return fail_column(b, table, columns[i]);
        }
        cols[i] = (uint32_t)at;
        rc = wi_draft_give(b, table->columns.at[at].name,
                           &table->columns.at[at].type, WI_VALUE_NEW);
    }
    b->op->p.scan.table_cols = cols;
    return rc;
}

weir_err weir_plan_scan(weir_plan *plan, const char *name, const char *table,
                        const char *const *columns, uint32_t n_columns,
                        struct weir_error *err)
{
    weir_err given = wi_exec_check_args(err, WI_EXEC_ARG(plan),
                                        WI_EXEC_ARG(name), WI_EXEC_ARG(table));
    if (given == WEIR_OK) {
        given = wi_exec_check_list(err, columns, n_columns, "columns");
    }
    if (given != WEIR_OK) {
        return given;
    }
    struct wi_draft b = {.plan = plan, .err = err};
    weir_err rc = wi_draft_begin(&b, WI_PLAN_SCAN, name);
    if (rc != WEIR_OK) {
        return wi_draft_end(&b, rc);
    }
    struct wi_scan_params *p = &b.op->p.scan;
    wi_draft_at(&b, "table");
    p->columns = &b.op->columns;
    p->table = table == NULL ? NULL : wi_plan_find_table(plan, table);
    if (p->table == NULL) {
        return wi_draft_end(&b, fail_table(&b, table));
    }
    wi_draft_at(&b, NULL);
    rc = n_columns == 0 ? scan_columns(&b, NULL, p->table->columns.n)
                        : scan_columns(&b, columns, n_columns);
    if (rc == WEIR_OK) {
        rc = wi_draft_detail(&b, "of %s", table);
    }
    return wi_draft_end(&b, rc);
}

/* ---- filter -------------------------------------------------------------- */

static weir_err build_filter(struct wi_draft *b, const char *input,
                             const char *where)
{
    struct wi_filter_params *p = &b->op->p.filter;
    struct wi_plan_op *in;
    wi_draft_at(b, "input");
    weir_err rc = wi_draft_input(b, input, &in);
    if (rc == WEIR_OK) {
        rc = wi_draft_where(b, where, &in->columns, &p->where);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    p->columns = &b->op->columns;
    wi_draft_at(b, NULL);
    rc = wi_draft_give_all(b, in);
    return rc == WEIR_OK ? wi_draft_detail(b, "%s", where) : rc;
}

weir_err weir_plan_filter(weir_plan *plan, const char *name, const char *input,
                          const char *where, struct weir_error *err)
{
    weir_err given = wi_exec_check_args(err, WI_EXEC_ARG(plan),
                                        WI_EXEC_ARG(name), WI_EXEC_ARG(input));
    if (given != WEIR_OK) {
        return given;
    }
    struct wi_draft b = {.plan = plan, .err = err};
    weir_err rc = wi_draft_begin(&b, WI_PLAN_FILTER, name);
    return wi_draft_end(&b,
                        rc == WEIR_OK ? build_filter(&b, input, where) : rc);
}

/* ---- project ------------------------------------------------------------- */

static weir_err project_column(struct wi_draft *b, const struct wi_plan_op *in,
                               const struct weir_output *output,
                               const struct wi_expr **expr_out)
{
    struct wi_expr *expr;
    if (output->expr == NULL) {
        return wi_draft_fail(b, WEIR_ERR_ARG, "an expression was expected");
    }
    weir_err rc = wi_expr_open(output->expr, &in->columns, &expr, b->err);
    if (rc != WEIR_OK) {
        return wi_draft_fail_in(b, rc);
    }
    *expr_out = expr;
    const int col = wi_expr_column(expr);
    const char *name = output->name;
    if (name == NULL && col >= 0) {
        name = in->columns.at[col].name;
    }
    return wi_draft_give(b, name, wi_expr_type(expr),
                         col >= 0 ? in->notes.value[col] : WI_VALUE_NEW);
}

/* "a, b, total = a + b" */
static weir_err project_detail(struct wi_draft *b,
                               const struct weir_output *outputs, uint32_t n)
{
    const char **texts = wi_draft_take(b, n, sizeof(*texts));
    char list[WI_DRAFT_LIST_BYTES];
    for (uint32_t i = 0; texts != NULL && i < n; i++) {
        const char *name = b->op->columns.at[i].name;
        const char *expr = outputs[i].expr;
        char *text = wi_draft_take(b, strlen(name) + strlen(expr) + 4, 1);
        if (text == NULL) {
            return wi_draft_no_memory(b);
        }
        const bool same = strcmp(name, expr) == 0;
        (void)sprintf(text, "%s%s%s", same ? "" : name, same ? "" : " = ",
                      expr);
        texts[i] = text;
    }
    return texts == NULL
               ? wi_draft_no_memory(b)
               : wi_draft_detail(b, "%s", wi_draft_list(texts, n, list));
}

static weir_err build_project(struct wi_draft *b, const char *input,
                              const struct weir_output *outputs, uint32_t n)
{
    struct wi_project_params *p = &b->op->p.project;
    struct wi_plan_op *in;
    wi_draft_at(b, "input");
    weir_err rc = wi_draft_input(b, input, &in);
    if (rc != WEIR_OK) {
        return rc;
    }
    wi_draft_at(b, "outputs");
    if (n == 0 || outputs == NULL || n > WI_PLAN_COLUMNS) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "1..%u outputs were expected, found %" PRIu32,
                             WI_PLAN_COLUMNS, n);
    }
    const struct wi_expr **exprs = wi_draft_take(b, n + 1u, sizeof(*exprs));
    if (exprs == NULL) {
        return wi_draft_no_memory(b);
    }
    p->columns = &b->op->columns;
    p->exprs = exprs;
    for (uint32_t i = 0; rc == WEIR_OK && i < n; i++) {
        wi_draft_at(b, "outputs[%" PRIu32 "]", i);
        rc = project_column(b, in, &outputs[i], &exprs[i]);
    }
    if (rc == WEIR_OK) {
        rc = project_detail(b, outputs, n);
    }
    return rc;
}

weir_err weir_plan_project(weir_plan *plan, const char *name, const char *input,
                           const struct weir_output *outputs,
                           uint32_t n_outputs, struct weir_error *err)
{
    weir_err given = wi_exec_check_args(err, WI_EXEC_ARG(plan),
                                        WI_EXEC_ARG(name), WI_EXEC_ARG(input));
    if (given != WEIR_OK) {
        return given;
    }
    struct wi_draft b = {.plan = plan, .err = err};
    weir_err rc = wi_draft_begin(&b, WI_PLAN_PROJECT, name);
    if (rc == WEIR_OK) {
        rc = build_project(&b, input, outputs, n_outputs);
    }
    return wi_draft_end(&b, rc);
}

/* ---- limit --------------------------------------------------------------- */

static weir_err build_limit(struct wi_draft *b, const char *input)
{
    const struct wi_limit_params *p = &b->op->p.limit;
    struct wi_plan_op *in;
    wi_draft_at(b, "input");
    weir_err rc = wi_draft_input(b, input, &in);
    wi_draft_at(b, NULL);
    if (rc == WEIR_OK && p->rows > UINT64_MAX - p->offset) {
        wi_draft_at(b, "offset");
        rc = wi_draft_fail(b, WEIR_ERR_ARG, "offset + rows is over 2^64 - 1");
    }
    if (rc == WEIR_OK) {
        rc = wi_draft_give_all(b, in);
    }
    if (rc == WEIR_OK && p->offset == 0) {
        rc = wi_draft_detail(b, "%" PRIu64 " rows", p->rows);
    } else if (rc == WEIR_OK) {
        rc = wi_draft_detail(b, "%" PRIu64 " rows from row %" PRIu64, p->rows,
                             p->offset);
    }
    return rc;
}

weir_err weir_plan_limit(weir_plan *plan, const char *name, const char *input,
                         uint64_t rows, uint64_t offset, struct weir_error *err)
{
    weir_err given = wi_exec_check_args(err, WI_EXEC_ARG(plan),
                                        WI_EXEC_ARG(name), WI_EXEC_ARG(input));
    if (given != WEIR_OK) {
        return given;
    }
    struct wi_draft b = {.plan = plan, .err = err};
    weir_err rc = wi_draft_begin(&b, WI_PLAN_LIMIT, name);
    if (rc == WEIR_OK) {
        b.op->p.limit = (struct wi_limit_params){
            .columns = &b.op->columns, .rows = rows, .offset = offset};
        rc = build_limit(&b, input);
    }
    return wi_draft_end(&b, rc);
}

/* ---- union --------------------------------------------------------------- */

static weir_err check_same(struct wi_draft *b, const struct wi_plan_op *first,
                           const struct wi_plan_op *in)
{
    char a[WI_TYPE_TEXT_BYTES];
    char c[WI_TYPE_TEXT_BYTES];
    if (in->columns.n != first->columns.n) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "\"%s\" has %u columns, \"%s\" has %u", in->name,
                             in->columns.n, first->name, first->columns.n);
    }
    for (uint32_t i = 0; i < in->columns.n; i++) {
        const struct wi_named_type *l = &first->columns.at[i];
        const struct wi_named_type *r = &in->columns.at[i];
        if (strcmp(l->name, r->name) != 0 ||
            !wi_type_same(&l->type, &r->type)) {
            return wi_draft_fail(b, WEIR_ERR_ARG,
                                 "column %u of \"%s\" is %s %s, of \"%s\" %s "
                                 "%s; they must be the same",
                                 i, in->name, r->name,
                                 wi_type_text(&r->type, a), first->name,
                                 l->name, wi_type_text(&l->type, c));
        }
    }
    return WEIR_OK;
}

/* The first input's columns; nullable if any input's is. */
static weir_err union_columns(struct wi_draft *b)
{
    const struct wi_plan_op *first = wi_draft_nth(b, 0);
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; rc == WEIR_OK && i < first->columns.n; i++) {
        struct wi_type type = first->columns.at[i].type;
        for (uint32_t k = 1; k < b->op->n_inputs; k++) {
            type.nullable |= wi_draft_nth(b, k)->columns.at[i].type.nullable;
        }
        rc = wi_draft_give(b, first->columns.at[i].name, &type, WI_VALUE_NEW);
    }
    return rc;
}

static weir_err build_union(struct wi_draft *b, const char *const *inputs,
                            uint32_t n)
{
    weir_err rc = WEIR_OK;
    wi_draft_at(b, "inputs");
    if (n < 2 || inputs == NULL) {
        return wi_draft_fail(b, WEIR_ERR_ARG,
                             "two inputs or more were expected, found %" PRIu32,
                             n);
    }
    for (uint32_t i = 0; rc == WEIR_OK && i < n; i++) {
        struct wi_plan_op *in;
        wi_draft_at(b, "inputs[%" PRIu32 "]", i);
        rc = wi_draft_input(b, inputs[i], &in);
        if (rc == WEIR_OK) {
            rc = check_same(b, wi_draft_nth(b, 0), in);
        }
    }
    wi_draft_at(b, NULL);
    b->op->p.all =
        (struct wi_union_params){.columns = &b->op->columns, .n_inputs = n};
    if (rc == WEIR_OK) {
        rc = union_columns(b);
    }
    return rc == WEIR_OK ? wi_draft_detail(b, "of %" PRIu32 " inputs", n) : rc;
}

weir_err weir_plan_union(weir_plan *plan, const char *name,
                         const char *const *inputs, uint32_t n_inputs,
                         struct weir_error *err)
{
    weir_err given =
        wi_exec_check_args(err, WI_EXEC_ARG(plan), WI_EXEC_ARG(name));
    if (given != WEIR_OK) {
        return given;
    }
    struct wi_draft b = {.plan = plan, .err = err};
    weir_err rc = wi_draft_begin(&b, WI_PLAN_UNION, name);
    if (rc == WEIR_OK) {
        rc = build_union(&b, inputs, n_inputs);
    }
    return wi_draft_end(&b, rc);
}
