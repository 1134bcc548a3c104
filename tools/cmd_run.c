/* SPDX-License-Identifier: Apache-2.0 */
/* weir run: a plan in, its answer out. Arguments and order of steps; the
 * processes are in run_job, the figures in run_report. */
#define _GNU_SOURCE 1
#include "cli/cmd.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/fail.h"
#include "cli/options.h"
#include "cli/run_job.h"
#include "cli/run_report.h"
#include "cli/status.h"
#include "launch/clock.h"
#include "tools/plan_file.h"

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

/* ---- arguments ----------------------------------------------------------- */

static void take_format(struct argp_state *state, void *args, const char *text)
{
    static const char *const formats[] = {
        [ROWS_TABLE] = "table", [ROWS_CSV] = "csv", [ROWS_JSON] = "json", NULL};
    struct run_args *a = args;
    a->job.format =
        (enum rows_format)option_word(state, "format", formats, text);
}

static const struct option_row rows[] = {
    {"nodes", 'n', "N", "Processes [1]",
     OPTION_U32(struct run_args, job.nodes, 1, MAX_NODES)},
    {"workers", 'w', "W", "Worker threads of each [1]",
     OPTION_U32(struct run_args, job.workers, 1, MAX_WORKERS)},
    {"transport", 't', "NAME",
     "Between the processes: shm, tcp, verbs or auto [shm]",
     OPTION_WORD(struct run_args, job.transport, option_transports)},
    {"secret-file", 0, "FILE",
     "The processes prove to each other that they know the secret in it",
     OPTION_TEXT(struct run_args, job.identity.secret_file)},
    {IDENTITY_PSK(struct run_args, job.identity)},
    {IDENTITY_PLAIN(struct run_args, job.identity)},
    {IDENTITY_CERT(struct run_args, job.identity)},
    {IDENTITY_KEY(struct run_args, job.identity)},
    {IDENTITY_CA(struct run_args, job.identity)},
    {"data", 'd', "DIR", "Where relative paths of the plan begin [.]",
     OPTION_TEXT(struct run_args, data)},
    {"memory", 'm', "BYTES",
     "That the operators of each process may hold, beside its rings and tables "
     "kept; K, M, G may follow [1G]",
     OPTION_BYTES(struct run_args, job.memory_bytes)},
    {"format", 'f', "NAME", "Of the rows: table, csv or json [table]",
     OPTION_OWN(take_format)},
    {"timeout", 0, "S", "Give up after S seconds [never]",
     OPTION_SECONDS(struct run_args, job.timeout_ns, 1, MAX_SECONDS)},
    {"stopped", 0, "S",
     "Say which process a signal has stopped, after S seconds [10]",
     OPTION_SECONDS(struct run_args, job.stopped_ns, 1, MAX_SECONDS)},
    {"progress", 0, NULL, "Show how many rows have moved, on a terminal",
     OPTION_FLAG(struct run_args, progress)},
    {"analyze", 0, NULL, "Then print what each operator did, on standard error",
     OPTION_FLAG(struct run_args, analyze)},
    {.name = NULL},
};

static const char doc[] =
    "Run a query plan in N processes on this machine, and print its "
    "answer.\vPLAN is a file as docs/plan.md has it; - is standard input. It "
    "gives the same answer on any number of processes and workers, over any "
    "transport; rows that the plan does not order come in any order.\n"
    "\n"
    "Values are printed exactly. table: aligned columns. csv: RFC 4180 with a "
    "header; a null is a field without anything, \"\" an empty text. json: an "
    "object per line; decimals, dates and times are texts. Bytes (binary, "
    "fixed) are themselves in csv, as its reader takes them, and two "
    "hexadecimal digits each elsewhere.\n"
    "\n"
    "With --tls-cert the names in the certificate are \"process 0 of N\" to "
    "\"process N-1 of N\".\n"
    "\n"
    "Exit status: 0 done; 1 the run failed; 2 wrong use; 3 bad input (a "
    "mistake in the plan, a file that is not there, a value that cannot be "
    "read or computed); 141 (128 + SIGPIPE) whoever reads the rows has closed "
    "the pipe: the run ends, and nothing is said.";

static void check_args(struct argp_state *state, void *args)
{
    struct run_args *a = args;
    identity_check(state, &a->job.identity);
}

/* ---- steps --------------------------------------------------------------- */

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

/* On a terminal, rows and the progress line would mix: the rows wait in a file
 * until the line is gone. */
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
    const uint64_t begin_ns = wl_now_ns();
    if (ops == NULL) {
        return STATUS_FAILED;
    }
    weir_err rc =
        a->progress ? run_shown(job, ops, err) : run_job_run(job, ops, err);
    if (rc == WEIR_OK && a->analyze) {
        const double seconds = (double)(wl_now_ns() - begin_ns) * 1e-9;
        (void)fflush(stdout);
        rc = run_report(stderr, job, ops, err);
        (void)fprintf(stderr, "\n%.3f s: %u process%s x %u worker%s over %s\n",
                      seconds, job->nodes, job->nodes == 1 ? "" : "es",
                      job->workers, job->workers == 1 ? "" : "s",
                      job->transport);
    }
    free(ops);
    return status_of(rc);
}

static int run(struct run_args *a, struct weir_error *err)
{
    weir_plan *plan;
    weir_err rc = plan_file_read(a->file, a->data, &plan, err);
    if (rc != WEIR_OK) {
        return status_of_input(rc);
    }
    a->job.plan = plan;
    a->job.timed = a->analyze;
    int status = run_plan(a, err);
    weir_plan_close(plan);
    return status;
}

int cmd_run(int argc, char **argv)
{
    static const struct options options = {
        .rows = rows,
        .doc = doc,
        OPTION_OPERAND("PLAN", struct run_args, file),
        .check = check_args};
    struct run_args a = {
        .data = ".",
        .job = {.nodes = 1, .workers = 1, .transport = "shm", .to = stdout},
    };
    struct weir_error err = {.message = "no memory"};
    options_parse(&options, argc, argv, &a);
    int status = run(&a, &err);
    if (status != STATUS_OK && status != STATUS_PIPE) {
        (void)fprintf(stderr, "weir run: %s\n", err.message);
    }
    return status;
}
