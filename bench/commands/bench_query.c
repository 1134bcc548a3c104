/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir bench query: whole query plans, over several transports and against
 * DuckDB, which gets the files of --data, or of `weir gen chbench` with the
 * same rows.
 */
#define _GNU_SOURCE 1
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/commands/bench_files.h"
#include "bench/commands/bench_kind.h"
#include "bench/lib/embedded.h"
#include "bench/lib/pin.h"
#include "bench/lib/query_set.h"
#include "bench/opponents/duckdb.h"
#include "bench/opponents/sockets_transport.h"
#include "cli/fail.h"
#include "cli/rows_out.h"

enum { DUCKDB_THREADS = 2, N_KNOWN = 5, VERSION_BYTES = 64, PLAN_BYTES = 64 };

/* A plan's query, as DuckDB runs it. */
struct asked {
    struct wb_duckdb *duckdb;
    uint32_t query;
};

struct query {
    struct bench_common common;
    struct wb_query_series series; /* but for the plan and the answer */
    struct wb_query_set set;       /* one of each plan */
    char plan_names[WB_QUERY_PLANS][PLAN_BYTES];
    const char *sql[WB_QUERY_PLANS];
    struct asked asked[WB_QUERY_PLANS];
    const char *python;
    bool duckdb;
    uint32_t memory_mib;
    struct wb_duckdb *opponent;
    char version[VERSION_BYTES];
    char dir[BENCH_DIR_BYTES];
};

/* ---- arguments ----------------------------------------------------------- */

static void take_transports(struct argp_state *state, void *args,
                            const char *list)
{
    static const char *const known[N_KNOWN + 1] = {"shm", "tcp", "verbs",
                                                   "auto", "sockets"};
    struct wb_query_series *s = &((struct query *)args)->series;
    s->n = 0;
    while (list != NULL) {
        if (s->n == N_KNOWN) {
            argp_error(state, "--transports: %d at most", (int)N_KNOWN);
        }
        s->opponents[s->n++] = (struct wb_query_opponent){
            .name = known[option_next_word(state, "transports", known, &list)]};
    }
}

/* The plan in an embedded file, "plans/NAME.json", beside "plans/NAME.sql". */
static void add_plan(struct query *q, const struct wb_embedded_file *file)
{
    char sql[PLAN_BYTES + sizeof("plans/.sql")];
    uint32_t i = q->set.n++;
    const char *name = strchr(file->path, '/') + 1;
    int n = (int)(strrchr(file->path, '.') - name);
    (void)snprintf(q->plan_names[i], PLAN_BYTES, "%.*s", n, name);
    (void)snprintf(sql, sizeof(sql), "plans/%s.sql", q->plan_names[i]);
    q->set.series[i].plan_name = q->plan_names[i];
    q->set.series[i].params.plan = file->text;
    q->sql[i] = wb_embedded(sql);
}

/* The plan of that name, or those of the folder. */
static void set_plan(struct query *q, const char *name)
{
    char file_name[PLAN_BYTES + sizeof("plans/.json")];
    char folder[PLAN_BYTES + sizeof("plans//")];
    (void)snprintf(file_name, sizeof(file_name), "plans/%s.json", name);
    size_t n = (size_t)snprintf(folder, sizeof(folder), "plans/%s/", name);
    q->set.n = 0;
    for (const struct wb_embedded_file *f = wb_embedded_files; f->path != NULL;
         f++) {
        bool inside = n < sizeof(folder) && strncmp(f->path, folder, n) == 0 &&
                      strstr(f->path, ".json") != NULL;
        if (inside || strcmp(f->path, file_name) == 0) {
            add_plan(q, f);
        }
    }
}

static void take_plan(struct argp_state *state, void *args, const char *text)
{
    struct query *q = args;
    set_plan(q, text);
    if (q->set.n == 0) {
        argp_error(state,
                   "--plan: join, aggregation, tpch or tpch/q01 to tpch/q22 "
                   "was expected, found \"%s\"",
                   text);
    }
}

static void take_against(struct argp_state *state, void *args, const char *text)
{
    static const char *const known[] = {"duckdb", NULL};
    struct query *q = args;
    q->duckdb = option_word(state, "against", known, text) == 0;
}

static const struct option_row options[] = {
    {"plan", 'p', "NAME",
     "join or aggregation, tpch/q01 to tpch/q22, tpch: all of these [join]",
     OPTION_OWN(take_plan)},
    {"data", 'd', "DIR", "Files of the tables, for tpch",
     OPTION_TEXT(struct query, series.params.data_dir)},
    {"nodes", 'n', "N", "Processes [2]",
     OPTION_U32(struct query, series.params.nodes, 1, 64)},
    {"workers", 'w', "W", "Worker threads of each [1]",
     OPTION_U32(struct query, series.params.node.workers, 1, 64)},
    {"warehouses", 'W', "N", "Size of the tables [10]",
     OPTION_U32(struct query, series.params.warehouses, 1, 10000)},
    {"no-filters", 'F', NULL, "Joins do without filters",
     OPTION_FLAG(struct query, series.params.no_filters)},
    {"transports", 't', "LIST",
     "Over what: shm, tcp, verbs, auto, sockets [shm]",
     OPTION_OWN(take_transports)},
    LISTEN_ROW(struct query, series.params.node.listen),
    {"against", 'a', "NAME", "Another engine: duckdb",
     OPTION_OWN(take_against)},
    {"python", 'P', "FILE",
     "An interpreter that has the package duckdb [python3]",
     OPTION_TEXT(struct query, python)},
    {"memory", 'm', "MIB", "Of the operators of a node [1024]",
     OPTION_U32(struct query, memory_mib, 1, 1u << 24)},
    {"repeat", 'k', "K", "Interleaved runs of each [5]",
     OPTION_U32(struct query, series.repeat, 1, 1000)},
    {"timeout", 0, "S", "Seconds that a run may take [120]",
     OPTION_SECONDS(struct query, series.params.timeout_ns, 1, 86400)},
    JSON_ROW(struct query),
    {.name = NULL},
};

/* ---- the answer as text -------------------------------------------------- */

static weir_err print(void **printer, const struct ArrowSchema *schema,
                      const struct ArrowArray *batch, FILE *out,
                      struct weir_error *err)
{
    struct rows_out *rows = *printer;
    weir_err rc = rows != NULL
                      ? WEIR_OK
                      : rows_out_open(out, ROWS_CSV, schema, &rows, err);
    *printer = rows;
    if (rc == WEIR_OK && batch != NULL) {
        return rows_out_put(rows, batch, err);
    }
    if (rc == WEIR_OK) {
        rc = rows_out_end(rows, err);
    }
    rows_out_close(rows);
    *printer = NULL;
    return rc;
}

/* ---- DuckDB -------------------------------------------------------------- */

static weir_err run_duckdb(void *arg, double *seconds_out, char *answer_out,
                           struct weir_error *err)
{
    const struct asked *asked = arg;
    return wb_duckdb_run(asked->duckdb, asked->query, seconds_out, answer_out,
                         err);
}

/* The files of --data, or else new ones of chbench. */
static weir_err start_duckdb(struct query *a, struct weir_error *err)
{
    struct wb_duckdb_params params = {.python = a->python,
                                      .data_dir = a->series.params.data_dir,
                                      .n_sql = a->set.n,
                                      .threads = DUCKDB_THREADS};
    memcpy(params.sql, a->sql, sizeof(params.sql));
    if (params.data_dir != NULL) {
        return wb_duckdb_open(&params, &a->opponent, err);
    }
    params.data_dir = a->dir;
    weir_err rc = bench_dir_make("/tmp", a->dir, err);
    if (rc == WEIR_OK) {
        rc = bench_generate(a->dir, a->series.params.warehouses, NULL, err);
    }
    if (rc == WEIR_OK) {
        rc = wb_duckdb_open(&params, &a->opponent, err);
    }
    bench_dir_remove(a->dir); /* it has loaded them */
    return rc;
}

static weir_err open_duckdb(struct query *a, struct weir_error *err)
{
    struct wb_query_series *s = &a->series;
    weir_err rc = start_duckdb(a, err);
    if (rc == WEIR_OK) {
        (void)snprintf(a->version, sizeof(a->version), "%s",
                       wb_duckdb_version(a->opponent));
        s->opponents[s->n++] =
            (struct wb_query_opponent){.name = "duckdb",
                                       .version = a->version,
                                       .threads = DUCKDB_THREADS,
                                       .run = run_duckdb};
    }
    return rc;
}

/* ---- the command --------------------------------------------------------- */

static void init(void *args)
{
    struct query *q = args;
    *q = (struct query){
        .python = "python3",
        .memory_mib = 1024,
        .series = {.params = {.warehouses = 10,
                              .print = print,
                              .nodes = 2,
                              .node = {.workers = 1, .max_shuffles = 16}},
                   .repeat = 5,
                   .cores = wb_cores(),
                   .n = 1,
                   .opponents = {{.name = "shm"}}}};
    set_plan(q, "join");
}

static void print_report(const void *args)
{
    const struct wb_query_set *set = &((const struct query *)args)->set;
    if (set->n == 1) {
        wb_query_series_print(&set->series[0], stdout);
    } else {
        wb_query_set_print(set, stdout);
    }
}

static weir_err print_json(const void *args, struct weir_error *err)
{
    const struct wb_query_set *set = &((const struct query *)args)->set;
    return set->n == 1
               ? wb_query_series_print_json(&set->series[0], stdout, err)
               : wb_query_set_print_json(set, stdout, err);
}

/* Opponents with different answers still have figures. */
static void print_wrong(const struct query *q)
{
    if (q->common.json) {
        (void)print_json(q, NULL);
    } else {
        print_report(q);
    }
}

static weir_err run_plan(struct query *q, uint32_t i, struct weir_error *err)
{
    FILE *note = isatty(STDERR_FILENO) ? stderr : NULL;
    struct wb_query_series *s = &q->set.series[i];
    const char *plan = s->params.plan;
    *s = q->series;
    s->plan_name = q->plan_names[i];
    s->params.plan = plan;
    q->asked[i] = (struct asked){q->opponent, i};
    for (uint32_t o = 0; o < s->n; o++) {
        s->opponents[o].arg = &q->asked[i];
    }
    return wb_query_series_run(s, note, err);
}

/* The first answer that differs. */
static weir_err judge(const struct query *q, struct weir_error *err)
{
    for (uint32_t i = 0; i < q->set.n; i++) {
        const struct wb_query_series *s = &q->set.series[i];
        if (s->wrong.code != WEIR_OK) {
            print_wrong(q);
            return tool_fail(err, s->wrong.code, "%s: %s", s->plan_name,
                             s->wrong.message);
        }
    }
    return WEIR_OK;
}

static weir_err run(void *args, struct weir_error *err)
{
    struct query *q = args;
    q->series.params.memory_bytes = (uint64_t)q->memory_mib << 20;
    wi_transport_add(&wb_sockets_transport);
    weir_err rc = q->duckdb ? open_duckdb(q, err) : WEIR_OK;
    for (uint32_t i = 0; i < q->set.n && rc == WEIR_OK; i++) {
        rc = run_plan(q, i, err);
    }
    wb_duckdb_close(q->opponent);
    return rc == WEIR_OK ? judge(q, err) : rc;
}

const struct bench_kind bench_query = {
    .name = "query",
    .what = "whole queries, against DuckDB and plain sockets",
    .doc = "The triple hash join (8 shuffles) or the aggregation (2) over "
           "tables of the CH-benCHmark, or the queries of TPC-H, in memory. "
           "Runs are interleaved; everybody must give the same answer.",
    .options = options,
    .args_bytes = sizeof(struct query),
    .init = init,
    .run = run,
    .print = print_report,
    .print_json = print_json,
};
