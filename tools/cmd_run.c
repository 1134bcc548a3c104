/* SPDX-License-Identifier: Apache-2.0 */
/* weir run: a plan in, its answer out. Arguments and order of steps; the
 * processes are in run_job, the figures in run_report. */
#define _GNU_SOURCE 1
#include "tools/cmd.h"

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/lib/clock.h"
#include "tools/fail.h"
#include "tools/options.h"
#include "tools/plan_file.h"
#include "tools/run_job.h"
#include "tools/run_report.h"

enum { STATUS_OK, STATUS_FAILED, STATUS_USAGE, STATUS_INPUT };
enum { KEY_PROGRESS = 256, KEY_ANALYZE, KEY_TIMEOUT };
enum { MAX_NODES = 256, MAX_WORKERS = 64, COPY_BYTES = 1 << 16 };
#define MAX_SECONDS UINT64_C(1000000000)

static const struct progress_phase phases[] = {{"running", " rows"}};

struct run_args {
    const char *file;
    const char *data;
    struct run_job job;
    bool progress;
    bool analyze;
};

/* ---- arguments ------------------------------------------------------------- */

static const struct argp_option options[] = {
    {"nodes", 'n', "N", 0, "Processes [1]", 0},
    {"workers", 'w', "W", 0, "Worker threads of each [1]", 0},
    {"transport", 't', "NAME", 0,
     "Between the processes: shm, tcp, verbs or auto [shm]", 0},
    {"data", 'd', "DIR", 0, "Where relative paths of the plan begin [.]", 0},
    {"memory", 'm', "BYTES", 0,
     "That the operators of each process may hold; K, M, G may follow [1G]", 0},
    {"format", 'f', "NAME", 0, "Of the rows: table, csv or json [table]", 0},
    {"timeout", KEY_TIMEOUT, "S", 0, "Give up after S seconds [never]", 0},
    {"progress", KEY_PROGRESS, NULL, 0,
     "Show how many rows have moved, on a terminal", 0},
    {"analyze", KEY_ANALYZE, NULL, 0,
     "Then print what each operator did, on standard error", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static const char doc[] =
    "Run a query plan in N processes on this machine, and print its "
    "answer.\vPLAN is a file as docs/plan.md has it; - is standard input. It "
    "gives the same answer on any number of processes and workers, over any "
    "transport; rows that the plan does not order come in any order.\n"
    "\n"
    "Values are printed exactly. table: aligned columns. csv: RFC 4180 with a "
    "header; a null is a field without anything, \"\" an empty text. json: an "
    "object per line; decimals, dates and times are texts.\n"
    "\n"
    "Exit status: 0 done; 1 the run failed; 2 wrong use; 3 bad input (a "
    "mistake in the plan, a file that is not there, a value that cannot be "
    "read or computed).";

static uint64_t number(struct argp_state *state, const char *name,
                       const char *text, uint64_t max)
{
    const struct option_row row = {.name = name, .min = 1, .max = max};
    return option_number(state, &row, text);
}

/* Place of a word in a list that ends with NULL. */
static uint32_t word(struct argp_state *state, const char *name,
                     const char *text, const char *const *words)
{
    char list[128] = "";
    for (uint32_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            return i;
        }
        (void)snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
                       i == 0 ? "" : ", ", words[i]);
    }
    argp_error(state, "--%s is \"%s\"; must be one of %s", name, text, list);
    return 0;
}

static error_t parse_value(int key, char *arg, struct argp_state *state)
{
    static const char *const transports[] = {"shm", "tcp", "verbs", "auto",
                                             NULL};
    static const char *const formats[] = {"table", "csv", "json", NULL};
    struct run_args *a = state->input;
    switch (key) {
    case 'n':
        a->job.nodes = (uint32_t)number(state, "nodes", arg, MAX_NODES);
        return 0;
    case 'w':
        a->job.workers = (uint32_t)number(state, "workers", arg, MAX_WORKERS);
        return 0;
    case 't':
        a->job.transport =
            transports[word(state, "transport", arg, transports)];
        return 0;
    case 'm':
        a->job.memory_bytes = option_bytes(state, "memory", arg);
        return 0;
    case 'f':
        a->job.format = (enum rows_format)word(state, "format", arg, formats);
        return 0;
    case KEY_TIMEOUT:
        a->job.timeout_ns =
            UINT64_C(1000000000) * number(state, "timeout", arg, MAX_SECONDS);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_arg(int key, char *arg, struct argp_state *state)
{
    struct run_args *a = state->input;
    switch (key) {
    case 'd':
        a->data = arg;
        return 0;
    case KEY_PROGRESS:
        a->progress = true;
        return 0;
    case KEY_ANALYZE:
        a->analyze = true;
        return 0;
    case ARGP_KEY_ARG:
        if (a->file != NULL) {
            argp_error(state, "one PLAN only; \"%s\" is a second", arg);
        }
        a->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->file == NULL) {
            argp_error(state, "no PLAN given");
        }
        return 0;
    default:
        return parse_value(key, arg, state);
    }
}

/* ---- steps ----------------------------------------------------------------- */

static int status_of(weir_err code)
{
    return code == WEIR_ERR_DATA || code == WEIR_ERR_QUERY_DATA ? STATUS_INPUT
                                                                : STATUS_FAILED;
}

static weir_err copy(FILE *from, struct weir_error *err)
{
    static char buffer[COPY_BYTES];
    size_t n;
    rewind(from);
    while ((n = fread(buffer, 1, sizeof(buffer), from)) > 0) {
        if (fwrite(buffer, 1, n, stdout) != n) {
            return tool_fail_errno(err, "write the rows");
        }
    }
    return WEIR_OK;
}

/* Rows and the progress line would get into each other on a terminal: the rows
 * wait in a file until the line is gone. */
static weir_err run_shown(struct run_job *job, struct run_op *ops,
                          struct weir_error *err)
{
    weir_err rc =
        progress_open(STDERR_FILENO, job->nodes, phases, &job->progress, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    job->to = tmpfile();
    rc =
        job->to == NULL ? tool_fail_errno(err, "a file for the rows") : WEIR_OK;
    if (rc == WEIR_OK) {
        progress_begin(job->progress, 0, 0);
        rc = run_job_run(job, ops, err);
    }
    progress_close(job->progress);
    if (rc == WEIR_OK) {
        rc = copy(job->to, err);
    }
    if (job->to != NULL) {
        (void)fclose(job->to);
    }
    return rc;
}

static int run_plan(struct run_args *a, struct weir_error *err)
{
    struct run_job *job = &a->job;
    struct run_op *ops =
        calloc(run_job_operators(job->plan), sizeof(struct run_op));
    const uint64_t begin_ns = wb_now_ns();
    if (ops == NULL) {
        return STATUS_FAILED;
    }
    weir_err rc =
        a->progress ? run_shown(job, ops, err) : run_job_run(job, ops, err);
    if (rc == WEIR_OK && a->analyze) {
        const double seconds = (double)(wb_now_ns() - begin_ns) * 1e-9;
        (void)fflush(stdout);
        rc = run_report(stderr, job, ops, err);
        (void)fprintf(stderr, "\n%.3f s: %u process%s x %u worker%s over %s\n",
                      seconds, job->nodes, job->nodes == 1 ? "" : "es",
                      job->workers, job->workers == 1 ? "" : "s",
                      job->transport);
    }
    free(ops);
    return rc == WEIR_OK ? STATUS_OK : status_of(rc);
}

static int run(struct run_args *a, struct weir_error *err)
{
    weir_plan *plan;
    if (plan_file_read(a->file, a->data, &plan, err) != WEIR_OK) {
        return STATUS_INPUT;
    }
    a->job.plan = plan;
    a->job.timed = a->analyze;
    int status = run_plan(a, err);
    weir_plan_close(plan);
    return status;
}

int cmd_run(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_arg,
                                     .args_doc = "PLAN",
                                     .doc = doc};
    struct run_args a = {
        .data = ".",
        .job = {.nodes = 1, .workers = 1, .transport = "shm", .to = stdout},
    };
    struct weir_error err = {.message = "no memory"};
    if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0) {
        return STATUS_USAGE;
    }
    int status = run(&a, &err);
    if (status != STATUS_OK) {
        (void)fprintf(stderr, "weir run: %s\n", err.message);
    }
    return status;
}
