/* SPDX-License-Identifier: Apache-2.0 */
/* Hash aggregate, against a list of groups that is searched from its start. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/op/ops.h"
#include "test/support/operators.h"

TestSuite(agg, .timeout = 60);

enum { MAX_COLUMNS = 12 };

/* Columns of the input: groups first. */
struct trial {
    struct wi_ctx ctx;
    struct wt_rows in;
    struct wt_rows states;
    struct wt_rows got;
    struct wt_rows expected;
    uint32_t n_groups;
    uint32_t groups[MAX_COLUMNS];
    uint32_t n_aggs;
    struct wi_agg aggs[MAX_COLUMNS];
    struct wi_agg finals[MAX_COLUMNS];
};

static const char *const fn_names[] = {"rows", "count", "sum",
                                       "avg",  "min",   "max"};

static void add_column(struct wi_columns *columns, enum wi_agg_fn fn,
                       const struct wi_type *argument, bool partial)
{
    struct wi_type type;
    cr_assert_eq(wi_agg_type(fn, argument, partial, &type, NULL), WEIR_OK);
    cr_assert_eq(wi_columns_add(columns, fn_names[fn], &type), WEIR_OK);
}

static void add_agg(struct trial *t, enum wi_agg_fn fn, uint32_t col)
{
    const struct wi_type *argument = &t->in.columns.at[col].type;
    struct wi_agg agg = {fn, *argument, col};
    t->aggs[t->n_aggs] = agg;
    agg.col = t->states.columns.n;
    t->finals[t->n_aggs++] = agg;
    add_column(&t->got.columns, fn, argument, false);
    add_column(&t->expected.columns, fn, argument, false);
    add_column(&t->states.columns, fn, argument, true);
    if (fn == WI_AGG_AVG) {
        add_column(&t->states.columns, WI_AGG_COUNT, argument, true);
    }
}

static void open_trial(struct trial *t, uint32_t n_groups, const char *in)
{
    memset(t, 0, sizeof(*t));
    wt_ctx_init(&t->ctx, 0);
    wt_rows_init(&t->in, in);
    t->n_groups = n_groups;
    struct wt_rows *outs[] = {&t->got, &t->expected, &t->states};
    for (uint32_t g = 0; g < n_groups; g++) {
        const struct wi_column *col = &t->in.columns.at[g];
        t->groups[g] = g;
        for (uint32_t i = 0; i < 3; i++) {
            cr_assert_eq(
                wi_columns_add(&outs[i]->columns, col->name, &col->type),
                WEIR_OK);
        }
    }
}

static void close_trial(struct trial *t)
{
    wt_rows_fini(&t->in);
    wt_rows_fini(&t->states);
    wt_rows_fini(&t->got);
    wt_rows_fini(&t->expected);
}

static struct wi_agg_params params_of(const struct trial *t,
                                      enum wi_agg_mode mode)
{
    bool final = mode == WI_AGG_FINAL;
    return (struct wi_agg_params){
        .columns =
            mode == WI_AGG_PARTIAL ? &t->states.columns : &t->got.columns,
        .in = final ? &t->states.columns : &t->in.columns,
        .mode = mode,
        .n_groups = t->n_groups,
        .groups = t->groups,
        .n_aggs = t->n_aggs,
        .aggs = final ? t->finals : t->aggs,
    };
}

static enum wi_state run_mode(struct trial *t, enum wi_agg_mode mode,
                              uint64_t seed)
{
    const struct wi_agg_params p = params_of(t, mode);
    struct wt_rows *in = mode == WI_AGG_FINAL ? &t->states : &t->in;
    struct wt_rows *out = mode == WI_AGG_PARTIAL ? &t->states : &t->got;
    struct wi_op *op = NULL;
    cr_assert_eq(wi_agg_open(&t->ctx, &p, wt_source(&t->ctx, in, seed), &op),
                 WEIR_OK, "%s", t->ctx.err.message);
    enum wi_state state = wt_collect(op, out);
    wi_op_close(op);
    cr_assert_eq(t->ctx.mem.held_bytes, 0);
    return state;
}

/* In one step and in two, with the same outcome. */
static void expect_and_close(struct trial *t, uint64_t seed)
{
    cr_assert_eq(run_mode(t, WI_AGG_COMPLETE, seed), WI_DONE, "%s",
                 t->ctx.err.message);
    wt_rows_expect(&t->got, &t->expected, false);
    wt_rows_clear(&t->got);
    cr_assert_eq(run_mode(t, WI_AGG_PARTIAL, seed), WI_DONE, "%s",
                 t->ctx.err.message);
    cr_assert_eq(run_mode(t, WI_AGG_FINAL, seed), WI_DONE, "%s",
                 t->ctx.err.message);
    wt_rows_expect(&t->got, &t->expected, false);
    close_trial(t);
}

static void expect_overflow(struct trial *t)
{
    cr_assert_eq(run_mode(t, WI_AGG_COMPLETE, 0), WI_FAILED);
    cr_assert_eq(t->ctx.err.code, WEIR_ERR_QUERY_DATA);
    cr_assert_not_null(strstr(t->ctx.err.message, "overflow"), "%s",
                       t->ctx.err.message);
    close_trial(t);
}

/* ---- by hand ------------------------------------------------------------- */

Test(agg, groups_have_counts_sums_and_extremes_without_nulls)
{
    struct trial t;
    open_trial(&t, 1, "k:utf8? v:int32?");
    for (int fn = WI_AGG_COUNT_ROWS; fn <= WI_AGG_MAX; fn++) {
        add_agg(&t, (enum wi_agg_fn)fn, 1);
    }
    const char *const rows[] = {"a 1",  "- 7", "b -",    "a -",
                                "a -4", "- 8", "\"\" 5", "b -"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        wt_rows_add(&t.in, rows[i]);
    }
    wt_rows_add(&t.expected, "a 3 2 -3 -1.5 -4 1");
    wt_rows_add(&t.expected, "b 2 0 - - - -");
    wt_rows_add(&t.expected, "- 2 2 15 7.5 7 8");
    wt_rows_add(&t.expected, "\"\" 1 1 5 5 5 5");
    expect_and_close(&t, 0);
}

Test(agg, without_groups_and_rows_there_is_one_row)
{
    struct trial t;
    open_trial(&t, 0, "v:decimal(5,2)?");
    for (int fn = WI_AGG_COUNT_ROWS; fn <= WI_AGG_MAX; fn++) {
        add_agg(&t, (enum wi_agg_fn)fn, 0);
    }
    wt_rows_add(&t.expected, "0 0 - - - -");
    expect_and_close(&t, 0);
}

Test(agg, with_groups_and_without_rows_there_is_none)
{
    struct trial t;
    open_trial(&t, 1, "k:int64");
    add_agg(&t, WI_AGG_COUNT_ROWS, 0);
    expect_and_close(&t, 0);
}

Test(agg, without_aggregates_it_gives_the_distinct_groups)
{
    struct trial t;
    open_trial(&t, 2, "k:int64? l:bool?");
    const char *const rows[] = {"1 0", "1 1", "- -", "1 0",
                                "1 -", "- -", "- 1"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        wt_rows_add(&t.in, rows[i]);
    }
    const char *const distinct[] = {"1 0", "1 1", "- -", "1 -", "- 1"};
    for (size_t i = 0; i < sizeof(distinct) / sizeof(*distinct); i++) {
        wt_rows_add(&t.expected, distinct[i]);
    }
    expect_and_close(&t, 5);
}

Test(agg, averages_of_decimals_round_half_away_from_zero)
{
    struct trial t;
    open_trial(&t, 1, "k:int64 v:decimal(9,2) w:decimal(30,8)");
    add_agg(&t, WI_AGG_AVG, 1);
    add_agg(&t, WI_AGG_AVG, 2);
    wt_rows_add(&t.in, "1 100 1");
    wt_rows_add(&t.in, "1 100 2");
    wt_rows_add(&t.in, "1 0 0");
    wt_rows_add(&t.in, "2 -100 -1");
    wt_rows_add(&t.in, "2 -100 -2");
    wt_rows_add(&t.in, "2 0 -2");
    wt_rows_add(&t.in, "3 1 1");
    wt_rows_add(&t.in, "3 0 0");
    wt_rows_add(&t.in, "4 -1 -1");
    wt_rows_add(&t.in, "4 0 0");
    wt_rows_add(&t.expected, "1 666667 1");
    wt_rows_add(&t.expected, "2 -666667 -2");
    wt_rows_add(&t.expected, "3 5000 1");
    wt_rows_add(&t.expected, "4 -5000 -1");
    expect_and_close(&t, 0);
}

Test(agg, floats_order_not_a_number_above_all)
{
    struct trial t;
    open_trial(&t, 1, "k:int64 v:float32");
    add_agg(&t, WI_AGG_MIN, 1);
    add_agg(&t, WI_AGG_MAX, 1);
    wt_rows_add(&t.in, "1 nan");
    wt_rows_add(&t.in, "1 2.5");
    wt_rows_add(&t.in, "1 inf");
    wt_rows_add(&t.in, "2 nan");
    wt_rows_add(&t.expected, "1 2.5 nan");
    wt_rows_add(&t.expected, "2 nan nan");
    expect_and_close(&t, 0);
}

Test(agg, a_sum_may_pass_the_limit_of_its_type_on_the_way)
{
    struct trial t;
    open_trial(&t, 0, "v:int64");
    add_agg(&t, WI_AGG_SUM, 0);
    wt_rows_add(&t.in, "9223372036854775807");
    wt_rows_add(&t.in, "1");
    wt_rows_add(&t.in, "-1");
    wt_rows_add(&t.expected, "9223372036854775807");
    cr_assert_eq(run_mode(&t, WI_AGG_COMPLETE, 0), WI_DONE);
    wt_rows_expect(&t.got, &t.expected, true);
    close_trial(&t);
}

Test(agg, a_sum_of_integers_that_leaves_int64_is_an_error)
{
    struct trial t;
    open_trial(&t, 1, "k:utf8 v:int64");
    add_agg(&t, WI_AGG_SUM, 1);
    wt_rows_add(&t.in, "a 9223372036854775807");
    wt_rows_add(&t.in, "a 1");
    expect_overflow(&t);
    open_trial(&t, 0, "v:uint64");
    add_agg(&t, WI_AGG_SUM, 0);
    wt_rows_add(&t.in, "9223372036854775808");
    expect_overflow(&t);
}

#define NINES_38 "99999999999999999999999999999999999999"

Test(agg, a_sum_of_decimals_with_more_than_38_digits_is_an_error)
{
    struct trial t;
    open_trial(&t, 1, "k:int64 v:decimal(38,0)");
    add_agg(&t, WI_AGG_SUM, 1);
    wt_rows_add(&t.in, "1 " NINES_38);
    wt_rows_add(&t.in, "1 1");
    expect_overflow(&t);
    open_trial(&t, 0, "v:decimal(38,0)"); /* leaves 128 bits and comes back */
    add_agg(&t, WI_AGG_SUM, 0);
    wt_rows_add(&t.in, NINES_38);
    wt_rows_add(&t.in, NINES_38);
    wt_rows_add(&t.in, NINES_38);
    wt_rows_add(&t.in, NINES_38);
    expect_overflow(&t);
    open_trial(&t, 0, "v:decimal(38,0)"); /* scaled by 10^6 */
    add_agg(&t, WI_AGG_AVG, 0);
    wt_rows_add(&t.in, NINES_38);
    expect_overflow(&t);
}

Test(agg, types_of_sums_are_wide_and_only_numbers_have_them)
{
    struct wi_type type;
    struct wi_type out;
    struct weir_error err = {0};
    char text[WI_TYPE_TEXT_BYTES];
    cr_assert(wi_type_parse("decimal(9,2)", &type));
    cr_assert_eq(wi_agg_type(WI_AGG_SUM, &type, false, &out, &err), WEIR_OK);
    cr_assert_str_eq(wi_type_text(&out, text), "decimal(38,2)?");
    cr_assert_eq(wi_agg_type(WI_AGG_AVG, &type, false, &out, &err), WEIR_OK);
    cr_assert_str_eq(wi_type_text(&out, text), "decimal(38,6)?");
    cr_assert(out.nullable);
    cr_assert_eq(wi_agg_type(WI_AGG_AVG, &type, true, &out, &err), WEIR_OK);
    cr_assert_str_eq(wi_type_text(&out, text), "decimal(38,2)?");
    cr_assert(wi_type_parse("utf8", &type));
    cr_assert_eq(wi_agg_type(WI_AGG_SUM, &type, false, &out, &err),
                 WEIR_ERR_ARG);
    cr_assert_str_eq(err.message, "sum of utf8: a number was expected");
    cr_assert_eq(wi_agg_type(WI_AGG_MAX, &type, false, &out, &err), WEIR_OK);
    cr_assert_eq(out.kind, WI_KIND_UTF8);
}

/* ---- memory -------------------------------------------------------------- */

Test(agg, strings_that_are_replaced_do_not_pile_up)
{
    struct trial t;
    open_trial(&t, 0, "v:utf8");
    add_agg(&t, WI_AGG_MAX, 0);
    for (uint32_t i = 0; i < 60000; i++) {
        struct wt_value *row = wt_rows_new(&t.in);
        cr_assert_gt(asprintf(&row[0].s, "%08u%0*d", i, (int)(i / 60), 0), 0);
    }
    struct wt_value *last = wt_rows_new(&t.expected);
    last[0].s = strdup(wt_rows_at(&t.in, t.in.n - 1)[0].s);
    t.ctx.mem.limit_bytes = 1 << 20; /* all of them are 30 MB */
    expect_and_close(&t, 1);
}

static void fill_distinct(struct trial *t, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct wt_value *row = wt_rows_new(&t->in);
        row[0].i = (int64_t)i * 1000003;
        row[1].i = i;
    }
}

Test(agg, over_its_memory_it_fails_and_leaks_nothing)
{
    struct trial t;
    open_trial(&t, 1, "k:int64 v:int64");
    add_agg(&t, WI_AGG_SUM, 1);
    fill_distinct(&t, 100000);
    for (uint64_t limit = 1 << 17; limit <= 1 << 21; limit *= 2) {
        t.ctx.mem.limit_bytes = limit;
        cr_assert_eq(run_mode(&t, WI_AGG_COMPLETE, 0), WI_FAILED);
        cr_assert_eq(t.ctx.err.code, WEIR_ERR_QUERY_MEMORY);
    }
    close_trial(&t);
}

Test(agg, a_partial_one_gives_states_out_before_its_memory_is_full)
{
    struct trial t;
    open_trial(&t, 1, "k:int64 v:int64");
    add_agg(&t, WI_AGG_SUM, 1);
    fill_distinct(&t, 200000);
    t.ctx.mem.limit_bytes = 2 << 20;
    cr_assert_eq(run_mode(&t, WI_AGG_PARTIAL, 0), WI_DONE, "%s",
                 t.ctx.err.message);
    t.ctx.mem.limit_bytes = 0;
    cr_assert_eq(run_mode(&t, WI_AGG_FINAL, 0), WI_DONE);
    wt_rows_expect(&t.got, &t.in, false);
    close_trial(&t);
}

Test(agg, stop_ends_it_at_any_time)
{
    struct trial t;
    open_trial(&t, 1, "k:int64 v:int64");
    add_agg(&t, WI_AGG_SUM, 1);
    fill_distinct(&t, 10000);
    const struct wi_agg_params p = params_of(&t, WI_AGG_COMPLETE);
    for (uint32_t steps = 0; steps < 12; steps++) {
        struct wi_op *op = NULL;
        struct wi_chunk chunk = {0};
        cr_assert_eq(wi_agg_open(&t.ctx, &p, wt_source(&t.ctx, &t.in, 0), &op),
                     WEIR_OK);
        for (uint32_t i = 0; i < steps; i++) {
            (void)wi_op_step(op, &chunk);
        }
        wi_op_stop(op);
        cr_assert(((struct wt_source *)op->input[0])->stopped);
        cr_assert_eq(wi_op_step(op, &chunk), WI_DONE);
        wi_op_close(op);
        cr_assert_eq(t.ctx.mem.held_bytes, 0);
    }
    close_trial(&t);
}

/* ---- random -------------------------------------------------------------- */

enum { RANDOM_ROWS = 4000 };

/* Groups of the reference: the first input row of each, and of each row. */
struct naive {
    uint32_t first[RANDOM_ROWS];
    uint32_t n;
    uint32_t group[RANDOM_ROWS];
    uint64_t count[RANDOM_ROWS]; /* of the aggregate under way */
};

static bool same_group(const struct trial *t, uint32_t a, uint32_t b)
{
    const struct wt_value *x = wt_rows_at(&t->in, a);
    const struct wt_value *y = wt_rows_at(&t->in, b);
    for (uint32_t g = 0; g < t->n_groups; g++) {
        if (x[g].null != y[g].null) {
            return false;
        }
        if (!x[g].null && (x[g].i != y[g].i || x[g].f != y[g].f ||
                           (x[g].s != NULL && strcmp(x[g].s, y[g].s) != 0))) {
            return false;
        }
    }
    return true;
}

static uint32_t group_of(const struct trial *t, struct naive *naive,
                         uint32_t row)
{
    for (uint32_t g = 0; g < naive->n; g++) {
        if (same_group(t, naive->first[g], row)) {
            return g;
        }
    }
    naive->first[naive->n] = row;
    return naive->n++;
}

static int compare_values(const struct wt_value *a, const struct wt_value *b)
{
    if (a->s != NULL) {
        return strcmp(a->s, b->s);
    }
    if (a->f != b->f) {
        return a->f < b->f ? -1 : 1;
    }
    return (a->i > b->i) - (a->i < b->i);
}

static void take(enum wi_agg_fn fn, struct wt_value *out, uint64_t *count,
                 const struct wt_value *v)
{
    *count += fn == WI_AGG_COUNT_ROWS || !v->null;
    if (v->null || fn <= WI_AGG_COUNT) {
        return;
    }
    if (fn == WI_AGG_SUM || fn == WI_AGG_AVG) {
        out->i += v->i;
        out->f += v->f;
        return;
    }
    int order = *count == 1 ? 1 : compare_values(v, out);
    if (*count == 1 || (fn == WI_AGG_MIN ? order < 0 : order > 0)) {
        free(out->s);
        *out = *v;
        out->s = v->s == NULL ? NULL : strdup(v->s);
    }
}

static void finish(const struct wi_agg *agg, struct wt_value *out,
                   uint64_t count)
{
    if (agg->fn <= WI_AGG_COUNT) {
        out->i = (wi_i128)count;
    } else if (count == 0) {
        out->null = true;
    } else if (agg->fn == WI_AGG_AVG && agg->type.kind != WI_KIND_DECIMAL) {
        out->f = (out->f + (double)out->i) / (double)count;
    } else if (agg->fn == WI_AGG_AVG) {
        wi_i128 n = (wi_i128)count;
        for (uint8_t s = agg->type.scale; s < 6; s++) {
            out->i *= 10;
        }
        out->i = (2 * out->i + (out->i < 0 ? -n : n)) / (2 * n);
    }
}

static void expect_agg(struct trial *t, struct naive *naive, uint32_t a)
{
    const struct wi_agg *agg = &t->aggs[a];
    memset(naive->count, 0, sizeof(naive->count));
    for (uint32_t i = 0; i < t->in.n; i++) {
        uint32_t g = naive->group[i];
        take(agg->fn, &wt_rows_at(&t->expected, g)[t->n_groups + a],
             &naive->count[g], &wt_rows_at(&t->in, i)[agg->col]);
    }
    for (uint32_t g = 0; g < naive->n; g++) {
        finish(agg, &wt_rows_at(&t->expected, g)[t->n_groups + a],
               naive->count[g]);
    }
}

static void expect_naive(struct trial *t)
{
    struct naive naive = {.n = 0};
    for (uint32_t i = 0; i < t->in.n; i++) {
        naive.group[i] = group_of(t, &naive, i);
    }
    for (uint32_t g = 0; g < naive.n; g++) {
        struct wt_value *row = wt_rows_new(&t->expected);
        const struct wt_value *key = wt_rows_at(&t->in, naive.first[g]);
        for (uint32_t k = 0; k < t->n_groups; k++) {
            row[k] = key[k];
            row[k].s = key[k].s == NULL ? NULL : strdup(key[k].s);
        }
    }
    for (uint32_t a = 0; a < t->n_aggs; a++) {
        expect_agg(t, &naive, a);
    }
}

struct shape {
    uint32_t n_groups;
    const char *in;
};

static const struct shape shapes[] = {
    {1, "k:int64? v:int64? w:float64? x:utf8?"},
    {1, "k:utf8? v:decimal(12,2)? w:bool? x:uint64?"},
    {2, "k:int32? l:date? v:decimal(25,3)? w:binary"},
    {2, "k:decimal(30,1)? l:float64? v:int8 w:timestamp(us)?"},
    {0, "v:decimal(12,7)? w:int64? x:utf8?"},
};

static void random_agg(const struct shape *shape, uint64_t spread,
                       uint64_t seed)
{
    struct trial t;
    uint64_t state = seed;
    open_trial(&t, shape->n_groups, shape->in);
    for (uint32_t c = t.n_groups; c < t.in.columns.n; c++) {
        for (int fn = WI_AGG_COUNT_ROWS; fn <= WI_AGG_MAX; fn++) {
            bool number = wi_type_is_number(&t.in.columns.at[c].type);
            bool sums = fn == WI_AGG_SUM || fn == WI_AGG_AVG;
            if (t.n_aggs < MAX_COLUMNS - 4 && (number || !sums)) {
                add_agg(&t, (enum wi_agg_fn)fn, c);
            }
        }
    }
    wt_rows_random(&t.in, RANDOM_ROWS, &state, spread);
    expect_naive(&t);
    expect_and_close(&t, seed);
}

Test(agg, random_aggregates_are_those_of_a_search)
{
    static const uint64_t spreads[] = {3, 20, 200};
    for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
        for (size_t i = 0; i < sizeof(spreads) / sizeof(*spreads); i++) {
            random_agg(&shapes[s], spreads[i], 1 + 10 * s + i);
        }
    }
}

/* Codes of whole numbers: keys that stay, that grow, that leave. */
Test(agg, keys_that_spread_out_keep_their_groups)
{
    struct trial t;
    open_trial(&t, 1, "k:int64? v:int64");
    add_agg(&t, WI_AGG_COUNT_ROWS, 1);
    add_agg(&t, WI_AGG_SUM, 1);
    const uint32_t n = 250000;
    for (uint32_t i = 0; i < n; i++) {
        struct wt_value *row = wt_rows_new(&t.in);
        row[0].null = i % 1000 == 0;
        row[0].i = i % 1000 == 0 ? 0 : i / 2;
        row[1].i = 1;
    }
    for (uint32_t k = 0; k < n / 2; k++) {
        int64_t nulls = (2 * k % 1000 == 0) + ((2 * k + 1) % 1000 == 0);
        struct wt_value *row = wt_rows_new(&t.expected);
        row[0].i = k;
        row[1].i = 2 - nulls;
        row[2].i = 2 - nulls;
    }
    struct wt_value *row = wt_rows_new(&t.expected);
    row[0].null = true;
    row[1].i = n / 1000;
    row[2].i = n / 1000;
    expect_and_close(&t, 9);
}
