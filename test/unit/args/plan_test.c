/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of tables, plans and runs. */
#include "test/unit/args/args.h"

static weir_err no_open(void *table, const struct weir_table_part *part,
                        void **scan_out, struct weir_error *err)
{
    (void)table;
    (void)part;
    (void)scan_out;
    (void)err;
    return WEIR_ERR_SYSTEM;
}

Test(args, table)
{
    struct wt_args world;
    struct wt_args *w = &world;
    const struct weir_table_ops ops = {.open = no_open};
    const struct weir_csv_params csv = {.path = "/nowhere"};
    const struct weir_field field = {"a", "l", 0};
    struct weir_csv_params list = {.path = "/nowhere", .fields = &field};
    const struct weir_series_column column = {.name = "a", .format = "l"};
    struct ArrowSchema schema;
    weir_table *t = NULL;
    wt_args_open(w);
    REFUSES(weir_table_open, schema, NULL, &ops, NULL, &t, &w->err);
    REFUSES(weir_table_open, ops, &w->schema, NULL, NULL, &t, &w->err);
    REFUSES(weir_table_open, ops, &w->schema, &ops, NULL, &t, &w->err);
    REFUSES(weir_table_open, table_out, &w->schema, &ops, NULL, NULL, &w->err);
    ALLOWS(weir_table_close, table, DONE(weir_table_close(NULL)));
    REFUSES(weir_table_keep, table, NULL, &w->err);
    REFUSES(weir_table_schema, table, NULL, &schema, &w->err);
    REFUSES(weir_table_schema, schema_out, w->table, NULL, &w->err);
    REFUSES(weir_table_csv_open, params, NULL, &t, &w->err);
    REFUSES(weir_table_csv_open, table_out, &csv, NULL, &w->err);
    REFUSES(weir_table_csv_open, fields, &list, &t, &w->err);
    list = (struct weir_csv_params){.path = "/nowhere", .n_fields = 1};
    REFUSES(weir_table_csv_open, fields, &list, &t, &w->err);
    REFUSES(weir_table_memory_open, schema, NULL, &w->batch, 1, &t, &w->err);
    REFUSES(weir_table_memory_open, batches, &w->schema, NULL, 1, &t, &w->err);
    REFUSES(weir_table_memory_open, table_out, &w->schema, &w->batch, 1, NULL,
            &w->err);
    REFUSES(weir_table_series_open, columns, NULL, 1, 1, 1, &t, &w->err);
    REFUSES(weir_table_series_open, columns, &column, 0, 1, 1, &t, &w->err);
    REFUSES(weir_table_series_open, table_out, &column, 1, 1, 1, NULL, &w->err);
    cr_assert_null(t);
    wt_args_close(w);
}

Test(args, plan)
{
    struct wt_args world;
    struct wt_args *w = &world;
    struct ArrowSchema schema;
    struct weir_operator op;
    weir_plan *plan = NULL;
    char *text = NULL;
    wt_args_open(w);
    REFUSES(weir_plan_open, plan_out, NULL, &w->err);
    ALLOWS(weir_plan_close, plan, DONE(weir_plan_close(NULL)));
    REFUSES(weir_plan_read, json, NULL, 2, NULL, &plan, &w->err);
    REFUSES(weir_plan_read, plan_out, "{}", 2, NULL, NULL, &w->err);
    ALLOWS(weir_plan_read, params,
           weir_plan_read("[", 1, NULL, &plan, NULL) == WEIR_ERR_DATA);
    REFUSES(weir_plan_table, plan, NULL, "t", w->table, &w->err);
    REFUSES(weir_plan_table, name, w->plan, NULL, w->table, &w->err);
    REFUSES(weir_plan_table, table, w->plan, "t2", NULL, &w->err);
    REFUSES(weir_plan_result, plan, NULL, "s", &w->err);
    REFUSES(weir_plan_result, input, w->plan, NULL, &w->err);
    REFUSES(weir_plan_schema, plan, NULL, "s", &schema, &w->err);
    REFUSES(weir_plan_schema, schema_out, w->plan, "s", NULL, &w->err);
    cr_assert_eq(weir_plan_schema(w->plan, NULL, &schema, NULL), WEIR_OK);
    ALLOWS(weir_plan_schema, name, schema.release != NULL);
    schema.release(&schema);
    ANSWERS(weir_plan_operators, plan, weir_plan_operators(NULL) == 0);
    ANSWERS(weir_plan_root, plan, weir_plan_root(NULL) == UINT32_MAX);
    CODE(weir_plan_operator, plan, WEIR_ERR_ARG, NULL, 0, &op);
    CODE(weir_plan_operator, op_out, WEIR_ERR_ARG, w->plan, 0, NULL);
    CODE(weir_plan_operator, idx, WEIR_ERR_NOT_FOUND, w->plan, 99, &op);
    REFUSES(weir_plan_explain, plan, NULL, WEIR_EXPLAIN_DOT, &text, &w->err);
    REFUSES(weir_plan_explain, text_out, w->plan, WEIR_EXPLAIN_DOT, NULL,
            &w->err);
    REFUSES(weir_plan_explain, format, w->plan, (weir_explain_format)7, &text,
            &w->err);
    cr_assert(plan == NULL && text == NULL);
    wt_args_close(w);
}

Test(args, plan_of_rows)
{
    struct wt_args world;
    struct wt_args *w = &world;
    const char *const cols[] = {"id"};
    const char *const inputs[] = {"s", "s"};
    const struct weir_output out = {"x", "id"};
    wt_args_open(w);
    cr_assert_eq(weir_plan_scan(w->plan, "a", "t", NULL, 0, NULL), WEIR_OK);
    REFUSES(weir_plan_scan, plan, NULL, "n", "t", cols, 1, &w->err);
    REFUSES(weir_plan_scan, name, w->plan, NULL, "t", cols, 1, &w->err);
    REFUSES(weir_plan_scan, table, w->plan, "n", NULL, cols, 1, &w->err);
    REFUSES(weir_plan_scan, columns, w->plan, "n", "t", NULL, 1, &w->err);
    REFUSES(weir_plan_scan, columns, w->plan, "n", "t", cols, 0, &w->err);
    REFUSES(weir_plan_filter, plan, NULL, "n", "a", "true", &w->err);
    REFUSES(weir_plan_filter, name, w->plan, NULL, "a", "true", &w->err);
    REFUSES(weir_plan_filter, input, w->plan, "n", NULL, "true", &w->err);
    REFUSES(weir_plan_filter, where, w->plan, "n", "a", NULL, &w->err);
    REFUSES(weir_plan_project, plan, NULL, "n", "s", &out, 1, &w->err);
    REFUSES(weir_plan_project, name, w->plan, NULL, "s", &out, 1, &w->err);
    REFUSES(weir_plan_project, input, w->plan, "n", NULL, &out, 1, &w->err);
    REFUSES(weir_plan_project, outputs, w->plan, "n", "a", NULL, 1, &w->err);
    REFUSES(weir_plan_limit, plan, NULL, "n", "s", 1, 0, &w->err);
    REFUSES(weir_plan_limit, name, w->plan, NULL, "s", 1, 0, &w->err);
    REFUSES(weir_plan_limit, input, w->plan, "n", NULL, 1, 0, &w->err);
    REFUSES(weir_plan_union, plan, NULL, "n", inputs, 2, &w->err);
    REFUSES(weir_plan_union, name, w->plan, NULL, inputs, 2, &w->err);
    REFUSES(weir_plan_union, inputs, w->plan, "n", NULL, 2, &w->err);
    REFUSES(weir_plan_merge, plan, NULL, "n", "s", &w->err);
    REFUSES(weir_plan_merge, name, w->plan, NULL, "s", &w->err);
    REFUSES(weir_plan_merge, input, w->plan, "n", NULL, &w->err);
    wt_args_close(w);
}

Test(args, plan_of_params)
{
    struct wt_args world;
    struct wt_args *w = &world;
    struct weir_join_params join = {.left = "a", .right = "b", .n_keys = 1};
    struct weir_aggregate_params agg = {.input = "a", .n_groups = 1};
    struct weir_sort_params sort = {.input = "a", .n_keys = 1};
    struct weir_plan_shuffle_params by = {.input = "a", .n_keys = 1};
    wt_args_open(w);
    cr_assert_eq(weir_plan_scan(w->plan, "a", "t", NULL, 0, NULL), WEIR_OK);
    cr_assert_eq(weir_plan_scan(w->plan, "b", "t", NULL, 0, NULL), WEIR_OK);
    REFUSES(weir_plan_join, plan, NULL, "n", &join, &w->err);
    REFUSES(weir_plan_join, name, w->plan, NULL, &join, &w->err);
    REFUSES(weir_plan_join, params, w->plan, "n", NULL, &w->err);
    REFUSES(weir_plan_join, keys, w->plan, "n", &join, &w->err);
    join.kind = (weir_join_kind)9;
    REFUSES(weir_plan_join, kind, w->plan, "n", &join, &w->err);
    REFUSES(weir_plan_aggregate, plan, NULL, "n", &agg, &w->err);
    REFUSES(weir_plan_aggregate, name, w->plan, NULL, &agg, &w->err);
    REFUSES(weir_plan_aggregate, params, w->plan, "n", NULL, &w->err);
    REFUSES(weir_plan_aggregate, groups, w->plan, "n", &agg, &w->err);
    agg = (struct weir_aggregate_params){.input = "a", .n_aggregates = 1};
    REFUSES(weir_plan_aggregate, aggregates, w->plan, "n", &agg, &w->err);
    agg.mode = (weir_aggregate_mode)9;
    REFUSES(weir_plan_aggregate, mode, w->plan, "n", &agg, &w->err);
    REFUSES(weir_plan_sort, plan, NULL, "n", &sort, &w->err);
    REFUSES(weir_plan_sort, name, w->plan, NULL, &sort, &w->err);
    REFUSES(weir_plan_sort, params, w->plan, "n", NULL, &w->err);
    REFUSES(weir_plan_sort, keys, w->plan, "n", &sort, &w->err);
    REFUSES(weir_plan_shuffle, plan, NULL, "n", &by, &w->err);
    REFUSES(weir_plan_shuffle, name, w->plan, NULL, &by, &w->err);
    REFUSES(weir_plan_shuffle, params, w->plan, "n", NULL, &w->err);
    REFUSES(weir_plan_shuffle, keys, w->plan, "n", &by, &w->err);
    by.partitioning = (weir_partitioning)77;
    REFUSES(weir_plan_shuffle, by, w->plan, "n", &by, &w->err);
    wt_args_close(w);
}

Test(args, run)
{
    struct wt_args world;
    struct wt_args *w = &world;
    const struct weir_run_params p = {.query_id = 9};
    const struct weir_error cause = {.code = WEIR_ERR_DATA};
    struct weir_op_stats stats;
    struct weir_edge_stats edge;
    weir_run *run = NULL;
    wt_args_open(w);
    ANSWERS(weir_run_shuffles, plan, weir_run_shuffles(NULL) == 0);
    REFUSES(weir_run_open, node, NULL, w->plan, &p, &run, &w->err);
    REFUSES(weir_run_open, plan, w->node, NULL, &p, &run, &w->err);
    REFUSES(weir_run_open, params, w->node, w->plan, NULL, &run, &w->err);
    REFUSES(weir_run_open, run_out, w->node, w->plan, &p, NULL, &w->err);
    REFUSES(weir_run_fail, node, NULL, 9, &cause, &w->err);
    REFUSES(weir_run_fail, cause, w->node, 9, NULL, &w->err);
    CODE(weir_run_step, run, WEIR_ERR_ARG, NULL, 0);
    CODE(weir_run_step, worker, WEIR_ERR_ARG, w->run, 1);
    REFUSES(weir_run_wait, run, NULL, &w->err);
    REFUSES(weir_run_status, run, NULL, &w->err);
    ANSWERS(weir_run_cancel, run, DONE(weir_run_cancel(NULL, "no")));
    ANSWERS(weir_run_operators, run, weir_run_operators(NULL) == 0);
    CODE(weir_run_stats, run, WEIR_ERR_ARG, NULL, 0, &stats);
    CODE(weir_run_stats, idx, WEIR_ERR_NOT_FOUND, w->run, 99, &stats);
    CODE(weir_run_stats, stats_out, WEIR_ERR_ARG, w->run, 0, NULL);
    CODE(weir_run_edge, run, WEIR_ERR_ARG, NULL, 0, 0, 0, &edge);
    CODE(weir_run_edge, idx, WEIR_ERR_NOT_FOUND, w->run, 99, 0, 0, &edge);
    CODE(weir_run_edge, worker, WEIR_ERR_NOT_FOUND, w->run, 1, 9, 0, &edge);
    CODE(weir_run_edge, dest, WEIR_ERR_NOT_FOUND, w->run, 1, 0, 99, &edge);
    CODE(weir_run_edge, stats_out, WEIR_ERR_ARG, w->run, 1, 0, 0, NULL);
    ANSWERS(weir_run_progress, run, weir_run_progress(NULL) == 0);
    ALLOWS(weir_run_close, run, DONE(weir_run_close(NULL)));
    ALLOWS(weir_run_cancel, reason, DONE(weir_run_cancel(w->run, NULL)));
    cr_assert_eq(weir_run_status(w->run, NULL), WEIR_ERR_CANCELLED);
    cr_assert_null(run);
    wt_args_close(w);
}
