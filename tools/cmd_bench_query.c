/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir bench query: whole query plans, over several transports and against
 * DuckDB, which gets the files of `weir gen chbench` with the same rows.
 */
#define _GNU_SOURCE 1
#include <argp.h>
#include <errno.h>
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
#include "tools/cmd.h"
#include "tools/fail.h"
#include "tools/rows_out.h"

enum { DIR_BYTES = 64, DUCKDB_THREADS = 2, OPEN_FILES = 16 };

struct args {
    struct wb_query_series series;
    const char *sql;
    const char *python;
    bool duckdb;
    bool json;
    struct wb_duckdb *opponent;
    char dir[DIR_BYTES];
};

/* ---- arguments ------------------------------------------------------------- */

static const struct argp_option options[] = {
    {"plan", 'p', "NAME", 0, "join or aggregation [join]", 0},
    {"nodes", 'n', "N", 0, "Processes [2]", 0},
    {"workers", 'w', "W", 0, "Worker threads of each [1]", 0},
    {"warehouses", 'W', "N", 0, "Size of the tables [10]", 0},
    {"transports", 't', "LIST", 0,
     "Over what: shm, tcp, verbs, auto, sockets [shm]", 0},
    {"against", 'a', "NAME", 0, "Another engine: duckdb", 0},
    {"python", 'P', "FILE", 0,
     "An interpreter that has the package duckdb [python3]", 0},
    {"memory", 'm', "MIB", 0, "Of the operators of a node [1024]", 0},
    {"repeat", 'k', "K", 0, "Interleaved runs of each [5]", 0},
    {"json", 'j', NULL, 0, "Print one JSON object", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static uint32_t number(struct argp_state *state, const char *text,
                       uint32_t most)
{
    char *end = NULL;
    errno = 0;
    unsigned long v = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-' || v < 1 ||
        v > most) {
        argp_error(state, "\"%s\" must be a number, 1..%" PRIu32, text, most);
    }
    return (uint32_t)v;
}

static void add_transports(struct argp_state *state, struct wb_query_series *s,
                           char *list)
{
    static const char *const known[] = {"shm", "tcp", "verbs", "auto",
                                        "sockets"};
    char *rest = NULL;
    s->n = 0;
    for (char *name = strtok_r(list, ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        size_t i = 0;
        while (i < 5 && strcmp(known[i], name) != 0) {
            i++;
        }
        if (i == 5 || s->n == 5) {
            argp_error(state,
                       "no transport \"%s\"; there are shm, tcp, verbs, "
                       "auto, sockets",
                       name);
        }
        s->opponents[s->n++].name = name;
    }
    if (s->n == 0) {
        argp_error(state, "--transports is empty");
    }
}

static void choose_plan(struct argp_state *state, struct args *a,
                        const char *name)
{
    bool join = strcmp(name, "join") == 0;
    if (!join && strcmp(name, "aggregation") != 0) {
        argp_error(state, "no plan \"%s\"; there are join, aggregation", name);
    }
    a->series.plan_name = name;
    a->series.params.plan =
        join ? wb_embedded_join_json : wb_embedded_aggregation_json;
    a->sql = join ? wb_embedded_join_sql : wb_embedded_aggregation_sql;
}

static error_t option(int key, char *arg, struct argp_state *state)
{
    struct args *a = state->input;
    struct wb_query_params *p = &a->series.params;
    switch (key) {
    case 'p':
        choose_plan(state, a, arg);
        return 0;
    case 'n':
        p->nodes = number(state, arg, 64);
        return 0;
    case 'w':
        p->node.workers = number(state, arg, 64);
        return 0;
    case 'W':
        p->warehouses = number(state, arg, 10000);
        return 0;
    case 't':
        add_transports(state, &a->series, arg);
        return 0;
    case 'a':
        if (strcmp(arg, "duckdb") != 0) {
            argp_error(state, "no engine \"%s\"; there is duckdb", arg);
        }
        a->duckdb = true;
        return 0;
    case 'P':
        a->python = arg;
        return 0;
    case 'm':
        p->memory_bytes = (uint64_t)number(state, arg, 1u << 24) << 20;
        return 0;
    case 'k':
        a->series.repeat = number(state, arg, 1000);
        return 0;
    case 'j':
        a->json = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument \"%s\"", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

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

static weir_err generate(const struct args *a, struct weir_error *err)
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

static weir_err open_duckdb(struct args *a, struct weir_error *err)
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
        s->opponents[s->n++] = (struct wb_query_opponent){
            .name = "duckdb", .run = run_duckdb, .arg = a->opponent};
    }
    return rc;
}

/* ---- the command ------------------------------------------------------------------ */

static weir_err run(struct args *a, struct weir_error *err)
{
    FILE *note = isatty(STDERR_FILENO) ? stderr : NULL;
    weir_err rc = a->duckdb ? open_duckdb(a, err) : WEIR_OK;
    if (rc == WEIR_OK) {
        rc = wb_query_series_run(&a->series, note, err);
    }
    if (rc == WEIR_OK && a->json) {
        rc = wb_query_series_print_json(&a->series, stdout, err);
    } else if (rc == WEIR_OK) {
        wb_query_series_print(&a->series, stdout);
        (void)printf("%s%s%s", a->duckdb ? "duckdb is " : "",
                     a->duckdb ? wb_duckdb_version(a->opponent) : "",
                     a->duckdb ? ", 2 threads\n" : "");
    }
    wb_duckdb_close(a->opponent);
    return rc;
}

int cmd_bench_query(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = option,
        .doc = "The triple hash join (8 shuffles) or the aggregation (2) over "
               "tables of the CH-benCHmark in memory. Runs are interleaved; "
               "everybody must give the same answer."};
    struct args a = {
        .python = "python3",
        .series = {.params = {.warehouses = 10,
                              .memory_bytes = UINT64_C(1) << 30,
                              .print = print,
                              .nodes = 2,
                              .node = {.workers = 1, .max_shuffles = 16}},
                   .repeat = 5,
                   .n = 1,
                   .opponents = {{.name = "shm"}}}};
    struct weir_error err = {.code = WEIR_OK};
    choose_plan(NULL, &a, "join");
    if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0) {
        return EXIT_FAILURE;
    }
    wi_transport_add(&wb_sockets_transport);
    if (run(&a, &err) != WEIR_OK) {
        (void)fprintf(stderr, "weir bench query: %s\n", err.message);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
