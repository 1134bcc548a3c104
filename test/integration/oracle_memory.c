/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables in the memory of nodes, each with rows of its own, in plans that are
 * built by calls: together they give what SQLite gives for all rows.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/oracle.h"

__extension__ typedef __int128 int128;

enum { ROWS = 1500, BATCH_ROWS = 100, COLUMNS = 4, NAME_BYTES = 16 };

static const struct weir_field fields[COLUMNS] = {
    {"k", "l", 0}, {"name", "u", 1}, {"amount", "d:38,10", 1}, {"big", "L", 1}};

static const char create[] = "create table m (k integer, name text, "
                             "amount text collate exact, "
                             "big text collate exact)";

/* ---- rows ---------------------------------------------------------------- */

struct memory {
    struct ArrowArray column[COLUMNS];
    struct ArrowArray *children[COLUMNS];
    const void *buffers[COLUMNS][3];
    const void *no_buffer[1];
    uint8_t valid[COLUMNS][BATCH_ROWS / 8 + 1];
    int64_t k[BATCH_ROWS];
    int32_t ends[BATCH_ROWS + 1];
    char text[BATCH_ROWS * NAME_BYTES];
    int128 amount[BATCH_ROWS];
    uint64_t big[BATCH_ROWS];
};

static void release_child(struct ArrowArray *a)
{
    a->release = NULL;
}

static void release(struct ArrowArray *a)
{
    free(a->private_data);
    a->release = NULL;
}

static void set_valid(struct memory *m, uint32_t column, uint32_t at,
                      bool valid)
{
    m->valid[column][at / 8] |= (uint8_t)(valid << at % 8);
    m->column[column].null_count += !valid;
}

/* Row i of all, as row `at` of this batch. */
static void put_row(struct memory *m, uint32_t at, uint32_t i)
{
    const int128 huge = (int128)1000000000000000000 * 1000000000;
    char name[NAME_BYTES] = "";
    if (i % 7 > 1) {
        (void)snprintf(name, sizeof(name), "name-%u", i % 11);
    }
    const size_t n = strlen(name);
    m->k[at] = i % 40;
    memcpy(m->text + m->ends[at], name, n);
    m->ends[at + 1] = m->ends[at] + (int32_t)n;
    m->amount[at] = huge * ((int)(i % 13) - 6) + i;
    m->big[at] = UINT64_MAX - i % 9;
    set_valid(m, 1, at, i % 7 != 0);
    set_valid(m, 2, at, i % 5 != 0);
    set_valid(m, 3, at, i % 6 != 0);
}

/* Rows first, first + step, ... of all; n of them. */
static void make_batch(struct ArrowArray *out, uint32_t first, uint32_t step,
                       uint32_t n)
{
    struct memory *m = calloc(1, sizeof(*m));
    cr_assert_not_null(m);
    const void *values[COLUMNS] = {m->k, m->ends, m->amount, m->big};
    for (uint32_t c = 0; c < COLUMNS; c++) {
        m->buffers[c][0] = fields[c].nullable ? m->valid[c] : NULL;
        m->buffers[c][1] = values[c];
        m->buffers[c][2] = m->text;
        m->children[c] = &m->column[c];
        m->column[c] =
            (struct ArrowArray){.length = n,
                                .n_buffers = fields[c].format[0] == 'u' ? 3 : 2,
                                .buffers = m->buffers[c],
                                .release = release_child};
    }
    for (uint32_t i = 0; i < n; i++) {
        put_row(m, i, first + i * step);
    }
    *out = (struct ArrowArray){.length = n,
                               .n_buffers = 1,
                               .n_children = COLUMNS,
                               .buffers = m->no_buffer,
                               .children = m->children,
                               .release = release,
                               .private_data = m};
}

/* ---- the same rows in SQLite --------------------------------------------- */

/* "12|name|NULL|9" */
static void insert_row(sqlite3_stmt *insert, char *row)
{
    for (int c = 1; c <= COLUMNS; c++) {
        const char *cell = strsep(&row, "|");
        cr_assert_eq(
            strcmp(cell, "NULL") == 0
                ? sqlite3_bind_null(insert, c)
                : sqlite3_bind_text(insert, c, cell, -1, SQLITE_TRANSIENT),
            SQLITE_OK);
    }
    cr_assert_eq(sqlite3_step(insert), SQLITE_DONE);
    (void)sqlite3_reset(insert);
}

static void insert_batch(struct wt_oracle *o, const struct ArrowSchema *schema,
                         const struct ArrowArray *batch)
{
    struct wt_answer rows = {0};
    sqlite3_stmt *insert = NULL;
    cr_assert_null(wt_answer_batch(&rows, schema, batch));
    cr_assert_eq(sqlite3_prepare_v2(o->db, "insert into m values (?, ?, ?, ?)",
                                    -1, &insert, NULL),
                 SQLITE_OK);
    for (size_t i = 0; i < rows.n; i++) {
        insert_row(insert, rows.row[i]);
    }
    (void)sqlite3_finalize(insert);
    wt_answer_fini(&rows);
}

/* ---- tables -------------------------------------------------------------- */

/* Every node has rows of its own in batches of several sizes, one of them
 * empty; the last of three nodes or more has none. */
static weir_table *make_table(struct wt_oracle *o, uint32_t node,
                              uint32_t n_nodes, bool insert)
{
    const uint32_t owners = n_nodes > 2 ? n_nodes - 1 : n_nodes;
    struct ArrowArray batch[ROWS / 10];
    struct ArrowSchema schema;
    struct weir_error err = {0};
    weir_table *table = NULL;
    uint32_t n_batches = 0;
    cr_assert_eq(weir_schema_build(fields, COLUMNS, &schema, &err), WEIR_OK,
                 "%s", err.message);
    for (uint32_t row = node; node < owners && row < ROWS;) {
        const uint32_t left = (ROWS - row + owners - 1) / owners;
        const uint32_t size = n_batches * 37 % BATCH_ROWS;
        const uint32_t n = size < left ? size : left;
        make_batch(&batch[n_batches], row, owners, n);
        if (insert) {
            insert_batch(o, &schema, &batch[n_batches]);
        }
        row += n * owners;
        n_batches++;
    }
    cr_assert_eq(
        weir_table_memory_open(&schema, batch, n_batches, &table, &err),
        WEIR_OK, "%s", err.message);
    schema.release(&schema);
    return table;
}

/* ---- plans --------------------------------------------------------------- */

static void good(weir_err rc, const struct weir_error *err)
{
    cr_assert_eq(rc, WEIR_OK, "%s", err->message);
}

static const char *const by_k[] = {"k"};

static void build_groups(weir_plan *plan)
{
    static const struct weir_output values[] = {{"n", "count(*)"},
                                                {"s", "sum(amount)"},
                                                {"lo", "min(big)"},
                                                {"hi", "max(name)"}};
    struct weir_error err = {0};
    struct weir_aggregate_params agg = {.input = "m",
                                        .mode = WEIR_AGGREGATE_PARTIAL,
                                        .groups = by_k,
                                        .n_groups = 1,
                                        .aggregates = values,
                                        .n_aggregates = 4};
    const struct weir_plan_shuffle_params shuffle = {
        .input = "p", .partitioning = WEIR_HASH, .keys = by_k, .n_keys = 1};
    good(weir_plan_scan(plan, "m", "m", NULL, 0, &err), &err);
    good(weir_plan_aggregate(plan, "p", &agg, &err), &err);
    good(weir_plan_shuffle(plan, "s", &shuffle, &err), &err);
    agg.input = "s";
    agg.mode = WEIR_AGGREGATE_FINAL;
    good(weir_plan_aggregate(plan, "result", &agg, &err), &err);
}

static void build_join(weir_plan *plan)
{
    static const char *const bounds[] = {"13", "27"};
    struct weir_error err = {0};
    struct weir_plan_shuffle_params range = {.input = "l",
                                             .partitioning = WEIR_RANGE,
                                             .keys = by_k,
                                             .n_keys = 1,
                                             .bounds = bounds,
                                             .n_bounds = 2};
    const struct weir_join_params join = {.left = "ls",
                                          .right = "rs",
                                          .kind = WEIR_JOIN_SEMI,
                                          .left_keys = by_k,
                                          .n_keys = 1};
    good(weir_plan_scan(plan, "l", "m", NULL, 0, &err), &err);
    good(weir_plan_shuffle(plan, "ls", &range, &err), &err);
    good(weir_plan_scan(plan, "r", "m", NULL, 0, &err), &err);
    good(weir_plan_filter(plan, "rf", "r", "name is null and k % 3 = 1", &err),
         &err);
    range.input = "rf";
    good(weir_plan_shuffle(plan, "rs", &range, &err), &err);
    good(weir_plan_join(plan, "result", &join, &err), &err);
}

static void build_order(weir_plan *plan)
{
    static const struct weir_sort_key keys[] = {
        {.column = "amount", .descending = 1, .nulls_first = 1},
        {.column = "big"},
        {.column = "k"},
        {.column = "name"}};
    const struct weir_sort_params sort = {
        .input = "m", .keys = keys, .n_keys = 4, .rows = 400};
    struct weir_error err = {0};
    good(weir_plan_scan(plan, "m", "m", NULL, 0, &err), &err);
    good(weir_plan_sort(plan, "o", &sort, &err), &err);
    good(weir_plan_merge(plan, "g", "o", &err), &err);
    good(weir_plan_limit(plan, "result", "g", 390, 10, &err), &err);
}

static const struct {
    const char *name;
    void (*build)(weir_plan *plan);
    const char *sql;
    wt_order order;
} cases[] = {
    {"groups", build_groups,
     "select k, count(*), exact_sum(amount), min(big), max(name) from m "
     "group by k",
     0},
    {"join", build_join,
     "select * from m where k in "
     "(select k from m where name is null and k % 3 = 1)",
     0},
    {"order", build_order,
     "select * from m order by amount desc nulls first, big nulls last, "
     "k nulls last, name nulls last limit 390 offset 10",
     WT_ORDER_ALL},
};
enum { N_CASES = sizeof(cases) / sizeof(cases[0]) };

static void run_case(struct wt_oracle *o, struct wt_cluster *c, int i)
{
    weir_plan *plans[WT_NODES] = {NULL};
    struct weir_error err = {0};
    for (uint32_t n = 0; n < c->n_nodes; n++) {
        weir_table *table = make_table(o, n, c->n_nodes, i == 0);
        good(weir_plan_open(&plans[n], &err), &err);
        good(weir_plan_table(plans[n], "m", table, &err), &err);
        cases[i].build(plans[n]);
        good(weir_plan_result(plans[n], "result", &err), &err);
    }
    wt_oracle_check(o, c,
                    &(struct wt_oracle_case){.name = cases[i].name,
                                             .plans = plans,
                                             .sql = cases[i].sql,
                                             .order = cases[i].order});
    for (uint32_t n = 0; n < c->n_nodes; n++) {
        weir_plan_close(plans[n]);
    }
}

static void run_on(const char *transport, uint32_t nodes, uint32_t workers)
{
    static struct wt_cluster c;
    const struct wt_place place = {.transport = transport,
                                   .sim = strcmp(transport, "sim") == 0};
    struct wt_oracle o;
    wt_oracle_open(&o);
    cr_assert_eq(sqlite3_exec(o.db, create, NULL, NULL, NULL), SQLITE_OK);
    wt_cluster_open(
        &c, &place,
        &(struct wt_cluster_params){.nodes = nodes, .workers = workers});
    for (int i = 0; i < N_CASES; i++) {
        run_case(&o, &c, i);
    }
    struct wt_answer count = {0};
    wt_oracle_ask(&o, "select count(*) from m", &count);
    cr_assert_eq(strtol(count.row[0], NULL, 10), ROWS, "%s", count.row[0]);
    wt_answer_fini(&count);
    wt_cluster_close(&c);
    wt_oracle_close(&o);
}

Test(oracle_memory, one_node)
{
    run_on("shm", 1, 1);
}

Test(oracle_memory, three_nodes_of_two_workers_over_shm)
{
    run_on("shm", 3, 2);
}

Test(oracle_memory, two_nodes_over_tcp)
{
    run_on("tcp", 2, 1);
}

Test(oracle_memory, five_nodes_in_the_simulator)
{
    run_on("sim", 5, 2);
}
