/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and averages do not depend on which worker has which rows, nor on the
 * order of the rows, also where a sum on the way is larger than any type. */
#include <criterion/criterion.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/agg_trial.h"
#include "test/support/exact_ratio.h"

TestSuite(agg_wide, .timeout = 60);

#define NINES_38 "99999999999999999999999999999999999999"

/* The states of rows that are scattered over so many workers. */
static void run_partials(struct wt_agg_trial *t, uint32_t n_parts,
                         uint64_t seed)
{
    const struct wt_op_rows all = t->in;
    const size_t row_bytes = all.columns.n * sizeof(struct wt_value);
    for (uint32_t part = 0; part < n_parts; part++) {
        uint64_t state = seed;
        t->in = (struct wt_op_rows){.columns = all.columns};
        for (uint32_t i = 0; i < all.n; i++) {
            if (wt_next_random(&state) % n_parts == part) {
                memcpy(wt_op_rows_new(&t->in), wt_op_rows_at(&all, i),
                       row_bytes);
            }
        }
        wt_agg_run(t, WEIR_AGGREGATE_PARTIAL, seed, WEIR_OK);
        free(t->in.at);
    }
    t->in = all;
}

static void shuffle_rows(struct wt_op_rows *rows, uint64_t *state)
{
    for (uint32_t i = rows->n; i > 1; i--) {
        const uint32_t j = (uint32_t)(wt_next_random(state) % i);
        for (uint32_t c = 0; c < rows->columns.n; c++) {
            struct wt_value *a = &wt_op_rows_at(rows, i - 1)[c];
            struct wt_value *b = &wt_op_rows_at(rows, j)[c];
            const struct wt_value v = *a;
            *a = *b;
            *b = v;
        }
    }
}

/* In one step and in two, on 1 to 7 workers, in any order. */
static void expect_everywhere(struct wt_agg_trial *t)
{
    uint64_t state = 77;
    for (uint32_t n_parts = 0; n_parts < 8; n_parts++) {
        wt_op_rows_clear(&t->states);
        wt_op_rows_clear(&t->got);
        if (n_parts == 0) {
            wt_agg_run(t, WEIR_AGGREGATE_COMPLETE, 0, WEIR_OK);
        } else {
            run_partials(t, n_parts, state);
            wt_agg_run(t, WEIR_AGGREGATE_FINAL, state, WEIR_OK);
        }
        wt_op_rows_expect(&t->got, &t->expected, false);
        shuffle_rows(&t->in, &state);
    }
}

/* Every worker's sum is an overflow, or else the last worker's is. */
static void fail_everywhere(struct wt_agg_trial *t)
{
    wt_agg_run(t, WEIR_AGGREGATE_COMPLETE, 0, WEIR_ERR_QUERY_DATA);
    cr_assert_not_null(strstr(t->ctx.err.message, "overflow"), "%s",
                       t->ctx.err.message);
    for (uint32_t n_parts = 1; n_parts < 4; n_parts++) {
        wt_op_rows_clear(&t->states);
        t->ctx.err = (struct weir_error){0};
        run_partials(t, n_parts, 5);
        wt_agg_run(t, WEIR_AGGREGATE_FINAL, 5, WEIR_ERR_QUERY_DATA);
        cr_assert_not_null(strstr(t->ctx.err.message, "overflow"), "%s",
                           t->ctx.err.message);
    }
}

Test(agg_wide, integers_may_pass_64_bits_on_every_worker)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 0, "i:int64 u:uint64");
    wt_agg_add(&t, WI_AGG_SUM, 0);
    wt_agg_add(&t, WI_AGG_AVG, 0);
    wt_agg_add(&t, WI_AGG_AVG, 1);
    for (int i = 0; i < 6; i++) {
        wt_op_rows_add_all(&t.in, "9223372036854775807 18446744073709551615\n"
                                  "-9223372036854775807 18446744073709551615");
    }
    struct wt_value *row = wt_op_rows_new(&t.expected);
    row[2].f = 18446744073709551616.0; /* the nearest */
    expect_everywhere(&t);
    wt_agg_close(&t);
}

Test(agg_wide, an_average_of_extreme_integers_needs_no_sum_that_fits)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 1, "k:int64 i:int64? u:uint64?");
    wt_agg_add(&t, WI_AGG_AVG, 1);
    wt_agg_add(&t, WI_AGG_AVG, 2);
    wt_op_rows_add_all(&t.in, "1 -9223372036854775808 -\n"
                              "1 -9223372036854775808 18446744073709551615\n"
                              "1 -9223372036854775808 18446744073709551615\n"
                              "2 - -");
    struct wt_value *row = wt_op_rows_new(&t.expected);
    row[0].i = 1;
    row[1].f = -9223372036854775808.0;
    row[2].f = 18446744073709551616.0;
    row = wt_op_rows_new(&t.expected);
    row[0].i = 2;
    row[1].null = row[2].null = true;
    expect_everywhere(&t);
    wt_agg_close(&t);
}

/* The sum is no float64: rounded down, it has another average. */
Test(agg_wide, an_average_of_integers_is_rounded_once)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 1, "k:int64 i:int64");
    wt_agg_add(&t, WI_AGG_AVG, 1);
    wt_op_rows_add_all(&t.in, "1 85786511619326851\n"
                              "1 3\n"
                              "1 0");
    struct wt_value *row = wt_op_rows_new(&t.expected);
    row[0].i = 1;
    row[1].f = 28595503873108952.0; /* of ...951 1/3 */
    expect_everywhere(&t);
    wt_agg_close(&t);
}

Test(agg_wide, decimals_may_pass_38_digits_and_128_bits_and_come_back)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 1, "k:int64 v:decimal(38,0)");
    wt_agg_add(&t, WI_AGG_SUM, 1);
    for (int i = 0; i < 10; i++) {
        wt_op_rows_add(&t.in, "1 " NINES_38);
        wt_op_rows_add(&t.in, "1 -" NINES_38);
        wt_op_rows_add(&t.in, "2 " NINES_38);
        wt_op_rows_add(&t.in, "3 -" NINES_38);
    }
    for (int i = 0; i < 9; i++) {
        wt_op_rows_add(&t.in, "2 -" NINES_38);
        wt_op_rows_add(&t.in, "3 " NINES_38);
    }
    wt_op_rows_add(&t.in, "1 17");
    wt_op_rows_add(&t.expected, "1 17");
    wt_op_rows_add(&t.expected, "2 " NINES_38);
    wt_op_rows_add(&t.expected, "3 -" NINES_38);
    expect_everywhere(&t);
    wt_agg_close(&t);
}

Test(agg_wide, a_sum_that_ends_beyond_its_type_is_an_error_everywhere)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 0, "i:int64");
    wt_agg_add(&t, WI_AGG_SUM, 0);
    wt_op_rows_add_all(&t.in, "9223372036854775807\n"
                              "9223372036854775807\n"
                              "-9223372036854775806");
    fail_everywhere(&t);
    wt_agg_close(&t);
    wt_agg_open(&t, 0, "v:decimal(38,2)");
    wt_agg_add(&t, WI_AGG_SUM, 0);
    for (int i = 0; i < 5; i++) {
        wt_op_rows_add(&t.in, NINES_38);
    }
    fail_everywhere(&t);
    wt_agg_close(&t);
    wt_agg_open(&t, 0, "v:decimal(38,5)"); /* scaled by 10 */
    wt_agg_add(&t, WI_AGG_AVG, 0);
    for (int i = 0; i < 5; i++) {
        wt_op_rows_add(&t.in, NINES_38);
    }
    fail_everywhere(&t);
    wt_agg_close(&t);
}

Test(agg_wide, an_average_of_decimals_fits_where_their_sum_does_not)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 1, "k:int64 v:decimal(38,6) w:decimal(38,0)");
    wt_agg_add(&t, WI_AGG_AVG, 1);
    wt_agg_add(&t, WI_AGG_AVG, 2);
    for (int i = 0; i < 7; i++) {
        wt_op_rows_add(&t.in, "1 " NINES_38 " " NINES_38);
        wt_op_rows_add(&t.in, "2 -" NINES_38 " 0");
        wt_op_rows_add(&t.in, "1 " NINES_38 " -" NINES_38);
    }
    wt_op_rows_add(&t.expected, "1 " NINES_38 " 0");
    wt_op_rows_add(&t.expected, "2 -" NINES_38 " 0");
    expect_everywhere(&t);
    wt_agg_close(&t);
}

/* ---- states -------------------------------------------------------------- */

Test(agg_wide, states_are_as_narrow_as_their_sums_allow)
{
    static const struct {
        const char *argument;
        const char *sum;
        bool high;
        uint64_t rows;
    } cases[] = {
        {"int8", "int64?", false, 1 << 30},
        {"uint32?", "int64?", false, 1 << 30},
        {"int64", "decimal(38,0)?", false, 1 << 30},
        {"uint64", "decimal(38,0)?", false, 1 << 30},
        {"float32", "float64?", false, 1 << 30},
        {"decimal(12,2)", "decimal(38,2)?", false, 1 << 30},
        {"decimal(28,2)", "decimal(38,2)?", false, 1 << 30},
        {"decimal(29,2)", "decimal(38,2)?", false, 500000000},
        {"decimal(32,2)", "decimal(38,2)?", false, 500000},
        {"decimal(33,2)", "decimal(38,2)?", true, 1 << 30},
        {"decimal(38,38)", "decimal(38,38)?", true, 1 << 30},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wi_agg_state state[WI_AGG_STATES];
        struct wi_type type;
        char text[WI_TYPE_TEXT_BYTES];
        const uint32_t n = cases[i].high ? 2 : 1;
        cr_assert(wi_type_parse(cases[i].argument, &type));
        cr_assert_eq(wi_agg_state(WI_AGG_SUM, &type, state), n);
        cr_assert_str_eq(wi_type_text(&state[0].type, text), cases[i].sum);
        cr_assert_eq(wi_agg_state(WI_AGG_AVG, &type, state), n + 1);
        cr_assert_str_eq(wi_type_text(&state[0].type, text), cases[i].sum);
        cr_assert_str_eq(state[1].suffix, cases[i].high ? ".high" : ".count");
        cr_assert_str_eq(state[n].suffix, ".count");
        cr_assert_eq(wi_agg_state_rows(WI_AGG_AVG, &type), cases[i].rows, "%s",
                     cases[i].argument);
    }
}

/* A sum of more rows than the state has room for is given out in parts. */
static void expect_parts(uint32_t n_groups, uint32_t n_rows)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, n_groups, n_groups == 0 ? "u:uint32" : "k:int8 u:uint32");
    wt_agg_add(&t, WI_AGG_SUM, n_groups);
    wt_agg_add(&t, WI_AGG_AVG, n_groups);
    wt_agg_add(&t, WI_AGG_COUNT_ROWS, n_groups);
    for (uint32_t i = 0; i < n_rows; i++) {
        wt_op_rows_new(&t.in)[n_groups].i = UINT32_MAX;
    }
    struct wt_value *row = wt_op_rows_new(&t.expected);
    row[n_groups].i = (wi_i128)n_rows * UINT32_MAX;
    row[n_groups + 1].f = UINT32_MAX;
    row[n_groups + 2].i = n_rows;
    t.state_rows = 3 * WI_CHUNK_ROWS;
    wt_agg_run(&t, WEIR_AGGREGATE_PARTIAL, 0, WEIR_OK);
    cr_assert_eq(t.states.n, 4);
    wt_agg_run(&t, WEIR_AGGREGATE_FINAL, 0, WEIR_OK);
    wt_op_rows_expect(&t.got, &t.expected, false);
    wt_agg_close(&t);
}

Test(agg_wide, a_partial_one_gives_states_out_before_their_sums_are_too_large)
{
    expect_parts(0, 10 * WI_CHUNK_ROWS);
    expect_parts(1, 10 * WI_CHUNK_ROWS);
}

/* ---- random -------------------------------------------------------------- */

enum { ROWS = 600, GROUPS = 5 };

/* Of any size, and often the least or the most. */
static wi_i128 random_value(const struct wi_value_range *range, uint64_t *state)
{
    const uint64_t r = wt_next_random(state);
    const wi_u128 v =
        (wi_u128)wt_next_random(state) << 64 | wt_next_random(state);
    if (r % 4 < 2) {
        return r % 4 == 0 ? range->least : range->most;
    }
    const wi_i128 size = (wi_i128)(v % (wi_u128)range->most) >> (r >> 8) % 100;
    return r % 4 == 2 && range->least < 0 ? -size : size;
}

static void expect_sum(struct wt_value *out, const struct wi_agg *agg,
                       const struct wt_exact_sum *sum, uint64_t count)
{
    const uint8_t scale = agg->type.scale;
    if (agg->fn == WI_AGG_SUM) {
        cr_assert(wt_exact_divide(sum, 0, 1, &out->i));
    } else if (agg->type.kind != WI_TYPE_DECIMAL) {
        out->f = wt_exact_float64(sum, count);
    } else {
        cr_assert(
            wt_exact_divide(sum, scale < 6 ? 6u - scale : 0, count, &out->i));
    }
}

/* Every second row of a group takes back what the one before it has, but for
 * a little, so that the sums fit. */
static void take_back(const struct wi_value_range *range,
                      const struct wt_value *old, struct wt_value *v)
{
    v->null = old->null;
    v->i = old->i < 0 ? -old->i - 3 : -old->i + 3;
    v->i = v->i > range->most ? range->most : v->i;
}

static void fill_random(struct wt_agg_trial *t, bool sums, uint64_t seed)
{
    uint64_t state = seed;
    for (uint32_t i = 0; i < ROWS; i++) {
        struct wt_value *row = wt_op_rows_new(&t->in);
        row[0].i = i % GROUPS;
        for (uint32_t c = 1; c < t->in.columns.n; c++) {
            const struct wi_type *type = &t->in.columns.at[c].type;
            const struct wi_value_range range = wi_type_range(type);
            if (sums && i / GROUPS % 2 == 1) {
                take_back(&range, &wt_op_rows_at(&t->in, i - GROUPS)[c],
                          &row[c]);
                continue;
            }
            row[c].i = random_value(&range, &state);
            row[c].null = type->nullable && wt_next_random(&state) % 8 == 0;
        }
    }
}

static void expect_random(struct wt_agg_trial *t)
{
    for (uint32_t g = 0; g < GROUPS; g++) {
        struct wt_value *out = wt_op_rows_new(&t->expected);
        out[0].i = g;
        for (uint32_t a = 0; a < t->n_aggs; a++) {
            struct wt_exact_sum sum = {0, 0};
            uint64_t count = 0;
            for (uint32_t i = g; i < t->in.n; i += GROUPS) {
                const struct wt_value *v =
                    &wt_op_rows_at(&t->in, i)[t->aggs[a].col];
                wt_exact_add(&sum, v->null ? 0 : v->i);
                count += !v->null;
            }
            expect_sum(&out[1 + a], &t->aggs[a], &sum, count);
        }
    }
}

static void random_sums(const char *columns, bool sums, uint64_t seed)
{
    struct wt_agg_trial t;
    wt_agg_open(&t, 1, columns);
    for (uint32_t c = 1; c < t.in.columns.n; c++) {
        wt_agg_add(&t, WI_AGG_AVG, c);
        if (sums) {
            wt_agg_add(&t, WI_AGG_SUM, c);
        }
    }
    fill_random(&t, sums, seed);
    expect_random(&t);
    expect_everywhere(&t);
    wt_agg_close(&t);
}

Test(agg_wide, random_sums_and_averages_are_exact_everywhere)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        random_sums("k:int64 a:int32 b:decimal(18,3)? c:decimal(38,6)? "
                    "d:decimal(33,9)? e:int64?",
                    true, seed);
        random_sums("k:int64 a:int64? b:decimal(38,6)? c:decimal(33,9) "
                    "d:decimal(38,30)? e:uint64 f:uint32",
                    false, seed);
    }
}
