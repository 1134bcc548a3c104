/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two queries of the paper (bench/plans) give what SQLite gives: over the
 * files of `weir gen chbench`, and over the same rows computed in memory.
 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chbench/chbench.h"
#include "test/support/oracle.h"

enum { TYPE_BYTES = 48, COMMAND_BYTES = 1024 };

static const struct wt_place shm = {.transport = "shm"};
static const struct wt_place tcp = {.transport = "tcp"};
static const struct wt_place sim = {.transport = "sim", .sim = true};

/* In SQLite an amount is an integer, in cents, and times are text. */
static const char join_sql[] =
    "select ol_o_id, ol_w_id, ol_d_id, sum(ol_amount) as revenue, o_entry_d "
    "from order_line, orders, new_order, customer "
    "where o_entry_d > '2013-07-01 00:00:00' and c_id = o_c_id "
    "and c_w_id = o_w_id and c_d_id = o_d_id and no_w_id = o_w_id "
    "and no_d_id = o_d_id and no_o_id = o_id and ol_w_id = o_w_id "
    "and ol_d_id = o_d_id and ol_o_id = o_id and c_state like 'A%' "
    "group by ol_o_id, ol_w_id, ol_d_id, o_entry_d "
    "having sum(ol_amount) > 8000000 order by revenue desc, o_entry_d";

/* The average amount has six digits after the point, rounded. */
static const char aggregation_sql[] =
    "select ol_number, sum(ol_quantity), sum(ol_amount), "
    "sum(ol_quantity) * 1.0 / count(*), "
    "(2 * sum(ol_amount) * 10000 + count(*)) / (2 * count(*)), count(*) "
    "from order_line where ol_delivery_d > '2013-07-01 00:00:00' "
    "group by ol_number order by sum(ol_quantity) desc";

static const char *const tables[] = {"customer", "orders", "new_order",
                                     "order_line"};
enum { N_TABLES = sizeof(tables) / sizeof(tables[0]), COLUMNS = 32 };

/* As plans write it. */
static void type_of(const struct ArrowSchema *column, char type[TYPE_BYTES])
{
    static const struct {
        const char *format;
        const char *type;
    } known[] = {{"l", "int64"}, {"i", "int32"}, {"s", "int16"},
                 {"c", "int8"},  {"u", "utf8"},  {"tsu:", "timestamp(us)"}};
    const char *mark = (column->flags & ARROW_FLAG_NULLABLE) != 0 ? "?" : "";
    const char *format = column->format;
    type[0] = '\0';
    if (strncmp(format, "d:", 2) == 0) {
        (void)snprintf(type, TYPE_BYTES, "decimal(%s)%s", format + 2, mark);
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(format, known[i].format) == 0) {
            (void)snprintf(type, TYPE_BYTES, "%s%s", known[i].type, mark);
        }
    }
    cr_assert_neq(type[0], '\0', "%s: %s", column->name, format);
}

static void chbench_schema(const char *name, struct ArrowSchema *schema)
{
    struct weir_error err = {0};
    weir_table *table = NULL;
    cr_assert_eq(ch_open(name, 1, 1, &table, &err), WEIR_OK);
    cr_assert_eq(weir_table_schema(table, schema, &err), WEIR_OK);
    cr_assert_leq(schema->n_children, COLUMNS);
    weir_table_close(table);
}

static void load(struct wt_oracle *o, const char *name)
{
    struct ArrowSchema schema;
    struct wt_oracle_column columns[COLUMNS];
    char types[COLUMNS][TYPE_BYTES];
    char path[WT_ORACLE_PATH_BYTES * 2];
    chbench_schema(name, &schema);
    for (int64_t i = 0; i < schema.n_children; i++) {
        type_of(schema.children[i], types[i]);
        columns[i] = (struct wt_oracle_column){.name = schema.children[i]->name,
                                               .type = types[i]};
    }
    struct wt_oracle_table t = {.name = name,
                                .columns = columns,
                                .n_columns = (uint32_t)schema.n_children};
    (void)snprintf(path, sizeof(path), "%s/%s.csv", o->dir, name);
    wt_oracle_load(o, &t, path);
    schema.release(&schema);
}

static void open_tables(struct wt_oracle *o)
{
    char command[COMMAND_BYTES];
    wt_oracle_open(o);
    (void)snprintf(command, sizeof(command),
                   "%s/weir gen chbench --warehouses 1 --seed 1 --force "
                   "--out %s >/dev/null",
                   WEIR_BUILD_DIR, o->dir);
    cr_assert_eq(system(command), 0, "%s", command);
    for (int i = 0; i < N_TABLES; i++) {
        load(o, tables[i]);
    }
}

/* A table of a file, with the columns of the computed one. */
static json_t *file_table(const char *name)
{
    struct ArrowSchema schema;
    char type[TYPE_BYTES];
    json_t *columns = json_array();
    chbench_schema(name, &schema);
    for (int64_t i = 0; i < schema.n_children; i++) {
        type_of(schema.children[i], type);
        (void)json_array_append_new(columns, json_pack("{ssss}", "name",
                                                       schema.children[i]->name,
                                                       "type", type));
    }
    (void)snprintf(type, sizeof(type), "%s.csv", name);
    schema.release(&schema);
    return json_pack("{ssso}", "csv", type, "columns", columns);
}

/* The plan over files, or with its own tables, of one warehouse. */
static char *plan_text(const char *name, bool files)
{
    char path[COMMAND_BYTES];
    json_error_t where;
    const char *table = NULL;
    json_t *value = NULL;
    void *next = NULL;
    (void)snprintf(path, sizeof(path), "%s/bench/plans/%s.json",
                   WEIR_SOURCE_DIR, name);
    json_t *plan = json_load_file(path, 0, &where);
    cr_assert_not_null(plan, "%s:%d: %s", path, where.line, where.text);
    json_object_foreach_safe(json_object_get(plan, "tables"), next, table,
                             value)
    {
        if (files) {
            json_t *file = file_table(table);
            (void)json_object_clear(value);
            (void)json_object_update(value, file);
            json_decref(file);
        } else {
            (void)json_object_set_new(value, "warehouses", json_integer(1));
        }
    }
    char *text = json_dumps(plan, JSON_COMPACT);
    json_decref(plan);
    return text;
}

/* ---- both queries, once for each test ------------------------------------ */

static const struct {
    const char *name;
    const char *sql;
    wt_order order; /* columns that the query orders by */
} queries[] = {{"join", join_sql, 1u << 3 | 1u << 4},
               {"aggregation", aggregation_sql, 1u << 1}};
enum { N_QUERIES = sizeof(queries) / sizeof(queries[0]) };

struct data {
    struct wt_oracle oracle;
    struct wt_answer answer[N_QUERIES];
};

/* An order can only be wrong where there are rows that differ in it. */
static void open_data(struct data *d)
{
    *d = (struct data){0};
    open_tables(&d->oracle);
    for (int i = 0; i < N_QUERIES; i++) {
        wt_oracle_ask(&d->oracle, queries[i].sql, &d->answer[i]);
        cr_assert_gt(wt_answer_steps(&d->answer[i], queries[i].order), 2,
                     "%s: %zu rows", queries[i].name, d->answer[i].n);
    }
}

static void close_data(struct data *d)
{
    for (int i = 0; i < N_QUERIES; i++) {
        wt_answer_fini(&d->answer[i]);
    }
    wt_oracle_close(&d->oracle);
}

static void run_both(struct data *d, struct wt_cluster *c, bool files)
{
    for (int i = 0; i < N_QUERIES; i++) {
        char *plan = plan_text(queries[i].name, files);
        wt_oracle_compare(&d->oracle, c,
                          &(struct wt_oracle_case){.name = queries[i].name,
                                                   .json = plan,
                                                   .sql = queries[i].sql,
                                                   .order = queries[i].order},
                          &d->answer[i]);
        free(plan);
    }
}

struct shape {
    uint32_t nodes;
    uint32_t workers;
    bool tiny; /* rings of two frames of a few rows */
};

/* Tiny rings take rows that are computed: the files would be the same again. */
static void run_on(const struct wt_place *place, const struct shape *shapes,
                   size_t n)
{
    static struct wt_cluster c;
    struct data d;
    open_data(&d);
    for (size_t i = 0; i < n; i++) {
        struct wt_cluster_params params = {.nodes = shapes[i].nodes,
                                           .workers = shapes[i].workers,
                                           .node = {.max_shuffles = 16}};
        if (shapes[i].tiny) {
            params.node.frame_bytes = 1024;
            params.node.ring_frames = 2;
        }
        wt_cluster_open(&c, place, &params);
        run_both(&d, &c, false);
        if (!shapes[i].tiny) {
            run_both(&d, &c, true);
        }
        wt_cluster_close(&c);
    }
    close_data(&d);
}

Test(oracle_chbench, over_shm)
{
    static const struct shape shapes[] = {
        {1, 1, false}, {2, 1, false}, {3, 2, false}, {2, 2, true}};
    run_on(&shm, shapes, sizeof(shapes) / sizeof(shapes[0]));
}

Test(oracle_chbench, over_tcp)
{
    static const struct shape shapes[] = {
        {2, 2, false}, {8, 1, false}, {2, 1, true}};
    run_on(&tcp, shapes, sizeof(shapes) / sizeof(shapes[0]));
}

Test(oracle_chbench, in_the_simulator)
{
    static const struct shape shapes[] = {{5, 1, false}, {3, 2, true}};
    run_on(&sim, shapes, sizeof(shapes) / sizeof(shapes[0]));
}

Test(oracle_chbench, the_filters_select_a_part_and_having_keeps_some)
{
    struct wt_oracle o;
    static const char *const parts[] = {
        "select count(*) from orders where o_entry_d > '2013-07-01 00:00:00'",
        "select count(*) from customer where c_state like 'A%'",
        "select count(*) from order_line where "
        "ol_delivery_d > '2013-07-01 00:00:00'",
        "select count(*) from (select 1 from order_line, new_order where "
        "no_w_id = ol_w_id and no_d_id = ol_d_id and no_o_id = ol_o_id "
        "group by ol_w_id, ol_d_id, ol_o_id having sum(ol_amount) > 8000000)",
    };
    static const char *const all[] = {
        "select count(*) from orders", "select count(*) from customer",
        "select count(*) from order_line", "select count(*) from new_order"};
    open_tables(&o);
    for (int i = 0; i < 4; i++) {
        struct wt_answer part = {0};
        struct wt_answer whole = {0};
        wt_oracle_ask(&o, parts[i], &part);
        wt_oracle_ask(&o, all[i], &whole);
        long n = strtol(part.row[0], NULL, 10);
        long of = strtol(whole.row[0], NULL, 10);
        cr_assert(n > of / 100 && n < of, "%s: %ld of %ld", parts[i], n, of);
        wt_answer_fini(&part);
        wt_answer_fini(&whole);
    }
    wt_oracle_close(&o);
}
