/* SPDX-License-Identifier: Apache-2.0 */
/* Which plans are refused because they would give another answer on two
 * workers than on one, and which are not. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include <weir/plan.h>

/* Tables l(a, b, v) and r(a, b, w), scanned as "l" and "r". */
static weir_plan *new_plan(void)
{
    static const struct weir_series_column left[] = {
        {.name = "a", .format = "i"},
        {.name = "b", .format = "i"},
        {.name = "v", .format = "l"}};
    static const struct weir_series_column right[] = {
        {.name = "a", .format = "i"},
        {.name = "b", .format = "i"},
        {.name = "w", .format = "l"}};
    weir_plan *plan;
    weir_table *table;
    cr_assert_eq(weir_plan_open(&plan, NULL), WEIR_OK);
    cr_assert_eq(weir_table_series_open(left, 3, 10, 0, &table, NULL), WEIR_OK);
    cr_assert_eq(weir_plan_table(plan, "l", table, NULL), WEIR_OK);
    cr_assert_eq(weir_table_series_open(right, 3, 10, 0, &table, NULL),
                 WEIR_OK);
    cr_assert_eq(weir_plan_table(plan, "r", table, NULL), WEIR_OK);
    cr_assert_eq(weir_plan_scan(plan, "l", "l", NULL, 0, NULL), WEIR_OK);
    cr_assert_eq(weir_plan_scan(plan, "r", "r", NULL, 0, NULL), WEIR_OK);
    return plan;
}

static void good(weir_err rc, const struct weir_error *err)
{
    cr_assert_eq(rc, WEIR_OK, "%s", err->message);
}

/* Refused, and the message says what to do. */
static void bad(weir_err rc, const struct weir_error *err, const char *remedy)
{
    cr_assert_eq(rc, WEIR_ERR_ARG);
    cr_assert_not_null(strstr(err->message, remedy), "%s", err->message);
}

/* A shuffle, written "hash a b", "hash/1 a", "range a b", "range/7 a",
 * "gather", "broadcast", or "" for none; returns the name of what gives the
 * rows. */
static const char *shuffle(weir_plan *plan, const char *name, const char *input,
                           const char *how)
{
    char text[64];
    const char *keys[4];
    struct weir_error err;
    struct weir_plan_shuffle_params p = {.input = input, .keys = keys};
    (void)snprintf(text, sizeof(text), "%s", how);
    char *rest = NULL;
    const char *by = strtok_r(text, " ", &rest);
    if (by == NULL) {
        return input;
    }
    const char *seven[] = {"7", "7", "7", "7"};
    const char *three[] = {"3", "3", "3", "3"};
    p.partitioning = by[0] == 'h'   ? WEIR_HASH
                     : by[0] == 'r' ? WEIR_RANGE
                     : by[0] == 'g' ? WEIR_GATHER
                                    : WEIR_BROADCAST;
    p.seed = strcmp(by, "hash/1") == 0;
    p.n_bounds = by[0] == 'r';
    p.bounds = strcmp(by, "range/7") == 0 ? seven : three;
    while ((keys[p.n_keys] = strtok_r(NULL, " ", &rest)) != NULL) {
        p.n_keys++;
    }
    good(weir_plan_shuffle(plan, name, &p, &err), &err);
    return name;
}

/* ---- join ---------------------------------------------------------------- */

static weir_err join(const char *left, const char *right, weir_join_kind kind,
                     struct weir_error *err)
{
    static const char *const keys[] = {"a", "b"};
    weir_plan *plan = new_plan();
    const struct weir_join_params p = {
        .left = shuffle(plan, "ls", "l", left),
        .right = shuffle(plan, "rs", "r", right),
        .kind = kind,
        .left_keys = keys,
        .n_keys = 2,
    };
    weir_err rc = weir_plan_join(plan, "j", &p, err);
    weir_plan_close(plan);
    return rc;
}

Test(plan_spread, a_join_takes_inputs_shuffled_alike_or_a_broadcast)
{
    static const char *const pairs[][2] = {
        {"hash a b", "hash a b"},       {"hash b a", "hash b a"},
        {"hash a", "hash a"},           {"hash/1 b", "hash/1 b"},
        {"range a b", "range a b"},     {"range b", "range b"},
        {"range/7 b a", "range/7 b a"}, {"range v", "broadcast"},
        {"gather", "gather"},           {"", "broadcast"},
        {"hash v", "broadcast"},        {"broadcast", "broadcast"},
        {"gather", "broadcast"},
    };
    struct weir_error err;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        for (int kind = WEIR_JOIN_INNER; kind <= WEIR_JOIN_ANTI; kind++) {
            good(join(pairs[i][0], pairs[i][1], (weir_join_kind)kind, &err),
                 &err);
        }
    }
}

Test(plan_spread, a_join_refuses_matches_on_different_workers)
{
    static const char hash_or_broadcast[] =
        "put above both a shuffle with \"by\": \"hash\", the join's keys in "
        "the same order and one seed, or above \"r";
    static const char range_or_broadcast[] =
        "put above both a shuffle with \"by\": \"range\", the join's keys in "
        "the same order and the same bounds, or above \"r";
    static const struct {
        const char *left;
        const char *right;
        const char *remedy;
    } cases[] = {
        {"", "", hash_or_broadcast},
        {"hash a b", "hash b a", hash_or_broadcast},
        {"hash a", "hash/1 a", hash_or_broadcast},
        {"hash a", "hash b", hash_or_broadcast},
        {"hash a", "hash a b", hash_or_broadcast},
        {"hash v", "hash w", hash_or_broadcast},
        {"hash a", "gather", hash_or_broadcast},
        {"range a", "range/7 a", range_or_broadcast},
        {"range a b", "range b a", range_or_broadcast},
        {"range a", "range b", range_or_broadcast},
        {"range a", "range a b", range_or_broadcast},
        {"range v", "range w", range_or_broadcast},
        {"range a", "hash a", range_or_broadcast},
        {"hash a", "range a", range_or_broadcast},
        {"range a", "", range_or_broadcast},
        {"gather", "hash a",
         "put above \"rs\" a shuffle with \"by\": \"gather\", too, or one with "
         "\"by\": \"broadcast\""},
        {"broadcast", "hash a",
         "put above \"rs\" a shuffle with \"by\": \"broadcast\", too"},
    };
    struct weir_error err;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bad(join(cases[i].left, cases[i].right, WEIR_JOIN_INNER, &err), &err,
            cases[i].remedy);
    }
}

/* What docs/plan.md says about where the inputs of a join may be. Keys are a
 * and b: an input placed by v or w is not placed by keys of the join. */
static bool documented(const char *left, const char *right)
{
    const bool keyed = left[0] == 'h' || left[0] == 'r';
    return strcmp(right, "broadcast") == 0 ||
           (strcmp(left, "gather") == 0 && strcmp(right, "gather") == 0) ||
           (keyed && strcmp(left, right) == 0);
}

Test(plan_spread, a_join_takes_what_the_document_says_and_nothing_else)
{
    static const char *const places[] = {"",          "hash a",    "hash b",
                                         "hash a b",  "hash b a",  "hash/1 a",
                                         "range a",   "range/7 a", "range a b",
                                         "range b a", "gather",    "broadcast"};
    const size_t n = sizeof(places) / sizeof(places[0]);
    struct weir_error err;
    for (size_t i = 0; i < n * n * (WEIR_JOIN_ANTI + 1); i++) {
        const char *left = places[i % n];
        const char *right = places[i / n % n];
        const weir_err rc =
            join(left, right, (weir_join_kind)(i / n / n), &err);
        cr_expect_eq(rc, documented(left, right) ? WEIR_OK : WEIR_ERR_ARG,
                     "left %s, right %s: %s", left, right, err.message);
    }
}

Test(plan_spread, columns_keep_their_values_under_other_names)
{
    static const struct weir_output renamed[] = {{"x", "a"}, {"y", "b"}};
    static const char *const lk[] = {"x", "y"};
    static const char *const rk[] = {"a", "b"};
    struct weir_error err;
    weir_plan *plan = new_plan();
    (void)shuffle(plan, "ls", "l", "hash a b");
    (void)shuffle(plan, "rs", "r", "hash a b");
    good(weir_plan_project(plan, "p", "ls", renamed, 2, &err), &err);
    const struct weir_join_params p = {.left = "p",
                                       .right = "rs",
                                       .left_keys = lk,
                                       .right_keys = rk,
                                       .n_keys = 2};
    good(weir_plan_join(plan, "j", &p, &err), &err);
    /* After an inner join both names have the same value. */
    static const char *const groups[] = {"a", "y"};
    const struct weir_aggregate_params agg = {
        .input = "j", .groups = groups, .n_groups = 2};
    good(weir_plan_aggregate(plan, "g", &agg, &err), &err);
    weir_plan_close(plan);
}

/* ---- aggregate, limit, sort ---------------------------------------------- */

static weir_err aggregate(const char *how, const char *const *groups,
                          uint32_t n, struct weir_error *err)
{
    static const struct weir_output sum = {"s", "sum(v)"};
    weir_plan *plan = new_plan();
    const struct weir_aggregate_params p = {
        .input = shuffle(plan, "ls", "l", how),
        .groups = groups,
        .n_groups = n,
        .aggregates = &sum,
        .n_aggregates = 1,
    };
    weir_err rc = weir_plan_aggregate(plan, "g", &p, err);
    weir_plan_close(plan);
    return rc;
}

Test(plan_spread, an_aggregate_needs_the_rows_of_a_group_together)
{
    static const char *const ab[] = {"a", "b"};
    struct weir_error err;
    good(aggregate("hash a b", ab, 2, &err), &err);
    good(aggregate("hash b", ab, 2, &err), &err);
    good(aggregate("range b", ab, 2, &err), &err);
    good(aggregate("gather", ab, 2, &err), &err);
    good(aggregate("gather", NULL, 0, &err), &err);
    bad(aggregate("", ab, 2, &err), &err, "\"keys\": [a, b] above \"l\"");
    bad(aggregate("hash a b", ab, 1, &err), &err, "\"keys\": [a] above \"ls\"");
    bad(aggregate("range a b", ab, 1, &err), &err,
        "\"keys\": [a] above \"ls\"");
    bad(aggregate("hash a", NULL, 0, &err), &err, "\"gather\" above \"ls\"");
}

Test(plan_spread, the_first_rows_of_each_worker_are_not_those_of_all)
{
    static const struct weir_sort_key key = {.column = "a"};
    const struct weir_sort_params top = {
        .input = "l", .keys = &key, .n_keys = 1, .rows = 5};
    struct weir_error err;
    weir_plan *plan = new_plan();
    good(weir_plan_sort(plan, "top", &top, &err), &err);
    bad(weir_plan_filter(plan, "f", "top", "a > 1", &err), &err,
        "a merge and above it a limit of 5 rows or less");
    bad(weir_plan_limit(plan, "n", "top", 5, 0, &err), &err, "\"gather\"");
    good(weir_plan_merge(plan, "m", "top", &err), &err);
    bad(weir_plan_result(plan, "m", &err), &err, "a limit of 5 rows or less");
    bad(weir_plan_limit(plan, "n", "m", 5, 1, &err), &err,
        "rows 5 and offset 1 need more than the first 5 rows, and the sort "
        "below \"m\" gives no more");
    bad(weir_plan_limit(plan, "n", "m", UINT64_MAX - 1, 1, &err), &err, "more");
    bad(weir_plan_limit(plan, "n", "m", 1, UINT64_MAX - 1, &err), &err, "more");
    good(weir_plan_limit(plan, "n", "m", 4, 1, &err), &err);
    good(weir_plan_result(plan, "n", &err), &err);
    weir_plan_close(plan);
}

Test(plan_spread, broadcast_rows_would_be_counted_once_per_worker)
{
    struct weir_error err;
    weir_plan *plan = new_plan();
    (void)shuffle(plan, "b", "l", "broadcast");
    const struct weir_plan_shuffle_params again = {.input = "b",
                                                   .partitioning = WEIR_GATHER};
    bad(weir_plan_shuffle(plan, "g", &again, &err), &err,
        "the right input of a join");
    static const char *const both[] = {"b", "l2"};
    good(weir_plan_scan(plan, "l2", "l", NULL, 0, &err), &err);
    bad(weir_plan_union(plan, "u", both, 2, &err), &err, "above the union");
    bad(weir_plan_result(plan, "b", &err), &err, "the right input of a join");
    weir_plan_close(plan);
}

Test(plan_spread, a_union_is_shuffled_if_its_inputs_are_alike)
{
    static const char *const both[] = {"x", "y"};
    static const char *const a[] = {"a"};
    static const struct weir_output sum = {"s", "sum(v)"};
    static const char *const pairs[][2] = {{"hash a", "hash a"},
                                           {"hash a", "hash/1 a"},
                                           {"range a", "range a"},
                                           {"range a", "range/7 a"}};
    struct weir_error err;
    const struct weir_aggregate_params agg = {.input = "u",
                                              .groups = a,
                                              .n_groups = 1,
                                              .aggregates = &sum,
                                              .n_aggregates = 1};
    for (int i = 0; i < 4; i++) {
        weir_plan *plan = new_plan();
        good(weir_plan_scan(plan, "l2", "l", NULL, 0, &err), &err);
        (void)shuffle(plan, "x", "l", pairs[i][0]);
        (void)shuffle(plan, "y", "l2", pairs[i][1]);
        good(weir_plan_union(plan, "u", both, 2, &err), &err);
        weir_err rc = weir_plan_aggregate(plan, "g", &agg, &err);
        cr_assert_eq(rc, i % 2 == 0 ? WEIR_OK : WEIR_ERR_ARG);
        weir_plan_close(plan);
    }
}
