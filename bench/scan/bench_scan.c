/* SPDX-License-Identifier: Apache-2.0 */
/* weir bench scan: result sets from process to process, against others. */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/commands/bench_kind.h"
#include "bench/scan/scan.h"
#include "cli/scan/duckdb.h"

enum { PATH_ROOM = 4096 };

static const char sum_library[] = "libweir_scan_sum.so";

struct scan {
    struct bench_common common;
    struct wb_scan_params params;
    const char *source;
    bool progress;
    char sum_path[PATH_ROOM];
    char database_path[PATH_ROOM];
    struct wb_scan result;
};

static const char *const sources[] = {"memory", "duckdb", NULL};

/* shm,tcp,flight: who takes part */
static void take_rivals(struct argp_state *state, void *args, const char *list)
{
    static const char *const known[] = {
        "shm",      "tcp",        "verbs",           "auto",   "flight",
        "flight-2", "serialized", "serialized-unix", "duckdb", NULL};
    struct wb_scan_params *p = &((struct scan *)args)->params;
    p->n_rivals = 0;
    while (list != NULL) {
        if (p->n_rivals == WB_SCAN_RIVALS) {
            argp_error(state, "--contestants: %u at most", WB_SCAN_RIVALS);
        }
        p->rivals[p->n_rivals++] =
            known[option_next_word(state, "contestants", known, &list)];
    }
}

/* 1,2,4: numbers of columns */
static void take_columns(struct argp_state *state, void *args, const char *text)
{
    struct wb_scan_params *p = &((struct scan *)args)->params;
    p->n_sets = 0;
    while (*text != '\0') {
        char *end;
        unsigned long n = strtoul(text, &end, 10);
        if (end == text || (*end != ',' && *end != '\0') ||
            p->n_sets == WB_SCAN_SETS || n < 1 || n > WB_SCAN_COLUMNS) {
            argp_error(state,
                       "--columns is a list of at most %u numbers, 1 to "
                       "%u, as in 1,4,16",
                       WB_SCAN_SETS, WB_SCAN_COLUMNS);
        }
        p->columns[p->n_sets++] = (uint32_t)n;
        text = *end == ',' ? end + 1 : end;
    }
}

static const struct option_row options[] = {
    {"contestants", 't', "NAME,...",
     "shm, tcp, verbs, auto: Weir; flight, flight-2, serialized, "
     "serialized-unix: see bench/README.md; duckdb: in the client's own "
     "process, with --source duckdb [shm,tcp]",
     OPTION_OWN(take_rivals)},
    {"source", 's', "NAME",
     "memory: the table is loaded before; duckdb: DuckDB runs each query "
     "[memory]",
     OPTION_WORD(struct scan, source, sources)},
    {"columns", 'c', "N,...", "Columns of the result sets [1,2,4,8,16]",
     OPTION_OWN(take_columns)},
    ROWS_ROW(struct scan, params.rows, "Of the table [6000000: 1 GB]"),
    {"repeat", 'k', "K", "Runs [5]",
     OPTION_U32(struct scan, params.repeat, 1, WB_SCAN_REPEAT)},
    {"ones", 0, "N", "Scans of one row in each run [100]",
     OPTION_U32(struct scan, params.ones, 1, 1000000)},
    {"database", 'd', "FILE",
     "The table lineitem, made if it is not there [in /tmp, by rows]",
     OPTION_TEXT(struct scan, params.database)},
    {"duckdb", 0, "FILE", "libduckdb.so [$WEIR_DUCKDB, or the system's]",
     OPTION_TEXT(struct scan, params.driver)},
    {"python", 0, "FILE", "An interpreter with pyarrow and duckdb [python3]",
     OPTION_TEXT(struct scan, params.python)},
    {"batch-rows", 0, "N", "Of batches of the other contestants [16384]",
     OPTION_U32(struct scan, params.batch_rows, 1, 1 << 24)},
    {"batch-bytes", 0, "B", "Of batches of Weir's [the server's default]",
     OPTION_BYTES(struct scan, params.batch_bytes)},
    {"memory", 0, "B", "Of Weir's nodes [the library's default]",
     OPTION_BYTES(struct scan, params.memory_bytes)},
    {"ahead", 0, "N", "Batches in flight, of Weir [the client's default]",
     OPTION_U32(struct scan, params.ahead, 1, 16)},
    LISTEN_ROW(struct scan, params.listen),
    {"progress", 0, NULL, "Print every run on standard error",
     OPTION_FLAG(struct scan, progress)},
    JSON_ROW(struct scan),
    {.name = NULL},
};

static void init_scan(void *args)
{
    struct scan *a = args;
    a->source = sources[0];
    a->params.rivals[0] = "shm";
    a->params.rivals[1] = "tcp";
    a->params.n_rivals = 2;
    a->params.python = "python3";
}

/* Beside this program. */
static void find_sum(struct scan *a)
{
    ssize_t n = readlink("/proc/self/exe", a->sum_path,
                         sizeof(a->sum_path) - sizeof(sum_library) - 1);
    char *slash = n > 0 ? memrchr(a->sum_path, '/', (size_t)n) : NULL;
    char *at = slash != NULL ? slash + 1 : a->sum_path;
    memcpy(at, sum_library, sizeof(sum_library));
    a->params.sum_library = a->sum_path;
}

static weir_err run_scan(void *args, struct weir_error *err)
{
    struct scan *a = args;
    struct wb_scan_params *p = &a->params;
    find_sum(a);
    p->memory = strcmp(a->source, "memory") == 0;
    p->driver = p->driver != NULL ? p->driver : duckdb_driver();
    if (p->database == NULL) {
        (void)snprintf(
            a->database_path, sizeof(a->database_path),
            "/tmp/weir-lineitem-%llu.duckdb",
            (unsigned long long)(p->rows != 0 ? p->rows : WB_SCAN_ROWS));
        p->database = a->database_path;
    }
    return wb_scan_run(p, &a->result, a->progress ? stderr : NULL, err);
}

static void print_scan(const void *args)
{
    const struct scan *a = args;
    wb_scan_print(&a->result, stdout);
}

static weir_err json_scan(const void *args, struct weir_error *err)
{
    const struct scan *a = args;
    return wb_scan_print_json(&a->result, stdout, err);
}

const struct bench_kind bench_scan = {
    .name = "scan",
    .what = "result sets from one process to another",
    .doc = "A table of 16 columns as TPC-H's lineitem, the first columns of it "
           "from a server to a client: over transports of Weir, by Arrow "
           "Flight, and serialized over sockets.",
    .options = options,
    .args_bytes = sizeof(struct scan),
    .init = init_scan,
    .run = run_scan,
    .print = print_scan,
    .print_json = json_scan};
