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
    wt_oracle_check(o, c, name, text,
                    json_string_value(json_object_get(file, "sql")),
                    json_is_true(json_object_get(file, "ordered")));
    free(text);
    json_decref(all);
    json_decref(file);
}

static void run_all(const struct wt_place *place,
                    const struct wt_cluster_params *params)
{
    static struct wt_cluster c;
    struct wt_oracle o;
    struct dirent **entry = NULL;
    wt_oracle_open(&o);
    wt_oracle_data(&o, 1);
    int n = scandir(CASES, &entry, is_case, alphasort);
    cr_assert_geq(n, 22, "%s: %d cases", CASES, n);
    wt_cluster_open(&c, place, params);
    for (int i = 0; i < n; i++) {
        run_case(&o, &c, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    wt_cluster_close(&c);
    wt_oracle_close(&o);
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

Test(oracle, five_nodes_in_the_simulator)
{
    run_all(&sim, &(struct wt_cluster_params){.nodes = 5, .workers = 2});
}

Test(oracle, eight_nodes_over_shm)
{
    run_all(&shm, &(struct wt_cluster_params){.nodes = 8});
}

/* Rings of two frames of a few rows: everything blocks all the time. */
Test(oracle, tiny_rings)
{
    struct wt_cluster_params params = {
        .nodes = 3,
        .workers = 2,
        .node = {.frame_bytes = 1024, .ring_frames = 2}};
    run_all(&sim, &params);
}

Test(oracle, tiny_rings_over_shm)
{
    struct wt_cluster_params params = {
        .nodes = 2,
        .workers = 2,
        .node = {.frame_bytes = 1024, .ring_frames = 2}};
    run_all(&shm, &params);
}
