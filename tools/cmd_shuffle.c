/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir shuffle: a CSV file in, a CSV file per partition out. Arguments, order
 * of steps, summary; the steps themselves are in csv_plan, csv_dir and csv_job.
 */
#define _GNU_SOURCE 1
#include "cli/cmd.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/progress.h"
#include "cli/status.h"
#include "launch/clock.h"
#include "tools/csv_dir.h"
#include "tools/csv_job.h"
#include "tools/csv_plan.h"

enum { MAX_KEYS = 64, MAX_PARTS = 1024 };
enum { PHASE_READ, PHASE_SHUFFLE };

static const struct progress_phase phases[] = {
    [PHASE_READ] = {"reading the file", "B"},
    [PHASE_SHUFFLE] = {"shuffling", " rows"},
};

struct shuffle_args {
    const char *file;
    const char *out;
    const char *by; /* as given */
    bool force;
    uint32_t nodes;
    uint32_t workers;
    const char *transport;
    struct identity identity;
    uint64_t memory_bytes;
    uint64_t stopped_ns;
};

/* ---- arguments ----------------------------------------------------------- */

static const struct option_row rows[] = {
    {"by", 'b', "COL[,COL]", "Columns whose values decide the partition",
     OPTION_TEXT(struct shuffle_args, by)},
    {"nodes", 'n', "N", "Processes [4]",
     OPTION_U32(struct shuffle_args, nodes, 1, 256)},
    {"workers", 'w', "W", "Worker threads of each [1]",
     OPTION_U32(struct shuffle_args, workers, 1, 64)},
    {"transport", 't', "NAME",
     "Between the processes: shm, tcp, verbs or auto [shm]",
     OPTION_WORD(struct shuffle_args, transport, option_transports)},
    {"secret-file", 0, "FILE",
     "The processes prove to each other that they know the secret in it",
     OPTION_TEXT(struct shuffle_args, identity.secret_file)},
    {IDENTITY_PSK(struct shuffle_args, identity)},
    {IDENTITY_PLAIN(struct shuffle_args, identity)},
    {IDENTITY_CERT(struct shuffle_args, identity)},
    {IDENTITY_KEY(struct shuffle_args, identity)},
    {IDENTITY_CA(struct shuffle_args, identity)},
    {"memory", 'm', "BYTES",
     "Cap on the buffers that travel, for each process; K, M, G may follow "
     "[512M]",
     OPTION_BYTES(struct shuffle_args, memory_bytes)},
    {"stopped", 0, "S",
     "Say which process a signal has stopped, after S seconds [10]",
     OPTION_SECONDS(struct shuffle_args, stopped_ns, 1, 1000000000)},
    {"out", 0, "DIR", "Where to write; must not exist or be empty",
     OPTION_TEXT(struct shuffle_args, out)},
    {"force", 0, NULL, "DIR may hold files; its part files are replaced",
     OPTION_FLAG(struct shuffle_args, force)},
    {.name = NULL},
};

static const char doc[] =
    "Partition the rows of a CSV file by the hash of some columns, in N "
    "processes.\vThe output is DIR/part-00000.csv, ... one file for each of "
    "the N x W workers, each with the header. Rows with equal keys are in one "
    "file; every row is in exactly one. No order of rows is kept.\n"
    "\n"
    "FILE has a header line and is CSV as in RFC 4180: commas, fields in "
    "quotes where needed, a quote inside twice. A field without anything is "
    "null, \"\" is an empty text. Types (int64, bool, date, timestamp, "
    "decimal, float64, utf8) are found in a first pass over the whole file; a "
    "column whose texts would not come back unchanged is utf8, so no field "
    "changes. Texts go through as they are, whatever their encoding. Lines end "
    "with LF in the output; a byte order mark is dropped.\n"
    "\n"
    "A run that fails leaves no output.\n"
    "\n"
    "With --tls-cert the names in the certificate are \"process 0 of N\" to "
    "\"process N-1 of N\".\n"
    "\n"
    "Exit status: 0 done; 1 the run failed; 2 wrong use (an option, an "
    "unknown column, a DIR that is not empty); 3 bad input (no such file, a "
    "malformed line).";

static void check_args(struct argp_state *state, void *args)
{
    struct shuffle_args *a = args;
    if (a->by == NULL) {
        argp_error(state, "no --by: say which columns decide the partition");
    }
    if (a->out == NULL) {
        argp_error(state, "no --out: say where to write");
    }
    identity_check(state, &a->identity);
    if (a->nodes * a->workers > MAX_PARTS) {
        argp_error(state, "%u nodes x %u workers are over %d partitions",
                   a->nodes, a->workers, (int)MAX_PARTS);
    }
}

/* ---- steps --------------------------------------------------------------- */

/* Steps return an exit status; their message is printed when the progress line
 * is gone. */

/* Columns of --by. The whole text is tried as one name first: a name with a
 * comma can be given alone, but not in a list. */
static weir_err find_keys(const struct shuffle_args *a,
                          const struct csv_plan *plan, uint32_t keys[MAX_KEYS],
                          uint32_t *n_keys, struct weir_error *err)
{
    *n_keys = 1;
    if (csv_plan_find(plan, a->by, &keys[0], err) != WEIR_ERR_NOT_FOUND) {
        return csv_plan_find(plan, a->by, &keys[0], err);
    }
    char *list = strdup(a->by);
    char *rest = list;
    weir_err rc = list == NULL ? WEIR_ERR_NO_MEMORY : WEIR_OK;
    *n_keys = 0;
    while (rc == WEIR_OK && rest != NULL && *n_keys < MAX_KEYS) {
        const char *name = strsep(&rest, ",");
        rc = csv_plan_find(plan, name, &keys[*n_keys], err);
        (*n_keys)++;
    }
    free(list);
    return rc;
}

static int compare_rows(const void *a, const void *b)
{
    const struct csv_tally *x = a;
    const struct csv_tally *y = b;
    return (x->rows > y->rows) - (x->rows < y->rows);
}

static void print_summary(const struct shuffle_args *a,
                          const struct csv_plan *plan, struct csv_tally *tally,
                          double seconds)
{
    const uint32_t n = plan->n_parts;
    uint64_t written = 0;
    for (uint32_t i = 0; i < n; i++) {
        written += tally[i].bytes;
    }
    qsort(tally, n, sizeof(*tally), compare_rows);
    uint64_t median = (tally[(n - 1) / 2].rows + tally[n / 2].rows) / 2;
    (void)printf("%" PRIu64 " rows, %" PRIu64 " bytes read, %" PRIu64
                 " written, in %.2f s (%u process%s over %s)\n",
                 plan->rows, plan->bytes, written, seconds, a->nodes,
                 a->nodes == 1 ? "" : "es", a->transport);
    (void)printf("columns:");
    for (uint32_t i = 0; i < plan->n_columns; i++) {
        char type[WI_TYPE_TEXT_BYTES];
        (void)printf("%s %s %s", i == 0 ? "" : ",", plan->columns[i].name,
                     wi_type_text(&plan->columns[i].type, type));
    }
    (void)printf("\n%u partition%s by %s: rows min %" PRIu64 ", median %" PRIu64
                 ", max %" PRIu64 "\n",
                 n, n == 1 ? "" : "s", a->by, tally[0].rows, median,
                 tally[n - 1].rows);
    (void)printf("%s/part-00000.csv .. part-%05u.csv\n", a->out, n - 1);
}

static int run_job(const struct shuffle_args *a, const struct csv_plan *plan,
                   struct csv_job *job, struct csv_tally *tally,
                   struct weir_error *err)
{
    struct csv_dir *dir;
    if (csv_dir_open(a->out, NULL, plan->n_parts, &dir, err) != WEIR_OK) {
        return STATUS_FAILED;
    }
    job->dir = dir;
    progress_begin(job->progress, PHASE_SHUFFLE, plan->rows);
    weir_err rc = csv_job_run(job, tally, err);
    if (rc != WEIR_OK) {
        csv_dir_abandon(dir);
        return status_of(rc);
    }
    return status_of(csv_dir_commit(dir, err));
}

/* Both passes. */
static int run(const struct shuffle_args *a, struct csv_plan *plan,
               struct progress *progress, struct csv_tally *tally,
               struct weir_error *err)
{
    uint32_t keys[MAX_KEYS];
    uint32_t n_keys;
    weir_err rc = csv_plan_open(plan, a->file, a->nodes * a->workers, err);
    if (rc != WEIR_OK) {
        return status_of_input(rc);
    }
    if (find_keys(a, plan, keys, &n_keys, err) != WEIR_OK) {
        return STATUS_USAGE;
    }
    progress_begin(progress, PHASE_READ, plan->bytes);
    rc = csv_plan_scan(plan, &progress_counters(progress)[0].rows, err);
    if (rc != WEIR_OK) {
        return status_of_input(rc);
    }
    struct csv_job job = {
        .plan = plan,
        .progress = progress,
        .transport = a->transport,
        .identity = a->identity,
        .nodes = a->nodes,
        .workers = a->workers,
        .memory_bytes = a->memory_bytes,
        .stopped_ns = a->stopped_ns,
        .keys = keys,
        .n_keys = n_keys,
    };
    return run_job(a, plan, &job, tally, err);
}

static int run_shown(const struct shuffle_args *a, struct csv_plan *plan,
                     struct csv_tally *tally, struct weir_error *err)
{
    struct progress *progress;
    uint64_t begin_ns = wl_now_ns();
    if (csv_dir_check(a->out, a->force, err) != WEIR_OK) {
        return STATUS_USAGE;
    }
    if (progress_open(STDERR_FILENO, a->nodes, phases, &progress, err) !=
        WEIR_OK) {
        return STATUS_FAILED;
    }
    int status = run(a, plan, progress, tally, err);
    progress_close(progress);
    if (status == STATUS_OK) {
        print_summary(a, plan, tally, (double)(wl_now_ns() - begin_ns) * 1e-9);
    }
    return status;
}

int cmd_shuffle(int argc, char **argv)
{
    static const struct options options = {
        .rows = rows,
        .doc = doc,
        OPTION_OPERAND("FILE", struct shuffle_args, file),
        .check = check_args};
    struct shuffle_args a = {.nodes = 4, .workers = 1, .transport = "shm"};
    struct weir_error err = {.message = "no memory"};
    struct csv_plan plan = {.fd = -1};
    int status = STATUS_FAILED;
    options_parse(&options, argc, argv, &a);
    struct csv_tally *tally = calloc(a.nodes * a.workers, sizeof(*tally));
    if (tally != NULL) {
        status = run_shown(&a, &plan, tally, &err);
    }
    if (status != STATUS_OK) {
        (void)fprintf(stderr, "weir shuffle: %s\n", err.message);
    }
    csv_plan_close(&plan);
    free(tally);
    return status;
}
