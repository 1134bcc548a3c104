/* SPDX-License-Identifier: Apache-2.0 */
/* weir gen: the tables of the CH-benCHmark as CSV files. */
#define _GNU_SOURCE 1
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chbench/chbench.h"
#include "cli/cmd.h"
#include "cli/fail.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/status.h"
#include "launch/clock.h"
#include "operators/table/table.h"
#include "tools/csv_dir.h"
#include "tools/gen.h"

enum { N_TABLES = 4, DISTRICTS = 10 };

static const char *const table_names[] = {"customer", "orders", "new_order",
                                          "order_line", NULL};
static const char *const file_names[N_TABLES] = {
    "customer.csv", "orders.csv", "new_order.csv", "order_line.csv"};

static const struct progress_phase phases[] = {{"writing districts", NULL}};

struct gen_args {
    const char *what;
    uint32_t warehouses;
    uint64_t seed;
    const char *out;
    bool wanted[N_TABLES];
    uint32_t jobs;
    bool force;
};

/* ---- arguments ----------------------------------------------------------- */

static void take_tables(struct argp_state *state, void *args, const char *list)
{
    struct gen_args *a = args;
    memset(a->wanted, 0, sizeof(a->wanted));
    while (list != NULL) {
        a->wanted[option_next_word(state, "tables", table_names, &list)] = true;
    }
}

static const struct option_row rows[] = {
    {"warehouses", 'w', "W", "Size: W warehouses, about 39 MB each [1]",
     OPTION_U32(struct gen_args, warehouses, 1, 100000)},
    {"seed", 's', "SEED", "Other rows for another number [1]",
     OPTION_U64(struct gen_args, seed, 0, UINT64_MAX)},
    {"out", 0, "DIR", "Where to write; must not exist or be empty",
     OPTION_TEXT(struct gen_args, out)},
    {"tables", 0, "NAME[,NAME]",
     "Some of: customer, orders, new_order, order_line [all]",
     OPTION_OWN(take_tables)},
    {"jobs", 'j', "N", "Threads [one per processor]",
     OPTION_U32(struct gen_args, jobs, 1, 256)},
    {"force", 0, NULL, "DIR may hold files; those of the tables are replaced",
     OPTION_FLAG(struct gen_args, force)},
    {.name = NULL},
};

static const char doc[] =
    "Write the tables customer, orders, new_order and order_line of the "
    "CH-benCHmark to DIR/customer.csv, ..., populated by the rules of "
    "TPC-C.\vThe same W and seed give the same files, whatever the number of "
    "threads, and the rows that a plan's table \"chbench\" computes. A run "
    "that fails leaves no files.\n"
    "\n"
    "Exit status: 0 done; 1 the run failed; 2 wrong use (an option, a DIR "
    "that is not empty).";

static void check_args(struct argp_state *state, void *args)
{
    const struct gen_args *a = args;
    if (strcmp(a->what, "chbench") != 0) {
        argp_error(state, "\"%s\" cannot be generated; chbench can", a->what);
    }
    if (a->out == NULL) {
        argp_error(state, "no --out: say where to write");
    }
}

/* ---- the run ------------------------------------------------------------- */

/* The files of one run. */
struct run {
    const struct gen_args *args;
    uint32_t n;
    const char *names[N_TABLES];
    weir_table *tables[N_TABLES];
    struct gen_file files[N_TABLES];
};

static weir_err open_tables(struct run *r, struct weir_error *err)
{
    const struct gen_args *a = r->args;
    for (uint32_t i = 0; i < N_TABLES; i++) {
        if (!a->wanted[i]) {
            continue;
        }
        weir_err rc = ch_open(table_names[i], a->warehouses, a->seed,
                              &r->tables[r->n], err);
        if (rc != WEIR_OK) {
            return rc;
        }
        r->names[r->n] = file_names[i];
        r->files[r->n] =
            (struct gen_file){.name = file_names[i],
                              .table = r->tables[r->n],
                              .fd = -1,
                              .n_parts = a->warehouses * DISTRICTS};
        r->n++;
    }
    return WEIR_OK;
}

static weir_err write_files(struct run *r, const struct csv_dir *dir,
                            struct progress *progress, struct weir_error *err)
{
    const struct gen_params params = {
        .files = r->files,
        .n_files = r->n,
        .jobs = r->args->jobs,
        .counters = progress_counters(progress),
    };
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; rc == WEIR_OK && i < r->n; i++) {
        rc = csv_dir_part_open(dir, i, &r->files[i].fd, err);
    }
    if (rc == WEIR_OK) {
        progress_begin(progress, 0,
                       (uint64_t)r->n * r->args->warehouses * DISTRICTS);
        rc = gen_run(&params, err);
    }
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->files[i].fd >= 0) {
            (void)close(r->files[i].fd);
        }
    }
    return rc;
}

static weir_err run_in(struct run *r, struct weir_error *err)
{
    struct csv_dir *dir;
    struct progress *progress = NULL;
    weir_err rc = csv_dir_open(r->args->out, r->names, r->n, &dir, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = progress_open(STDERR_FILENO, r->args->jobs, phases, &progress, err);
    if (rc == WEIR_OK) {
        rc = write_files(r, dir, progress, err);
    }
    progress_close(progress);
    if (rc != WEIR_OK) {
        csv_dir_abandon(dir);
        return rc;
    }
    return csv_dir_commit(dir, err);
}

static void print_summary(const struct run *r, double seconds)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        const struct gen_file *f = &r->files[i];
        (void)printf("%s/%s: %" PRIu64 " rows, %" PRIu64 " bytes\n",
                     r->args->out, f->name, f->rows_out, f->bytes_out);
        bytes += f->bytes_out;
    }
    (void)printf("%" PRIu64 " bytes in %.2f s (%u thread%s)\n", bytes, seconds,
                 r->args->jobs, r->args->jobs == 1 ? "" : "s");
}

static int run(const struct gen_args *a, struct weir_error *err)
{
    struct run r = {.args = a};
    const uint64_t begin_ns = wl_now_ns();
    if (csv_dir_check(a->out, a->force, err) != WEIR_OK) {
        return STATUS_USAGE;
    }
    weir_err rc = open_tables(&r, err);
    if (rc == WEIR_OK) {
        rc = run_in(&r, err);
    }
    if (rc == WEIR_OK) {
        print_summary(&r, (double)(wl_now_ns() - begin_ns) * 1e-9);
    }
    for (uint32_t i = 0; i < r.n; i++) {
        weir_table_close(r.tables[i]);
    }
    return status_of(rc);
}

int cmd_gen(int argc, char **argv)
{
    static const struct options options = {
        .rows = rows,
        .doc = doc,
        OPTION_OPERAND("chbench", struct gen_args, what),
        .check = check_args};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct gen_args a = {
        .warehouses = 1,
        .seed = 1,
        .wanted = {true, true, true, true},
        .jobs = processors > 0 && processors <= 256 ? (uint32_t)processors : 1};
    struct weir_error err = {.message = "no memory"};
    options_parse(&options, argc, argv, &a);
    int status = run(&a, &err);
    if (status != STATUS_OK) {
        (void)fprintf(stderr, "weir gen: %s\n", err.message);
    }
    return status;
}
