/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir bench query: whole query plans, over several transports and against
 * DuckDB, which gets the files of `weir gen chbench` with the same rows.
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
#include "bench/lib/query_series.h"
#include "bench/opponents/duckdb.h"
#include "bench/opponents/sockets_transport.h"
#include "cli/fail.h"
#include "cli/rows_out.h"

enum { DUCKDB_THREADS = 2, N_KNOWN = 5, VERSION_BYTES = 64 };

struct query {
    struct bench_common common;
    struct wb_query_series series;
    const char *sql;
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

static void set_plan(struct query *q, bool join)
{
    q->series.plan_name = join ? "join" : "aggregation";
    q->series.params.plan =
        join ? wb_embedded_join_json : wb_embedded_aggregation_json;
    q->sql = join ? wb_embedded_join_sql : wb_embedded_aggregation_sql;
}

static void take_plan(struct argp_state *state, void *args, const char *text)
{
    static const char *const known[] = {"join", "aggregation", NULL};
    set_plan(args, option_word(state, "plan", known, text) == 0);
}

static void take_against(struct argp_state *state, void *args, const char *text)
{
    static const char *const known[] = {"duckdb", NULL};
    struct query *q = args;
    q->duckdb = option_word(state, "against", known, text) == 0;
}

static const struct option_row options[] = {
    {"plan", 'p', "NAME", "join or aggregation [join]", OPTION_OWN(take_plan)},
    {"nodes", 'n', "N", "Processes [2]",
     OPTION_U32(struct query, series.params.nodes, 1, 64)},
    {"workers", 'w', "W", "Worker threads of each [1]",
     OPTION_U32(struct query, series.params.node.workers, 1, 64)},
    {"warehouses", 'W', "N", "Size of the tables [10]",
     OPTION_U32(struct query, series.params.warehouses, 1, 10000)},
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
    return wb_duckdb_run(arg, seconds_out, answer_out, err);
}

static weir_err open_duckdb(struct query *a, struct weir_error *err)
{
    struct wb_query_series *s = &a->series;
    const struct wb_duckdb_params params = {.python = a->python,
                                            .data_dir = a->dir,
                                            .sql = a->sql,
                                            .threads = DUCKDB_THREADS};
    weir_err rc = bench_dir_make("/tmp", a->dir, err);
    if (rc == WEIR_OK) {
        rc = bench_generate(a->dir, s->params.warehouses, NULL, err);
    }
    if (rc == WEIR_OK) {
        rc = wb_duckdb_open(&params, &a->opponent, err);
    }
    bench_dir_remove(a->dir); /* it has loaded them */
    if (rc == WEIR_OK) {
        (void)snprintf(a->version, sizeof(a->version), "%s",
                       wb_duckdb_version(a->opponent));
        s->opponents[s->n++] =
            (struct wb_query_opponent){.name = "duckdb",
                                       .version = a->version,
                                       .threads = DUCKDB_THREADS,
                                       .run = run_duckdb,
                                       .arg = a->opponent};
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
    set_plan(q, true);
}

static void print_report(const void *args)
{
    wb_query_series_print(&((const struct query *)args)->series, stdout);
}

static weir_err print_json(const void *args, struct weir_error *err)
{
    return wb_query_series_print_json(&((const struct query *)args)->series,
                                      stdout, err);
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

static weir_err run(void *args, struct weir_error *err)
{
    struct query *q = args;
    FILE *note = isatty(STDERR_FILENO) ? stderr : NULL;
    q->series.params.memory_bytes = (uint64_t)q->memory_mib << 20;
    wi_transport_add(&wb_sockets_transport);
    weir_err rc = q->duckdb ? open_duckdb(q, err) : WEIR_OK;
    if (rc == WEIR_OK) {
        rc = wb_query_series_run(&q->series, note, err);
    }
    wb_duckdb_close(q->opponent);
    if (rc == WEIR_OK && q->series.wrong.code != WEIR_OK) {
        print_wrong(q);
        *err = q->series.wrong;
        rc = err->code;
    }
    return rc;
}

const struct bench_kind bench_query = {
    .name = "query",
    .what = "whole queries, against DuckDB and plain sockets",
    .doc = "The triple hash join (8 shuffles) or the aggregation (2) over "
           "tables of the CH-benCHmark in memory. Runs are interleaved; "
           "everybody must give the same answer.",
    .options = options,
    .args_bytes = sizeof(struct query),
    .init = init,
    .run = run,
    .print = print_report,
    .print_json = print_json,
};
