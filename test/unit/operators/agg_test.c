/* SPDX-License-Identifier: Apache-2.0 */
/* Hash aggregate. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/agg_trial.h"

TestSuite(agg, .timeout = 60);

static void expect_overflow(struct wt_agg_trial *t)
{
    wt_agg_run(t, WEIR_AGGREGATE_COMPLETE, 0, WEIR_ERR_QUERY_DATA);
    cr_assert_not_null(strstr(t->ctx.err.message, "overflow"), "%s",
                       t->ctx.err.message);
    wt_agg_close(t);
}

/* ---- by hand ------------------------------------------------------------- */

Test(agg, groups_have_counts_sums_and_extremes_without_nulls)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 1, "k:utf8? v:int32?");
    for (int fn = WI_AGG_COUNT_ROWS; fn <= WI_AGG_MAX; fn++) {
        wt_agg_add(&t, (enum wi_agg_fn)fn, 1);
    }
    wt_op_rows_add_all(&t.in, "a 1\n"
                              "- 7\n"
                              "b -\n"
                              "a -\n"
                              "a -4\n"
                              "- 8\n"
                              "\"\" 5\n"
                              "b -");
    wt_op_rows_add_all(&t.expected, "a 3 2 -3 -1.5 -4 1\n"
                                    "b 2 0 - - - -\n"
                                    "- 2 2 15 7.5 7 8\n"
                                    "\"\" 1 1 5 5 5 5");
    wt_agg_expect(&t, 0);
}

Test(agg, without_groups_and_rows_there_is_one_row)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 0, "v:decimal(5,2)?");
    for (int fn = WI_AGG_COUNT_ROWS; fn <= WI_AGG_MAX; fn++) {
        wt_agg_add(&t, (enum wi_agg_fn)fn, 0);
    }
    wt_op_rows_add(&t.expected, "0 0 - - - -");
    wt_agg_expect(&t, 0);
}

Test(agg, with_groups_and_without_rows_there_is_none)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 1, "k:int64");
    wt_agg_add(&t, WI_AGG_COUNT_ROWS, 0);
    wt_agg_expect(&t, 0);
}

Test(agg, without_aggregates_it_gives_the_distinct_groups)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 2, "k:int64? l:bool?");
    wt_op_rows_add_all(&t.in, "1 0\n"
                              "1 1\n"
                              "- -\n"
                              "1 0\n"
                              "1 -\n"
                              "- -\n"
                              "- 1");
    wt_op_rows_add_all(&t.expected, "1 0\n"
                                    "1 1\n"
                                    "- -\n"
                                    "1 -\n"
                                    "- 1");
    wt_agg_expect(&t, 5);
}

Test(agg, averages_of_decimals_round_half_away_from_zero)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 1, "k:int64 v:decimal(9,2) w:decimal(30,8)");
    wt_agg_add(&t, WI_AGG_AVG, 1);
    wt_agg_add(&t, WI_AGG_AVG, 2);
    wt_op_rows_add_all(&t.in, "1 100 1\n"
                              "1 100 2\n"
                              "1 0 0\n"
                              "2 -100 -1\n"
                              "2 -100 -2\n"
                              "2 0 -2\n"
                              "3 1 1\n"
                              "3 0 0\n"
                              "4 -1 -1\n"
                              "4 0 0");
    wt_op_rows_add_all(&t.expected, "1 666667 1\n"
                                    "2 -666667 -2\n"
                                    "3 5000 1\n"
                                    "4 -5000 -1");
    wt_agg_expect(&t, 0);
}

Test(agg, floats_order_not_a_number_above_all)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 1, "k:int64 v:float32");
    wt_agg_add(&t, WI_AGG_MIN, 1);
    wt_agg_add(&t, WI_AGG_MAX, 1);
    wt_op_rows_add_all(&t.in, "1 nan\n"
                              "1 2.5\n"
                              "1 inf\n"
                              "2 nan");
    wt_op_rows_add_all(&t.expected, "1 2.5 nan\n"
                                    "2 nan nan");
    wt_agg_expect(&t, 0);
}

/* Which of the two comes first is chance; -nan is another bit pattern. */
Test(agg, zeros_of_both_signs_are_one_group_called_0)
{
    static const char *const orders[] = {"-0 -0 0\n0 0 -0\n-nan -nan -nan",
                                         "0 0 -0\n-0 -0 0\nnan -nan nan"};
    for (uint32_t i = 0; i < 2; i++) {
        struct wt_agg_trial t;
        wt_agg_open(&t, 1, "k:float64 v:float32 w:float64");
        wt_agg_add(&t, WI_AGG_MIN, 1);
        wt_agg_add(&t, WI_AGG_MAX, 1);
        wt_agg_add(&t, WI_AGG_MIN, 2);
        wt_agg_add(&t, WI_AGG_SUM, 2);
        wt_op_rows_add_all(&t.in, orders[i]);
        wt_op_rows_add_all(&t.expected, "0 0 0 0 0\n"
                                        "nan nan nan nan nan");
        wt_agg_expect(&t, 0);
    }
}

Test(agg, a_sum_may_pass_the_limit_of_its_type_on_the_way)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 0, "v:int64");
    wt_agg_add(&t, WI_AGG_SUM, 0);
    wt_op_rows_add_all(&t.in, "9223372036854775807\n"
                              "1\n"
                              "-1");
    wt_op_rows_add(&t.expected, "9223372036854775807");
    wt_agg_run(&t, WEIR_AGGREGATE_COMPLETE, 0, WEIR_OK);
    wt_op_rows_expect(&t.got, &t.expected, true);
    wt_agg_close(&t);
}

Test(agg, a_sum_of_integers_that_leaves_int64_is_an_error)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 1, "k:utf8 v:int64");
    wt_agg_add(&t, WI_AGG_SUM, 1);
    wt_op_rows_add_all(&t.in, "a 9223372036854775807\n"
                              "a 1");
    expect_overflow(&t);
    wt_agg_open(&t, 0, "v:uint64");
    wt_agg_add(&t, WI_AGG_SUM, 0);
    wt_op_rows_add(&t.in, "9223372036854775808");
    expect_overflow(&t);
}

#define NINES_38 "99999999999999999999999999999999999999"

Test(agg, a_sum_of_decimals_with_more_than_38_digits_is_an_error)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 1, "k:int64 v:decimal(38,0)");
    wt_agg_add(&t, WI_AGG_SUM, 1);
    wt_op_rows_add(&t.in, "1 " NINES_38);
    wt_op_rows_add(&t.in, "1 1");
    expect_overflow(&t);
    wt_agg_open(&t, 0, "v:decimal(38,0)"); /* exceeds 128 bits */
    wt_agg_add(&t, WI_AGG_SUM, 0);
    wt_op_rows_add(&t.in, NINES_38);
    wt_op_rows_add(&t.in, NINES_38);
    wt_op_rows_add(&t.in, NINES_38);
    wt_op_rows_add(&t.in, NINES_38);
    expect_overflow(&t);
    wt_agg_open(&t, 0, "v:decimal(38,0)"); /* scaled by 10^6 */
    wt_agg_add(&t, WI_AGG_AVG, 0);
    wt_op_rows_add(&t.in, NINES_38);
    expect_overflow(&t);
}

Test(agg, types_of_sums_are_wide_and_only_numbers_have_them)
{
    struct wi_type type;
    struct wi_type out;
    struct weir_error err = {0};
    char text[WI_TYPE_TEXT_BYTES];
    cr_assert(wi_type_parse("decimal(9,2)", &type));
    cr_assert_eq(wi_agg_type(WI_AGG_SUM, &type, &out, &err), WEIR_OK);
    cr_assert_str_eq(wi_type_text(&out, text), "decimal(38,2)?");
    cr_assert_eq(wi_agg_type(WI_AGG_AVG, &type, &out, &err), WEIR_OK);
    cr_assert_str_eq(wi_type_text(&out, text), "decimal(38,6)?");
    cr_assert(out.nullable);
    cr_assert(wi_type_parse("utf8", &type));
    cr_assert_eq(wi_agg_type(WI_AGG_SUM, &type, &out, &err), WEIR_ERR_ARG);
    cr_assert_str_eq(err.message, "sum of utf8: a number was expected");
    cr_assert_eq(wi_agg_type(WI_AGG_MAX, &type, &out, &err), WEIR_OK);
    cr_assert_eq(out.kind, WI_TYPE_UTF8);
}

/* ---- memory -------------------------------------------------------------- */

Test(agg, strings_that_are_replaced_do_not_pile_up)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 0, "v:utf8");
    wt_agg_add(&t, WI_AGG_MAX, 0);
    for (uint32_t i = 0; i < 60000; i++) {
        struct wt_value *row = wt_op_rows_new(&t.in);
        cr_assert_gt(asprintf(&row[0].s, "%08u%0*d", i, (int)(i / 60), 0), 0);
    }
    struct wt_value *last = wt_op_rows_new(&t.expected);
    last[0].s = strdup(wt_op_rows_at(&t.in, t.in.n - 1)[0].s);
    t.ctx.mem.limit_bytes = 1 << 20; /* all of them are 30 MB */
    wt_agg_expect(&t, 1);
}

static void fill_distinct(struct wt_agg_trial *t, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct wt_value *row = wt_op_rows_new(&t->in);
        row[0].i = (int64_t)i * 1000003;
        row[1].i = i;
    }
}

Test(agg, over_its_memory_it_fails_and_leaks_nothing)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 1, "k:int64 v:int64");
    wt_agg_add(&t, WI_AGG_SUM, 1);
    fill_distinct(&t, 100000);
    for (uint64_t limit = 1 << 17; limit <= 1 << 21; limit *= 2) {
        t.ctx.mem.limit_bytes = limit;
        wt_agg_run(&t, WEIR_AGGREGATE_COMPLETE, 0, WEIR_ERR_QUERY_MEMORY);
    }
    wt_agg_close(&t);
}

Test(agg, a_partial_one_gives_states_out_before_its_memory_is_full)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 1, "k:int64 v:int64");
    wt_agg_add(&t, WI_AGG_SUM, 1);
    fill_distinct(&t, 200000);
    t.ctx.mem.limit_bytes = 2 << 20;
    wt_agg_run(&t, WEIR_AGGREGATE_PARTIAL, 0, WEIR_OK);
    t.ctx.mem.limit_bytes = 0;
    wt_agg_run(&t, WEIR_AGGREGATE_FINAL, 0, WEIR_OK);
    wt_op_rows_expect(&t.got, &t.in, false);
    wt_agg_close(&t);
}

Test(agg, stop_ends_it_at_any_time)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 1, "k:int64 v:int64");
    wt_agg_add(&t, WI_AGG_SUM, 1);
    fill_distinct(&t, 10000);
    const struct wi_agg_params p =
        wt_agg_params_of(&t, WEIR_AGGREGATE_COMPLETE);
    for (uint32_t steps = 0; steps < 12; steps++) {
        struct wi_op *op = NULL;
        cr_assert_eq(wi_agg_open(&t.ctx, &p, wt_source(&t.ctx, &t.in, 0), &op),
                     WEIR_OK);
        wt_stop_op(&t.ctx, op, steps);
    }
    wt_agg_close(&t);
}
