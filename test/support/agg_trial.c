/* SPDX-License-Identifier: Apache-2.0 */
/* Trials of hash aggregates. */
#include "test/support/agg_trial.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const fn_names[] = {"rows", "count", "sum",
                                       "avg",  "min",   "max"};

static void add_column(struct wi_columns *columns, enum wi_agg_fn fn,
                       const struct wi_type *argument)
{
    struct wi_type type;
    cr_assert_eq(wi_agg_type(fn, argument, &type, NULL), WEIR_OK);
    cr_assert_eq(wi_columns_add(columns, fn_names[fn], &type), WEIR_OK);
}

static void add_state(struct wt_agg_trial *t, enum wi_agg_fn fn,
                      const struct wi_type *argument)
{
    struct wi_agg_state state[WI_AGG_STATES];
    const uint32_t n = wi_agg_state(fn, argument, state);
    for (uint32_t i = 0; i < n; i++) {
        cr_assert_eq(
            wi_columns_add(&t->states.columns, state[i].suffix, &state[i].type),
            WEIR_OK);
    }
}

void wt_agg_add(struct wt_agg_trial *t, enum wi_agg_fn fn, uint32_t col)
{
    const struct wi_type *argument = &t->in.columns.at[col].type;
    struct wi_agg agg = {fn, *argument, col};
    t->aggs[t->n_aggs] = agg;
    agg.col = t->states.columns.n;
    t->finals[t->n_aggs++] = agg;
    add_column(&t->got.columns, fn, argument);
    add_column(&t->expected.columns, fn, argument);
    add_state(t, fn, argument);
}

void wt_agg_open(struct wt_agg_trial *t, uint32_t n_groups, const char *in)
{
    memset(t, 0, sizeof(*t));
    wt_ctx_init(&t->ctx, 0);
    wt_op_rows_init(&t->in, in);
    t->n_groups = n_groups;
    struct wt_op_rows *outs[] = {&t->got, &t->expected, &t->states};
    for (uint32_t g = 0; g < n_groups; g++) {
        const struct wi_named_type *col = &t->in.columns.at[g];
        t->groups[g] = g;
        for (uint32_t i = 0; i < 3; i++) {
            cr_assert_eq(
                wi_columns_add(&outs[i]->columns, col->name, &col->type),
                WEIR_OK);
        }
    }
}

void wt_agg_close(struct wt_agg_trial *t)
{
    wt_op_rows_fini(&t->in);
    wt_op_rows_fini(&t->states);
    wt_op_rows_fini(&t->got);
    wt_op_rows_fini(&t->expected);
}

struct wi_agg_params wt_agg_params_of(const struct wt_agg_trial *t,
                                      weir_aggregate_mode mode)
{
    bool final = mode == WEIR_AGGREGATE_FINAL;
    return (struct wi_agg_params){
        .columns = mode == WEIR_AGGREGATE_PARTIAL ? &t->states.columns
                                                  : &t->got.columns,
        .in = final ? &t->states.columns : &t->in.columns,
        .mode = mode,
        .n_groups = t->n_groups,
        .groups = t->groups,
        .n_aggs = t->n_aggs,
        .aggs = final ? t->finals : t->aggs,
        .state_rows = t->state_rows,
    };
}

void wt_agg_run(struct wt_agg_trial *t, weir_aggregate_mode mode, uint64_t seed,
                weir_err code)
{
    const struct wi_agg_params p = wt_agg_params_of(t, mode);
    struct wt_op_rows *in = mode == WEIR_AGGREGATE_FINAL ? &t->states : &t->in;
    struct wt_op_rows *out =
        mode == WEIR_AGGREGATE_PARTIAL ? &t->states : &t->got;
    struct wi_op *op = NULL;
    cr_assert_eq(wi_agg_open(&t->ctx, &p, wt_source(&t->ctx, in, seed), &op),
                 WEIR_OK, "%s", t->ctx.err.message);
    wt_run_op(&t->ctx, op, code, out);
}

void wt_agg_expect(struct wt_agg_trial *t, uint64_t seed)
{
    wt_agg_run(t, WEIR_AGGREGATE_COMPLETE, seed, WEIR_OK);
    wt_op_rows_expect(&t->got, &t->expected, false);
    wt_op_rows_clear(&t->got);
    wt_agg_run(t, WEIR_AGGREGATE_PARTIAL, seed, WEIR_OK);
    wt_agg_run(t, WEIR_AGGREGATE_FINAL, seed, WEIR_OK);
    wt_op_rows_expect(&t->got, &t->expected, false);
    wt_agg_close(t);
}
