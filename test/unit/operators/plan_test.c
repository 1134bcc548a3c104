/* SPDX-License-Identifier: Apache-2.0 */
/* Plans built by calls: what a failed call leaves, what the plan adds by
 * itself, how it is printed; and large plans from JSON. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/plan.h>
#include <weir/run.h>

#include "operators/plan/agg_text.h"
#include "operators/plan/partitioning.h"

static const struct weir_series_column columns[] = {
    {.name = "no", .format = "i"}, {.name = "price", .format = "d:8,2"}};

static weir_plan *new_plan(void)
{
    weir_plan *plan;
    weir_table *table;
    cr_assert_eq(weir_plan_open(&plan, NULL), WEIR_OK);
    cr_assert_eq(weir_table_series_open(columns, 2, 10, 0, &table, NULL),
                 WEIR_OK);
    cr_assert_eq(weir_plan_table(plan, "t", table, NULL), WEIR_OK);
    cr_assert_eq(weir_plan_scan(plan, "s", "t", NULL, 0, NULL), WEIR_OK);
    return plan;
}

static void expect(weir_err rc, const struct weir_error *err,
                   const char *message)
{
    cr_assert_lt(rc, 0);
    cr_assert_eq(rc, err->code);
    cr_assert_str_eq(err->message, message, "%s", err->message);
}

Test(plan, messages_of_calls_name_the_operator_and_the_field)
{
    struct weir_error err;
    weir_plan *plan = new_plan();
    expect(weir_plan_filter(plan, "f", "s", NULL, &err), &err,
           "filter \"f\", where: an expression was expected");
    expect(weir_plan_filter(plan, "s", "s", "true", &err), &err,
           "filter, name: another operator is called \"s\"");
    expect(weir_plan_filter(plan, "", "s", "true", &err), &err,
           "filter, name: a name of 1..63 bytes was expected, found 0");
    expect(weir_plan_limit(plan, "l", "x", 1, 0, &err), &err,
           "limit \"l\", input: no operator \"x\"; there is s");
    expect(weir_plan_merge(plan, "m", "x", &err), &err,
           "merge \"m\", input: no operator \"x\"; there is s");
    expect(weir_plan_result(plan, "x", &err), &err,
           "result: no operator \"x\"; there is s");
    weir_plan_close(plan);
}

Test(plan, a_call_that_failed_changed_nothing)
{
    static const struct weir_output twice[] = {{"x", "sum(no + 1)"},
                                               {"x", "max(price)"}};
    const struct weir_aggregate_params p = {.input = "s",
                                            .mode = WEIR_AGGREGATE_PARTIAL,
                                            .aggregates = twice,
                                            .n_aggregates = 2};
    struct weir_error err;
    weir_plan *plan = new_plan();
    expect(weir_plan_aggregate(plan, "a", &p, &err), &err,
           "aggregate \"a\", aggregates[1]: two columns would be called "
           "\"x\"");
    cr_assert_eq(weir_plan_operators(plan), 1u);
    cr_assert_eq(weir_plan_filter(plan, "a", "s", "no > 1", NULL), WEIR_OK);
    weir_plan_close(plan);
}

Test(plan, an_operator_is_the_input_of_one_other)
{
    struct weir_error err;
    weir_plan *plan = new_plan();
    cr_assert_eq(weir_plan_filter(plan, "f", "s", "no > 1", NULL), WEIR_OK);
    cr_assert_eq(weir_plan_result(plan, "s", &err), WEIR_ERR_DUPLICATE);
    cr_assert_eq(weir_plan_result(plan, "f", NULL), WEIR_OK);
    cr_assert_eq(weir_plan_result(plan, "f", &err), WEIR_ERR_DUPLICATE);
    cr_assert_eq(weir_plan_filter(plan, "g", "f", "no > 1", &err),
                 WEIR_ERR_DUPLICATE);
    weir_plan_close(plan);
}

Test(plan, final_must_say_what_partial_said)
{
    static const struct weir_output part = {"x", "sum( price )"};
    static const struct weir_output other = {"x", "max(price)"};
    static const struct weir_output same = {"x", "SUM (price)"};
    struct weir_aggregate_params p = {.input = "s",
                                      .mode = WEIR_AGGREGATE_PARTIAL,
                                      .aggregates = &part,
                                      .n_aggregates = 1};
    struct weir_error err;
    weir_plan *plan = new_plan();
    cr_assert_eq(weir_plan_aggregate(plan, "p", &p, NULL), WEIR_OK);
    const struct weir_plan_shuffle_params gather = {
        .input = "p", .partitioning = WEIR_GATHER};
    cr_assert_eq(weir_plan_shuffle(plan, "g", &gather, NULL), WEIR_OK);
    p.input = "g";
    p.mode = WEIR_AGGREGATE_FINAL;
    p.aggregates = &other;
    expect(weir_plan_aggregate(plan, "f", &p, &err), &err,
           "aggregate \"f\", aggregates[0]: \"x\" is \"max(price)\" here and "
           "\"sum( price )\" in the partial aggregate \"p\"; both must say the "
           "same");
    p.aggregates = &same;
    cr_assert_eq(weir_plan_aggregate(plan, "f", &p, NULL), WEIR_OK);
    weir_plan_close(plan);
}

/* In whatever order weir_partitioning is: values without a word are refused. */
Test(plan, partitionings_are_those_with_a_word)
{
    static const char *const keys[] = {"no"};
    static const char *const bounds[] = {"5"};
    struct weir_plan_shuffle_params p = {.input = "s"};
    struct weir_error err;
    uint32_t taken = 0;
    for (int by = -1; by < 32; by++) {
        const bool keyed = by == WEIR_HASH || by == WEIR_RANGE;
        weir_plan *plan = new_plan();
        p.partitioning = (weir_partitioning)by;
        p.keys = keyed ? keys : NULL;
        p.n_keys = keyed ? 1 : 0;
        p.bounds = by == WEIR_RANGE ? bounds : NULL;
        p.n_bounds = by == WEIR_RANGE ? 1 : 0;
        const struct wi_partitioning *known =
            wi_partitioning_of(p.partitioning);
        weir_err rc = weir_plan_shuffle(plan, "x", &p, &err);
        if (known == NULL) {
            char text[160];
            (void)snprintf(text, sizeof(text),
                           "shuffle \"x\", by: one of hash, range, "
                           "round_robin, random, broadcast, gather was "
                           "expected, found %d",
                           by);
            expect(rc, &err, text);
        } else {
            cr_assert_eq(rc, WEIR_OK, "%s", err.message);
            cr_assert_eq(known->id, p.partitioning);
            cr_assert_str_eq(known->word, wi_partitioning_words[taken++]);
        }
        weir_plan_close(plan);
    }
    cr_assert_eq(taken, 6u);
    cr_assert_null(wi_partitioning_of(WEIR_VECTOR));
    cr_assert_null(wi_partitioning_words[taken]);
}

Test(plan, the_tree_shows_what_the_plan_adds_by_itself)
{
    static const char *const groups[] = {"no"};
    static const struct weir_output sum = {"x", "sum(price * 2)"};
    static const struct weir_sort_key by = {.column = "x", .descending = 1};
    const struct weir_plan_shuffle_params hash = {
        .input = "s", .partitioning = WEIR_HASH, .keys = groups, .n_keys = 1};
    const struct weir_aggregate_params agg = {.input = "h",
                                              .groups = groups,
                                              .n_groups = 1,
                                              .aggregates = &sum,
                                              .n_aggregates = 1};
    const struct weir_sort_params sort = {
        .input = "a", .keys = &by, .n_keys = 1};
    char *text;
    weir_plan *plan = new_plan();
    cr_assert_eq(weir_plan_shuffle(plan, "h", &hash, NULL), WEIR_OK);
    cr_assert_eq(weir_plan_aggregate(plan, "a", &agg, NULL), WEIR_OK);
    cr_assert_eq(weir_plan_sort(plan, "o", &sort, NULL), WEIR_OK);
    cr_assert_eq(weir_plan_explain(plan, WEIR_EXPLAIN_TEXT, &text, NULL),
                 WEIR_ERR_STATE);
    cr_assert_eq(weir_plan_result(plan, "o", NULL), WEIR_OK);
    cr_assert_eq(weir_plan_explain(plan, WEIR_EXPLAIN_TEXT, &text, NULL),
                 WEIR_OK);
    cr_assert_str_eq(text,
                     "merge \"o\": by x desc [on one worker]\n"
                     "└─ sort \"o\": by x desc [by hash of no]\n"
                     "   └─ aggregate \"a\": complete, sum(price * 2) by no "
                     "[by hash of no]\n"
                     "      └─ project \"a\": arguments of \"a\" "
                     "[by hash of no]\n"
                     "         └─ shuffle \"h\": by hash of no "
                     "[by hash of no]\n"
                     "            └─ scan \"s\": of t [anywhere]\n"
                     "columns: no int32, x decimal(38,2)?\n",
                     "%s", text);
    free(text);
    weir_plan_close(plan);
}

/* ---- aggregates as text -------------------------------------------------- */

Test(agg_text, reads_a_function_of_one_expression)
{
    struct wi_agg_text t;
    cr_assert(wi_agg_read(" Sum ( a * (b + 1) ) ", &t));
    cr_assert_eq(t.fn, WI_AGG_SUM);
    cr_assert_eq(t.n_bytes, strlen("a * (b + 1)"));
    cr_assert(wi_agg_read("count( * )", &t));
    cr_assert_eq(t.fn, WI_AGG_COUNT_ROWS);
    cr_assert(wi_agg_read("min(')' || \"a)b\")", &t));
    cr_assert_eq(t.fn, WI_AGG_MIN);
}

Test(agg_text, refuses_everything_else)
{
    static const char *const texts[] = {
        "",        "sum",        "sum(",      "sum()", "sum(*)",
        "sum(a))", "sum(a) + 1", "median(a)", "sum a", "sum(a) + sum(b)",
    };
    struct wi_agg_text t;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cr_assert_not(wi_agg_read(texts[i], &t), "%s", texts[i]);
    }
}

/* ---- large JSON ---------------------------------------------------------- */

static FILE *to;
static char *json;
static size_t json_bytes;

static void begin_json(const char *tables)
{
    to = open_memstream(&json, &json_bytes);
    (void)fprintf(to, "{\"weir\": 1, \"tables\": {%s}, \"operators\": [",
                  tables);
}

static weir_err read_json(const char *result, weir_plan **plan,
                          struct weir_error *err)
{
    (void)fprintf(to, "], \"result\": \"%s\"}", result);
    (void)fclose(to);
    weir_err rc = weir_plan_read(json, json_bytes, NULL, plan, err);
    free(json);
    return rc;
}

/* A chain of one kind above a scan, written from its end. */
static weir_err chain_of(const char *kind, uint32_t n, weir_plan **plan,
                         struct weir_error *err)
{
    char last[16];
    begin_json("\"t\": {\"rows\": [[1]], \"columns\": "
               "[{\"name\": \"n\", \"type\": \"int64\"}]}");
    for (uint32_t i = n - 1; i > 0; i--) {
        (void)fprintf(to, "{\"name\": \"f%u\", \"input\": \"f%u\", %s}, ", i,
                      i - 1, kind);
    }
    (void)fputs("{\"name\": \"f0\", \"op\": \"scan\", \"table\": \"t\"}", to);
    (void)snprintf(last, sizeof(last), "f%u", n - 1);
    return read_json(last, plan, err);
}

static weir_err chain(uint32_t n, weir_plan **plan, struct weir_error *err)
{
    return chain_of("\"op\": \"filter\", \"where\": \"n > 0\"", n, plan, err);
}

Test(plan_json, a_plan_of_a_thousand_operators_is_read)
{
    struct weir_error err;
    weir_plan *plan = NULL;
    char *text = NULL;
    cr_assert_eq(chain(1000, &plan, &err), WEIR_OK, "%s", err.message);
    cr_assert_eq(weir_plan_operators(plan), 1001u); /* and a gather */
    cr_assert_eq(weir_plan_explain(plan, WEIR_EXPLAIN_TEXT, &text, NULL),
                 WEIR_OK);
    free(text);
    weir_plan_close(plan);
}

Test(plan_json, too_many_operators_are_refused)
{
    struct weir_error err;
    weir_plan *plan = NULL;
    expect(chain(WEIR_PLAN_OPERATORS + 1, &plan, &err), &err,
           "line 1, column 105: $.operators: 4097 operators are over the 4096 "
           "that a plan can "
           "have");
}

/* A node takes 1024 open shuffles: those of the plan, with that of its result,
 * and the one that ends the run. */
Test(plan_json, as_many_shuffles_as_a_node_takes)
{
    static const char shuffle[] =
        "\"op\": \"shuffle\", \"by\": \"hash\", \"keys\": [\"n\"]";
    struct weir_error err;
    weir_plan *plan = NULL;
    cr_assert_eq(chain_of(shuffle, WEIR_PLAN_SHUFFLES, &plan, &err), WEIR_OK,
                 "%s", err.message);
    cr_assert_eq(weir_run_shuffles(plan), 1024u);
    weir_plan_close(plan);
    expect(chain_of(shuffle, WEIR_PLAN_SHUFFLES + 1, &plan, &err), &err,
           "line 1, column 82853: $.result: 1024 shuffles are over the 1023 "
           "that a plan can have, with "
           "that of its result");
}

Test(plan_json, ten_megabytes_of_rows_are_read)
{
    struct weir_error err;
    weir_plan *plan = NULL;
    to = open_memstream(&json, &json_bytes);
    (void)fputs("{\"weir\": 1, \"tables\": {\"t\": {\"columns\":"
                " [{\"name\": \"n\", \"type\": \"int64\"}, {\"name\": \"s\", "
                "\"type\": \"utf8\"}], \"rows\": [[0, \"x\"]",
                to);
    while (ftell(to) < 10 << 20) {
        (void)fputs(", [1234567, \"some text that is there many times\"]", to);
    }
    (void)fputs("]}}, \"operators\": [{\"name\": \"s\", \"op\": \"scan\", "
                "\"table\": \"t\"}",
                to);
    cr_assert_eq(read_json("s", &plan, &err), WEIR_OK, "%s", err.message);
    weir_plan_close(plan);
}

Test(plan_json, brackets_without_end_are_refused)
{
    struct weir_error err;
    weir_plan *plan = NULL;
    enum { DEEP = 100000 };
    char *text = malloc(DEEP);
    memset(text, '[', DEEP);
    cr_assert_eq(weir_plan_read(text, DEEP, NULL, &plan, &err), WEIR_ERR_DATA);
    cr_assert_not_null(strstr(err.message, "depth"), "%s", err.message);
    free(text);
}

Test(plan, explain_has_a_line_per_operator_whatever_its_name_is)
{
    static const struct weir_output output = {"x\ny", "no"};
    struct weir_error err = {.message = ""};
    char *text = NULL;
    weir_plan *plan = new_plan();
    cr_assert_eq(weir_plan_project(plan, "p\nq", "s", &output, 1, &err),
                 WEIR_OK, "%s", err.message);
    cr_assert_eq(weir_plan_result(plan, "p\nq", &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_plan_explain(plan, WEIR_EXPLAIN_TEXT, &text, &err),
                 WEIR_OK);
    cr_expect_not_null(strstr(text, "project \"p q\": "), "%s", text);
    cr_expect_not_null(strstr(text, "columns: x y "), "%s", text);
    free(text);
    cr_assert_eq(weir_plan_explain(plan, WEIR_EXPLAIN_DOT, &text, &err),
                 WEIR_OK);
    cr_expect_not_null(strstr(text, "project p q\\n"), "%s", text);
    free(text);
    weir_plan_close(plan);
}
