/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir bench query: whole query plans, over several transports and against
 * DuckDB, which gets the files of `weir gen chbench` with the same rows.
 */
#define _GNU_SOURCE 1
#include <ftw.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/lib/embedded.h"
#include "bench/lib/query_series.h"
#include "bench/opponents/duckdb.h"
#include "bench/opponents/sockets_transport.h"
#include "tools/bench_kind.h"
#include "tools/fail.h"
#include "tools/rows_out.h"

enum { DIR_BYTES = 64, DUCKDB_THREADS = 2, OPEN_FILES = 16, N_KNOWN = 5 };

struct query {
    struct bench_common common;
    struct wb_query_series series;
    const char *sql;
    const char *python;
    bool duckdb;
    uint32_t memory_mib;
    struct wb_duckdb *opponent;
    char version[DIR_BYTES];
    char dir[DIR_BYTES];
};

/* ---- arguments ------------------------------------------------------------- */

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

/* ---- the answer as text ------------------------------------------------------ */

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

/* ---- DuckDB -------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int kind,
                      struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static void remove_dir(const char *dir)
{
    (void)nftw(dir, remove_one, OPEN_FILES, FTW_DEPTH | FTW_PHYS);
}

static weir_err generate(const struct query *a, struct weir_error *err)
{
    char warehouses[16];
    int status = 0;
    (void)snprintf(warehouses, sizeof(warehouses), "%" PRIu32,
                   a->series.params.warehouses);
    pid_t pid = fork();
    if (pid == 0) {
        (void)execl("/proc/self/exe", "weir", "gen", "chbench", "--warehouses",
                    warehouses, "--seed", "1", "--force", "--out", a->dir,
                    NULL);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        return tool_fail(err, WEIR_ERR_SYSTEM,
                         "`weir gen chbench` into %s failed", a->dir);
    }
    return WEIR_OK;
}

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
    (void)snprintf(a->dir, sizeof(a->dir), "/tmp/weir-bench-XXXXXX");
    if (mkdtemp(a->dir) == NULL) {
        return tool_fail_errno(err, "a folder for files, %s", a->dir);
    }
    weir_err rc = generate(a, err);
    if (rc == WEIR_OK) {
        rc = wb_duckdb_open(&params, &a->opponent, err);
    }
    remove_dir(a->dir); /* it has loaded them */
    if (rc == WEIR_OK) {
        (void)snprintf(a->version, sizeof(a->version), "%s",
                       wb_duckdb_version(a->opponent));
        s->opponents[s->n++] = (struct wb_query_opponent){
            .name = "duckdb", .run = run_duckdb, .arg = a->opponent};
    }
    return rc;
}

/* ---- the command ------------------------------------------------------------------ */

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
                   .n = 1,
                   .opponents = {{.name = "shm"}}}};
    set_plan(q, true);
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
    return rc;
}

static void print_report(const void *args)
{
    const struct query *q = args;
    wb_query_series_print(&q->series, stdout);
    if (q->duckdb) {
        (void)printf("duckdb is %s, %d threads\n", q->version, DUCKDB_THREADS);
    }
}

static weir_err print_json(const void *args, struct weir_error *err)
{
    return wb_query_series_print_json(&((const struct query *)args)->series,
                                      stdout, err);
}

const struct bench_kind bench_query = {
    .name = "query",
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
