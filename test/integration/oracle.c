/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans give what SQLite gives: every case of test/oracle, on clusters of
 * several shapes. A case is a file: the plan, and the same query in SQL.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/oracle_data.h"

#define CASES WEIR_SOURCE_DIR "/test/oracle"

static const struct wt_place shm = {.transport = "shm"};
static const struct wt_place tcp = {.transport = "tcp"};
static const struct wt_place sim = {.transport = "sim", .sim = true};

static int is_case(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot != NULL && strcmp(dot, ".json") == 0;
}

/* The case's plan with the tables of the oracle data. */
static void run_case(struct wt_oracle *o, struct wt_cluster *c,
                     const char *name)
{
    char path[1024];
    json_error_t where;
    (void)snprintf(path, sizeof(path), "%s/%s", CASES, name);
    json_t *file = json_load_file(path, 0, &where);
    cr_assert_not_null(file, "%s:%d: %s", path, where.line, where.text);
    json_t *plan = json_object_get(file, "plan");
    json_t *all = json_loads(wt_oracle_tables(), 0, &where);
    cr_assert_not_null(all, "%s", where.text);
    json_t *tables = json_object();
    size_t i;
    json_t *table;
    json_array_foreach(json_object_get(file, "tables"), i, table)
    {
        const char *t = json_string_value(table);
        (void)json_object_set(tables, t, json_object_get(all, t));
    }
    (void)json_object_set_new(plan, "tables", tables);
    char *text = json_dumps(plan, JSON_COMPACT);
    wt_oracle_check(o, c,
                    &(struct wt_oracle_case){
                        .name = name,
                        .json = text,
                        .sql = json_string_value(json_object_get(file, "sql")),
                        .order = json_is_true(json_object_get(file, "ordered"))
                                     ? WT_ORDER_ALL
                                     : 0});
    free(text);
    json_decref(all);
    json_decref(file);
}

/* Every `every`-th of the cases. */
static void run_each(const struct wt_place *place,
                     const struct wt_cluster_params *params, int every)
{
    static struct wt_cluster c;
    struct wt_oracle o;
    struct dirent **entry = NULL;
    wt_oracle_open(&o);
    wt_oracle_data(&o, 1, WT_FACTS_ROWS);
    int n = scandir(CASES, &entry, is_case, alphasort);
    cr_assert_geq(n, 45, "%s: %d cases", CASES, n);
    wt_cluster_open(&c, place, params);
    for (int i = 0; i < n; i++) {
        if (i % every == 0) {
            run_case(&o, &c, entry[i]->d_name);
        }
        free(entry[i]);
    }
    free(entry);
    wt_cluster_close(&c);
    wt_oracle_close(&o);
}

static void run_all(const struct wt_place *place,
                    const struct wt_cluster_params *params)
{
    run_each(place, params, 1);
}

Test(oracle, one_node_one_worker)
{
    run_all(&shm, &(struct wt_cluster_params){.nodes = 1});
}

Test(oracle, two_nodes_over_shm)
{
    run_all(&shm, &(struct wt_cluster_params){.nodes = 2, .workers = 2});
}

Test(oracle, three_nodes_over_tcp)
{
    run_all(&tcp, &(struct wt_cluster_params){.nodes = 3});
}

Test(oracle, two_nodes_of_two_workers_over_tcp)
{
    run_all(&tcp, &(struct wt_cluster_params){.nodes = 2, .workers = 2});
}

Test(oracle, some_on_five_and_eight_nodes_over_tcp)
{
    run_each(&tcp, &(struct wt_cluster_params){.nodes = 5}, 5);
    run_each(&tcp, &(struct wt_cluster_params){.nodes = 8}, 7);
}

Test(oracle, five_nodes_in_the_simulator)
{
    run_all(&sim, &(struct wt_cluster_params){.nodes = 5, .workers = 2});
}

Test(oracle, eight_nodes_over_shm)
{
    run_all(&shm, &(struct wt_cluster_params){.nodes = 8});
}

/* Rings of two frames of a few rows: everything blocks all the time. */
static void run_tiny(const struct wt_place *place, uint32_t nodes)
{
    const struct wt_cluster_params params = {
        .nodes = nodes,
        .workers = 2,
        .node = {.frame_bytes = 1024, .ring_frames = 2}};
    run_all(place, &params);
}

Test(oracle, tiny_rings)
{
    run_tiny(&sim, 3);
}

Test(oracle, tiny_rings_over_shm)
{
    run_tiny(&shm, 2);
}

Test(oracle, tiny_rings_over_tcp)
{
    run_tiny(&tcp, 2);
}

/* ---- the comparison itself ----------------------------------------------- */

static bool same(const char *left, const char *right, wt_order order)
{
    struct wt_oracle o;
    struct wt_answer a = {0};
    struct wt_answer b = {0};
    char why[WT_ANSWER_WHY_BYTES];
    wt_oracle_open(&o);
    wt_oracle_ask(&o, left, &a);
    wt_oracle_ask(&o, right, &b);
    const bool yes = wt_answer_same(&a, &b, order, why);
    wt_answer_fini(&a);
    wt_answer_fini(&b);
    wt_oracle_close(&o);
    return yes;
}

Test(oracle, a_comparison_looks_at_rows_their_number_and_their_order)
{
    static const char rows[] = "values (1, 'a', 0), (1, 'b', 0), (2, 'c', 1)";
    static const char ties[] = "values (1, 'b', 0), (1, 'a', 0), (2, 'c', 1)";
    static const char down[] = "values (2, 'c', 1), (1, 'b', 0), (1, 'a', 0)";
    static const char twice[] = "values (1, 'a', 0), (2, 'c', 1), (2, 'c', 1)";
    cr_assert(same(rows, rows, WT_ORDER_ALL));
    cr_assert(same(rows, ties, 1u << 0 | 1u << 2));
    cr_assert_not(same(rows, ties, 1u << 0 | 1u << 1));
    cr_assert_not(same(rows, ties, WT_ORDER_ALL));
    cr_assert(same(rows, down, 0));
    cr_assert_not(same(rows, down, 1u << 0));
    cr_assert_not(same(rows, down, 1u << 2));
    cr_assert_not(same(rows, twice, 0));
    cr_assert_not(same(rows, "values (1, 'a', 0), (1, 'b', 0)", 0));
}

/* The kind of numbers that SQLite has not: as text. */
Test(oracle, long_numbers_are_compared_and_added_exactly)
{
    static const char numbers[] =
        "(select column1 collate exact as n from (values ('9'), ('-10'), "
        "('18446744073709551616'), ('18446744073709551615'), ('-9'), ('0')))";
    char text[512];
    (void)snprintf(text, sizeof(text), "select n from %s order by n", numbers);
    cr_assert(same(text,
                   "values (-10), (-9), (0), (9), ('18446744073709551615'), "
                   "('18446744073709551616')",
                   WT_ORDER_ALL));
    (void)snprintf(text, sizeof(text), "select exact_sum(n) from %s", numbers);
    cr_assert(same(text, "values ('36893488147419103221')", 0));
}
