/* SPDX-License-Identifier: Apache-2.0 */
/* Runs are interleaved; medians, ratios and both reports say the same. */
#include "bench/lib/series.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <jansson.h>

#include "core/base/err.h"

static char order[64];

/* A: 1 2 3 ... B: 2 4 6 ..., by round. */
static weir_err fake_run(const char *name, const struct wb_plan_params *params,
                         double *seconds_out, struct weir_error *err)
{
    (void)params;
    (void)err;
    size_t n = strlen(order);
    order[n] = name[0];
    double round = (double)(n / 3 + 1);
    *seconds_out = strcmp(name, "sockets") == 0 ? 2 * round : round;
    if (strcmp(name, "limit") == 0) {
        *seconds_out = round / 2;
    }
    return WEIR_OK;
}

static weir_err fail_run(const char *name, const struct wb_plan_params *params,
                         double *seconds_out, struct weir_error *err)
{
    (void)name;
    (void)params;
    (void)seconds_out;
    return wi_fail(err, WEIR_ERR_INTEGRITY, "a row was lost");
}

static struct wb_series make_series(void)
{
    return (struct wb_series){
        .params = {.nodes = 8, .workers = 1, .rows_per_node = 1000},
        .cores = 2,
        .repeat = 3,
        .n = 3,
        .opponents = {{.name = "shm", .run = fake_run},
                      {.name = "sockets", .run = fake_run},
                      {.name = "limit", .run = fake_run}},
    };
}

Test(series, runs_are_interleaved)
{
    struct wb_series s = make_series();
    cr_assert_eq(wb_series_run(&s, NULL, NULL), WEIR_OK);
    cr_assert_str_eq(order, "sslsslssl");
    cr_assert(s.opponents[1].seconds.median == 4.0);
    cr_assert(s.opponents[1].seconds.min == 2.0);
    cr_assert(s.opponents[1].seconds.max == 6.0);
}

Test(series, a_failure_ends_it_and_names_the_opponent)
{
    struct wb_series s = make_series();
    struct weir_error err = {.code = WEIR_OK};
    s.opponents[1].run = fail_run;
    cr_assert_eq(wb_series_run(&s, NULL, &err), WEIR_ERR_INTEGRITY);
    cr_assert_str_eq(err.message, "sockets: a row was lost");
}

Test(series, refuses_no_opponents)
{
    struct wb_series s = make_series();
    s.n = 0;
    cr_assert_eq(wb_series_run(&s, NULL, NULL), WEIR_ERR_ARG);
}

Test(series, core_nanoseconds_count_cores_in_use)
{
    struct wb_series s = make_series();
    /* 1 ms x 2 cores / (8 nodes x 1000 rows x 2 stages) */
    cr_assert_float_eq(wb_series_core_ns(&s, 1e-3), 125.0, 1e-9);
    s.cores = 64; /* 8 of them can be busy */
    cr_assert_float_eq(wb_series_core_ns(&s, 1e-3), 500.0, 1e-9);
}

static double number_at(json_t *o, const char *a, const char *b)
{
    json_t *v = json_object_get(json_object_get(o, a), b);
    cr_assert(json_is_real(v), "%s.%s is missing", a, b);
    return json_real_value(v);
}

Test(series, json_has_results_and_ratios)
{
    struct wb_series s = make_series();
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    cr_assert_eq(wb_series_run(&s, NULL, NULL), WEIR_OK);
    cr_assert_eq(wb_series_print_json(&s, out, NULL), WEIR_OK);
    (void)fclose(out);
    json_t *o = json_loads(text, 0, NULL);
    cr_assert_not_null(o, "%s", text);
    json_t *results = json_object_get(o, "results");
    cr_assert_eq(json_array_size(results), 3);
    json_t *one = json_array_get(results, 1);
    cr_assert_str_eq(json_string_value(json_object_get(one, "name")),
                     "sockets");
    cr_assert(json_is_true(json_object_get(one, "rows_ok")));
    cr_assert(json_real_value(json_object_get(one, "median_s")) == 4.0);
    cr_assert_eq(json_integer_value(json_object_get(o, "rows_per_node")), 1000);
    cr_assert_float_eq(number_at(o, "ratios", "sockets/shm"), 2.0, 1e-9);
    cr_assert_float_eq(number_at(o, "ratios", "shm/limit"), 2.0, 1e-9);
    cr_assert_null(json_object_get(json_object_get(o, "ratios"), "mpi/shm"));
    json_decref(o);
    free(text);
}

Test(series, text_says_wins_and_losses_alike)
{
    struct wb_series s = make_series();
    char *text = NULL;
    size_t bytes = 0;
    cr_assert_eq(wb_series_run(&s, NULL, NULL), WEIR_OK);
    s.opponents[2].name = "tcp"; /* half of shm's time */
    FILE *out = open_memstream(&text, &bytes);
    wb_series_print(&s, out);
    (void)fclose(out);
    cr_assert_not_null(
        strstr(text, "shm wins  against sockets : 2.00 times as fast"), "%s",
        text);
    cr_assert_not_null(
        strstr(text, "shm LOSES against tcp     : 0.50 times as fast"), "%s",
        text);
    free(text);
}
