/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir bench gen: how fast one core writes the tables of the CH-benCHmark, and
 * how fast `cat` copies the same files to the same folder.
 *
 *   gen    weir gen chbench --jobs 1 --out DIR
 *   cat    cat DIR/customer.csv ... > DIR/copy
 */
#define _GNU_SOURCE 1
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/commands/bench_files.h"
#include "bench/commands/bench_kind.h"
#include "bench/lib/median.h"
#include "bench/lib/pin.h"
#include "bench/lib/report.h"
#include "cli/fail.h"

enum { CUSTOMER, ORDERS, NEW_ORDER, ORDER_LINE, N_FILES };
enum { GEN, CAT, N_RUNS, MAX_REPEAT = 1000, COLUMN_OL_CNT = 7 };
#define PATH_BYTES (BENCH_DIR_BYTES + 32)
#define MB 1e6

static const char *const run_names[N_RUNS] = {"gen", "cat"};
static const char *const file_names[N_FILES] = {
    "customer.csv", "orders.csv", "new_order.csv", "order_line.csv"};

struct gen {
    struct bench_common common;
    const char *parent;
    uint32_t warehouses;
    uint32_t repeat;
    char dir[BENCH_DIR_BYTES];
    uint64_t bytes; /* of all files */
    uint64_t rows;
    uint64_t peak_rss_bytes; /* of gen, in any run */
    double seconds[N_RUNS][MAX_REPEAT];
    double cpu_s[N_RUNS][MAX_REPEAT];
    struct wb_spread wall[N_RUNS];
    struct wb_spread cpu[N_RUNS];
};

static const struct option_row options[] = {
    {"warehouses", 'W', "N", "Size of the tables, about 39 MB each [10]",
     OPTION_U32(struct gen, warehouses, 1, 10000)},
    {"repeat", 'k', "K", "Interleaved runs of each [5]",
     OPTION_U32(struct gen, repeat, 1, MAX_REPEAT)},
    {"dir", 'd', "DIR", "Where to write; twice the size is needed [/tmp]",
     OPTION_TEXT(struct gen, parent)},
    JSON_ROW(struct gen),
    {.name = NULL},
};

/* ---- what was written ---------------------------------------------------- */

/* Field n (from 1) of a line without quotes, as a number. */
static uint64_t number_at(const char *line, uint32_t n)
{
    while (--n > 0 && line != NULL) {
        line = strchr(line, ',');
        line += line != NULL;
    }
    return line == NULL ? 0 : strtoull(line, NULL, 10);
}

/* @param sum_out  of column o_ol_cnt, if it is the file of orders */
static weir_err count_rows(struct gen *g, uint32_t file, uint64_t *rows_out,
                           uint64_t *sum_out, struct weir_error *err)
{
    char path[PATH_BYTES];
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    (void)snprintf(path, sizeof(path), "%s/%s", g->dir, file_names[file]);
    FILE *from = fopen(path, "re");
    if (from == NULL) {
        return tool_fail_errno(err, "open %s", path);
    }
    uint64_t lines = 0;
    while ((n = getline(&line, &room, from)) > 0) {
        g->bytes += (uint64_t)n;
        *sum_out += file == ORDERS ? number_at(line, COLUMN_OL_CNT) : 0;
        lines++;
    }
    free(line);
    (void)fclose(from);
    *rows_out = lines - (lines > 0); /* without the names */
    return WEIR_OK;
}

/* Rows as docs/chbench.md has them; of lines as many as the orders say. */
static weir_err check_files(struct gen *g, struct weir_error *err)
{
    const uint64_t districts = UINT64_C(10) * g->warehouses;
    uint64_t rows[N_FILES] = {0};
    uint64_t lines = 0;
    g->bytes = 0;
    g->rows = 0;
    for (uint32_t i = 0; i < N_FILES; i++) {
        weir_err rc = count_rows(g, i, &rows[i], &lines, err);
        if (rc != WEIR_OK) {
            return rc;
        }
        g->rows += rows[i];
    }
    if (rows[CUSTOMER] != 3000 * districts ||
        rows[ORDERS] != 3000 * districts ||
        rows[NEW_ORDER] != 900 * districts || rows[ORDER_LINE] != lines) {
        return tool_fail(err, WEIR_ERR_INTEGRITY,
                         "the files have %" PRIu64 ", %" PRIu64 ", %" PRIu64
                         " and %" PRIu64 " rows, which is wrong",
                         rows[CUSTOMER], rows[ORDERS], rows[NEW_ORDER],
                         rows[ORDER_LINE]);
    }
    return WEIR_OK;
}

static weir_err check_copy(const struct gen *g, const char *copy,
                           struct weir_error *err)
{
    FILE *from = fopen(copy, "re");
    off_t bytes = -1;
    if (from != NULL) {
        bytes = fseeko(from, 0, SEEK_END) == 0 ? ftello(from) : -1;
        (void)fclose(from);
    }
    return bytes >= 0 && (uint64_t)bytes == g->bytes
               ? WEIR_OK
               : tool_fail(err, WEIR_ERR_INTEGRITY,
                           "cat wrote %lld bytes of %" PRIu64, (long long)bytes,
                           g->bytes);
}

/* ---- runs ---------------------------------------------------------------- */

static void note(struct gen *g, uint32_t run, uint32_t round,
                 const struct bench_usage *usage)
{
    g->seconds[run][round] = usage->seconds;
    g->cpu_s[run][round] = usage->cpu_s;
}

static weir_err run_gen(struct gen *g, uint32_t round, struct weir_error *err)
{
    struct bench_usage usage = {.seconds = 0};
    weir_err rc = bench_generate(g->dir, g->warehouses, &usage, err);
    note(g, GEN, round, &usage);
    if (usage.peak_rss_bytes > g->peak_rss_bytes) {
        g->peak_rss_bytes = usage.peak_rss_bytes;
    }
    return rc == WEIR_OK ? check_files(g, err) : rc;
}

static weir_err run_cat(struct gen *g, uint32_t round, struct weir_error *err)
{
    char paths[N_FILES][PATH_BYTES];
    char copy[PATH_BYTES];
    const char *argv[N_FILES + 2] = {"/bin/cat"};
    struct bench_usage usage = {.seconds = 0};
    for (uint32_t i = 0; i < N_FILES; i++) {
        (void)snprintf(paths[i], PATH_BYTES, "%s/%s", g->dir, file_names[i]);
        argv[i + 1] = paths[i];
    }
    (void)snprintf(copy, sizeof(copy), "%s/copy", g->dir);
    weir_err rc = bench_program(argv, copy, &usage, err);
    note(g, CAT, round, &usage);
    rc = rc == WEIR_OK ? check_copy(g, copy, err) : rc;
    (void)remove(copy); /* gen replaces its files, too */
    return rc;
}

static weir_err run_rounds(struct gen *g, struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    for (uint32_t k = 0; k < g->repeat && rc == WEIR_OK; k++) {
        rc = run_gen(g, k, err);
        rc = rc == WEIR_OK ? run_cat(g, k, err) : rc;
    }
    for (uint32_t i = 0; i < N_RUNS && rc == WEIR_OK; i++) {
        g->wall[i] = wb_spread_of(g->seconds[i], g->repeat);
        g->cpu[i] = wb_spread_of(g->cpu_s[i], g->repeat);
    }
    return rc;
}

static weir_err run(void *args, struct weir_error *err)
{
    struct gen *g = args;
    weir_err rc = bench_dir_make(g->parent, g->dir, err);
    if (rc == WEIR_OK) {
        rc = run_rounds(g, err);
    }
    bench_dir_remove(g->dir);
    return rc;
}

static void init(void *args)
{
    *(struct gen *)args =
        (struct gen){.parent = "/tmp", .warehouses = 10, .repeat = 5};
}

/* ---- report -------------------------------------------------------------- */

static double rate(const struct gen *g, double seconds)
{
    return (double)g->bytes / MB / seconds;
}

static void print_report(const void *args)
{
    const struct gen *g = args;
    (void)printf("tables of %" PRIu32 " warehouses, %.1f MB, %" PRIu64
                 " rows as they should be, 1 thread, %" PRIu32
                 " repeats\n\n%-6s %10s %10s %10s %10s %14s\n",
                 g->warehouses, (double)g->bytes / MB, g->rows, g->repeat, "",
                 "median s", "min s", "max s", "CPU s", "MB per CPU s");
    for (uint32_t i = 0; i < N_RUNS; i++) {
        const struct wb_spread *s = &g->wall[i];
        const double cpu_s = g->cpu[i].median;
        (void)printf("%-6s %10.3f %10.3f %10.3f %10.3f %14.1f\n", run_names[i],
                     s->median, s->min, s->max, cpu_s, rate(g, cpu_s));
    }
    (void)printf("\ngen held %.1f MB at most\n",
                 (double)g->peak_rss_bytes / MB);
}

static json_t *results_of(const struct gen *g)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < N_RUNS; i++) {
        const struct wb_spread *s = &g->wall[i];
        const double cpu_s = g->cpu[i].median;
        (void)json_array_append_new(
            all, json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f}", "name",
                           run_names[i], "median_s", s->median, "min_s", s->min,
                           "max_s", s->max, "cpu_s", cpu_s, "mb_per_s",
                           rate(g, s->median), "mb_per_cpu_s", rate(g, cpu_s)));
    }
    return all;
}

static weir_err print_json(const void *args, struct weir_error *err)
{
    const struct gen *g = args;
    json_t *o = json_pack(
        "{s:s, s:i, s:i, s:i, s:I, s:I, s:I, s:o, s:{s:f}}", "benchmark", "gen",
        "warehouses", (int)g->warehouses, "repeat", (int)g->repeat, "cores",
        (int)wb_cores(), "bytes", (json_int_t)g->bytes, "rows",
        (json_int_t)g->rows, "gen_peak_rss_bytes",
        (json_int_t)g->peak_rss_bytes, "results", results_of(g), "ratios",
        "gen/cat", g->wall[GEN].median / g->wall[CAT].median);
    return wb_report_write(o, stdout, err);
}

const struct bench_kind bench_gen = {
    .name = "gen",
    .what = "writing tables, against a copy of them",
    .doc = "How fast one core writes the tables of the CH-benCHmark to files, "
           "against a copy of them by cat. Runs are interleaved; the rows are "
           "counted.",
    .options = options,
    .args_bytes = sizeof(struct gen),
    .init = init,
    .run = run,
    .print = print_report,
    .print_json = print_json,
};
