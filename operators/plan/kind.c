/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the table, and the functions that only they use. */
#include "operators/plan/kind.h"

#include "operators/plan/json.h"
#include "operators/plan/spread.h"

/* ---- make ---------------------------------------------------------------- */

static weir_err make_scan(struct wi_ctx *ctx, const struct wi_plan_op *op,
                          struct wi_op *const *inputs, struct wi_op **out)
{
    (void)inputs;
    return wi_scan_open(ctx, &op->p.scan, out);
}

static weir_err make_filter(struct wi_ctx *ctx, const struct wi_plan_op *op,
                            struct wi_op *const *inputs, struct wi_op **out)
{
    return wi_filter_open(ctx, &op->p.filter, inputs[0], out);
}

static weir_err make_project(struct wi_ctx *ctx, const struct wi_plan_op *op,
                             struct wi_op *const *inputs, struct wi_op **out)
{
    return wi_project_open(ctx, &op->p.project, inputs[0], out);
}

static weir_err make_join(struct wi_ctx *ctx, const struct wi_plan_op *op,
                          struct wi_op *const *inputs, struct wi_op **out)
{
    return wi_join_open(ctx, &op->p.join, inputs[0], inputs[1], out);
}

static weir_err make_agg(struct wi_ctx *ctx, const struct wi_plan_op *op,
                         struct wi_op *const *inputs, struct wi_op **out)
{
    return wi_agg_open(ctx, &op->p.agg, inputs[0], out);
}

static weir_err make_sort(struct wi_ctx *ctx, const struct wi_plan_op *op,
                          struct wi_op *const *inputs, struct wi_op **out)
{
    return wi_sort_open(ctx, &op->p.sort, inputs[0], out);
}

static weir_err make_limit(struct wi_ctx *ctx, const struct wi_plan_op *op,
                           struct wi_op *const *inputs, struct wi_op **out)
{
    return wi_limit_open(ctx, &op->p.limit, inputs[0], out);
}

static weir_err make_union(struct wi_ctx *ctx, const struct wi_plan_op *op,
                           struct wi_op *const *inputs, struct wi_op **out)
{
    return wi_union_open(ctx, &op->p.all, inputs, out);
}

static weir_err make_write(struct wi_ctx *ctx, const struct wi_plan_op *op,
                           struct wi_op *const *inputs, struct wi_op **out)
{
    return wi_write_open(ctx, &op->p.write, inputs[0], out);
}

/* ---- close --------------------------------------------------------------- */

static void close_filter(struct wi_plan_op *op)
{
    wi_expr_close((struct wi_expr *)(uintptr_t)op->p.filter.where);
}

static void close_join(struct wi_plan_op *op)
{
    wi_expr_close((struct wi_expr *)(uintptr_t)op->p.join.where);
}

static void close_project(struct wi_plan_op *op)
{
    const struct wi_expr *const *exprs = op->p.project.exprs;
    for (uint32_t i = 0; exprs != NULL && exprs[i] != NULL; i++) {
        wi_expr_close((struct wi_expr *)(uintptr_t)exprs[i]);
    }
}

/* ---- the table ----------------------------------------------------------- */

const struct wi_kind wi_kinds[WI_PLAN_KINDS] = {
    [WI_PLAN_SCAN] = {.name = "scan",
                      .what = "a scan",
                      .needed = {"table"},
                      .fields = {"name", "op", "table", "columns"},
                      .read = wi_json_scan,
                      .spread = wi_spread_scan,
                      .make = make_scan},
    [WI_PLAN_FILTER] = {.name = "filter",
                        .what = "a filter",
                        .needed = {"input", "where"},
                        .fields = {"name", "op", "input", "where"},
                        .read = wi_json_filter,
                        .spread = wi_spread_filter,
                        .make = make_filter,
                        .keeps_rows = true,
                        .close = close_filter},
    [WI_PLAN_PROJECT] = {.name = "project",
                         .what = "a project",
                         .needed = {"input", "outputs"},
                         .fields = {"name", "op", "input", "outputs"},
                         .read = wi_json_project,
                         .spread = wi_spread_project,
                         .make = make_project,
                         .close = close_project},
    [WI_PLAN_JOIN] = {.name = "join",
                      .what = "a join",
                      .needed = {"left", "right"},
                      .fields = {"name", "op", "left", "right", "kind", "keys",
                                 "left_keys", "right_keys", "where", "filter"},
                      .read = wi_json_join,
                      .spread = wi_spread_join,
                      .make = make_join,
                      .close = close_join},
    [WI_PLAN_AGG] = {.name = "aggregate",
                     .what = "an aggregate",
                     .needed = {"input"},
                     .fields = {"name", "op", "input", "mode", "groups",
                                "aggregates"},
                     .read = wi_json_aggregate,
                     .spread = wi_spread_agg,
                     .make = make_agg},
    [WI_PLAN_SORT] = {.name = "sort",
                      .what = "a sort",
                      .needed = {"input", "by"},
                      .fields = {"name", "op", "input", "by", "rows"},
                      .read = wi_json_sort,
                      .spread = wi_spread_sort,
                      .make = make_sort,
                      .keeps_rows = true},
    [WI_PLAN_LIMIT] = {.name = "limit",
                       .what = "a limit",
                       .needed = {"input", "rows"},
                       .fields = {"name", "op", "input", "rows", "offset"},
                       .read = wi_json_limit,
                       .spread = wi_spread_limit,
                       .make = make_limit},
    [WI_PLAN_UNION] = {.name = "union",
                       .what = "a union",
                       .needed = {"inputs"},
                       .fields = {"name", "op", "inputs"},
                       .read = wi_json_union,
                       .spread = wi_spread_union,
                       .make = make_union,
                       .keeps_rows = true},
    [WI_PLAN_SHUFFLE] = {.name = "shuffle",
                         .what = "a shuffle",
                         .needed = {"input", "by"},
                         .fields = {"name", "op", "input", "by", "keys", "seed",
                                    "bounds"},
                         .read = wi_json_shuffle,
                         .spread = wi_spread_shuffle,
                         .cuts = true,
                         .keeps_rows = true},
    [WI_PLAN_MERGE] = {.name = "merge",
                       .what = "a merge",
                       .needed = {"input"},
                       .fields = {"name", "op", "input"},
                       .read = wi_json_merge,
                       .spread = wi_spread_shuffle,
                       .cuts = true,
                       .keeps_rows = true},
    [WI_PLAN_WRITE] = {.name = "write",
                       .what = "a write",
                       .spread = wi_spread_write,
                       .make = make_write},
};
