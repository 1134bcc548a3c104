/* SPDX-License-Identifier: Apache-2.0 */
/* A query plan in C calls: numbers 0 .. 99999 grouped by their last digit, and
 * the sum of each group. One node with two workers; on many nodes each of them
 * would do the same. */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <weir/plan.h>
#include <weir/run.h>
#include <weir/weir.h>

enum { NUMBERS = 100000, DIGITS = 10 };
static struct weir_error why;

static void check(weir_err rc)
{
    if (rc != WEIR_OK) {
        errx(1, "%s: %s", weir_err_name(rc), why.message);
    }
}

static weir_plan *make_plan(void)
{
    const struct weir_series_column number = {.name = "number",
                                              .format = "l",
                                              .kind = WEIR_SERIES_SEQUENCE,
                                              .step = 1};
    const struct weir_output outputs[] = {{"digit", "number % 10"},
                                          {"number", "number"}};
    const struct weir_output total = {"total", "sum(number)"};
    const char *const digit = "digit";
    struct weir_aggregate_params sums = {.input = "digits",
                                         .mode = WEIR_AGGREGATE_PARTIAL,
                                         .groups = &digit,
                                         .n_groups = 1,
                                         .aggregates = &total,
                                         .n_aggregates = 1};
    const struct weir_plan_shuffle_params by_digit = {.input = "parts",
                                                      .partitioning = WEIR_HASH,
                                                      .keys = &digit,
                                                      .n_keys = 1};
    weir_plan *plan;
    weir_table *table;
    check(weir_plan_open(&plan, &why));
    check(weir_table_series_open(&number, 1, NUMBERS, 1, &table, &why));
    check(weir_plan_table(plan, "numbers", table, &why));
    check(weir_plan_scan(plan, "scan", "numbers", NULL, 0, &why));
    check(weir_plan_project(plan, "digits", "scan", outputs, 2, &why));
    check(weir_plan_aggregate(plan, "parts", &sums, &why));
    check(weir_plan_shuffle(plan, "by_digit", &by_digit, &why));
    sums.input = "by_digit";
    sums.mode = WEIR_AGGREGATE_FINAL;
    check(weir_plan_aggregate(plan, "sums", &sums, &why));
    check(weir_plan_result(plan, "sums", &why));
    return plan;
}

/* Called on the first node with batches of the answer. */
static weir_err take(void *arg, const struct ArrowArray *batch,
                     struct weir_error *err)
{
    int64_t *rows = arg;
    const int64_t *digit = batch->children[0]->buffers[1];
    const int64_t *total = batch->children[1]->buffers[1];
    (void)err;
    for (int64_t i = 0; i < batch->length; i++) {
        int64_t n = NUMBERS / DIGITS;
        if (total[i] != n * digit[i] + DIGITS * (n * (n - 1) / 2)) {
            errx(1, "digit %" PRId64 " gives %" PRId64, digit[i], total[i]);
        }
        printf("%" PRId64 ": %" PRId64 "\n", digit[i], total[i]);
    }
    *rows += batch->length;
    return WEIR_OK;
}

int main(void)
{
    const struct weir_node_params params = {.workers = 2, .max_members = 1};
    weir_node *node;
    weir_run *run;
    int64_t rows = 0;
    weir_plan *plan = make_plan();
    check(weir_node_open(&params, &node, &why));
    check(weir_node_join_seed(node, NULL, 1, WEIR_FOREVER, &why));
    const struct weir_run_params run_params = {
        .query_id = 1, .rows = take, .rows_arg = &rows};
    check(weir_run_open(node, plan, &run_params, &run, &why));
    check(weir_run_wait(run, &why));
    weir_run_close(run);
    weir_plan_close(plan);
    weir_node_close(node);
    return rows == DIGITS ? 0 : 1;
}
