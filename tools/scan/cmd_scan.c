/* SPDX-License-Identifier: Apache-2.0 */
/* weir scan: a query, and where its rows go. */
#define _GNU_SOURCE 1
#include "cli/cmd.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weir/scan.h>

#include "cli/fail.h"
#include "cli/identity.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/status.h"
#include "launch/clock.h"
#include "tools/scan/counted.h"
#include "tools/scan/out.h"

enum { NAME_ROOM = 16, ADDRESS_ROOM = 512, LINE_ROOM = 128 };
#define MAX_SECONDS UINT64_C(1000000000)

static const struct progress_phase phases[] = {{"scanning", " rows"}};

struct scan_args {
    const char *address;
    const char *query;
    const char *out;
    const char *dataset;
    struct identity identity;
    uint32_t ahead;
    uint64_t memory_bytes;
    uint64_t timeout_ns;
    enum out_kind kind;
};

/* The connection, and its node. */
struct link {
    char address[ADDRESS_ROOM];
    char transport[NAME_ROOM];
    weir_node *node;
    weir_scan_client *client;
};

/* ---- arguments ----------------------------------------------------------- */

static void check_args(struct argp_state *state, void *args)
{
    struct scan_args *a = args;
    if (!out_kind_of(a->out, &a->kind)) {
        argp_error(state, "--out %s: must end with .parquet, .arrow or .csv",
                   a->out);
    }
    identity_check(state, &a->identity);
}

static const struct option_row rows[] = {
    {"out", 'o', "FILE",
     "Write the rows to FILE.parquet, FILE.arrow or FILE.csv",
     OPTION_TEXT(struct scan_args, out)},
    {"dataset", 'd', "NAME", "Of a server that has several",
     OPTION_TEXT(struct scan_args, dataset)},
    {"secret-file", 0, "FILE", "The secret of a server that asks for one",
     OPTION_TEXT(struct scan_args, identity.secret_file)},
    {IDENTITY_PSK(struct scan_args, identity)},
    {IDENTITY_PLAIN(struct scan_args, identity)},
    {IDENTITY_CERT(struct scan_args, identity)},
    {IDENTITY_KEY(struct scan_args, identity)},
    {IDENTITY_CA(struct scan_args, identity)},
    {IDENTITY_NAME(struct scan_args, identity)},
    {IDENTITY_SERVER(struct scan_args, identity)},
    {"ahead", 0, "N", "Batches in flight [4]",
     OPTION_U32(struct scan_args, ahead, 1, 16)},
    {"memory", 'm', "BYTES", "For what travels here; K, M, G may follow [512M]",
     OPTION_BYTES(struct scan_args, memory_bytes)},
    {"timeout", 0, "S", "Give up when nothing has come for S seconds [never]",
     OPTION_SECONDS(struct scan_args, timeout_ns, 1, MAX_SECONDS)},
    {.name = NULL},
};

static const char doc[] =
    "Send a statement to a server of scans (weir serve), and print its rows as "
    "a table, or write them to a file.\vADDRESS is what the server has "
    "printed, or HOST:PORT of one that listens with auto. Parquet and CSV are "
    "written by DuckDB ($WEIR_DUCKDB says where libduckdb.so is, if the system "
    "does not find it), Arrow files by nanoarrow. A file is there when it is "
    "whole. Types that a table cannot show can be written to a file.\n"
    "\n"
    "Exit status: 0 done; 1 failed (the server is not there, is lost, refuses "
    "or is refused; no memory; the file); 2 wrong use; 3 bad input (the "
    "statement); 141 nobody "
    "reads the rows any more.";

/* ---- the connection ------------------------------------------------------ */

/* "HOST:PORT" is auto's; all others begin with the transport's name. */
static void set_address(struct link *l, const char *address)
{
    (void)snprintf(l->transport, sizeof(l->transport), "auto");
    for (const char *const *t = option_transports; *t != NULL; t++) {
        const size_t n = strlen(*t);
        if (strncmp(address, *t, n) == 0 && address[n] == ':') {
            (void)snprintf(l->transport, sizeof(l->transport), "%s", *t);
            (void)snprintf(l->address, sizeof(l->address), "%s", address);
            return;
        }
    }
    (void)snprintf(l->address, sizeof(l->address), "auto:%s", address);
}

static weir_err link_open(struct link *l, const struct scan_args *a,
                          struct weir_error *err)
{
    set_address(l, a->address);
    struct weir_node_params node = {.transport = l->transport,
                                    .memory_bytes = a->memory_bytes};
    const struct weir_scan_client_params client = {.address = l->address,
                                                   .server_name =
                                                       a->identity.server_name,
                                                   .ahead = a->ahead,
                                                   .timeout_ns = a->timeout_ns};
    identity_use(&a->identity, &node);
    weir_err rc = weir_node_open(&node, &l->node, err);
    return rc == WEIR_OK ? weir_scan_connect(l->node, &client, &l->client, err)
                         : rc;
}

static void link_close(struct link *l)
{
    weir_scan_disconnect(l->client);
    if (l->node != NULL) {
        weir_node_close(l->node);
    }
}

/* ---- the scan ------------------------------------------------------------ */

static void say_rate(uint64_t n, uint64_t begin_ns)
{
    char count[PROGRESS_TEXT_BYTES];
    char rate[PROGRESS_TEXT_BYTES];
    const double seconds = (double)(wl_now_ns() - begin_ns) * 1e-9;
    if (isatty(STDERR_FILENO)) {
        (void)fprintf(stderr, "%s rows in %.2f s, %s rows/s\n",
                      progress_figure((double)n, count), seconds,
                      progress_figure((double)n / seconds, rate));
    }
}

/* The message, whole: struct weir_error has room for its beginning. */
static int fail(const struct link *l, int status, const struct weir_error *err)
{
    const struct weir_scan_fault *fault =
        l->client != NULL ? weir_scan_last_fault(l->client) : NULL;
    (void)fprintf(stderr, "weir scan: %s\n",
                  fault != NULL && fault->text != NULL ? fault->text
                                                       : err->message);
    return status;
}

/* What the engine says is about the statement. */
static int status_of_open(weir_err rc)
{
    switch (rc) {
    case WEIR_ERR_PEER_LOST:
    case WEIR_ERR_PEER_REFUSED:
    case WEIR_ERR_PEER_VERSION:
    case WEIR_ERR_TIMEOUT:
    case WEIR_ERR_BUDGET:
    case WEIR_ERR_NO_MEMORY:
    case WEIR_ERR_SYSTEM:
        return STATUS_FAILED;
    default:
        return STATUS_INPUT;
    }
}

static int scan(const struct scan_args *a, struct link *l,
                struct progress *progress, struct weir_error *err)
{
    const struct weir_scan_request request = {.dataset = a->dataset,
                                              .text = a->query};
    struct counted counted = {.counter = progress_counters(progress)};
    struct ArrowArrayStream from = {.release = NULL};
    struct ArrowArrayStream stream = {.release = NULL};
    const uint64_t begin_ns = wl_now_ns();
    weir_err rc = link_open(l, a, err);
    if (rc != WEIR_OK) {
        return fail(l, STATUS_FAILED, err);
    }
    rc = weir_scan_open(l->client, &request, &from, NULL, err);
    if (rc != WEIR_OK) {
        return fail(l, status_of_open(rc), err);
    }
    rc = counted_open(&from, &counted, &stream, err);
    if (rc == WEIR_OK) {
        rc = out_take(a->kind, a->out, &stream, err);
    }
    if (rc != WEIR_OK && rc != WEIR_DONE) {
        return fail(l, counted.failed != 0 ? status_of_open(rc) : STATUS_FAILED,
                    err);
    }
    say_rate(counted.counter->rows, begin_ns);
    return status_of(rc);
}

int cmd_scan(int argc, char **argv)
{
    static const struct options options = {
        .rows = rows,
        .doc = doc,
        OPTION_OPERAND("ADDRESS", struct scan_args, address),
        OPTION_SECOND("STATEMENT", struct scan_args, query),
        .check = check_args};
    struct scan_args a = {.dataset = ""};
    struct weir_error err = {.message = "no memory"};
    struct progress *progress = NULL;
    struct link link = {.node = NULL};
    options_parse(&options, argc, argv, &a);
    (void)signal(SIGPIPE, SIG_IGN); /* rows_out tells */
    /* It has a process of its own, made before there is any thread. */
    if (progress_open(STDERR_FILENO, 1, phases, &progress, &err) != WEIR_OK) {
        (void)fprintf(stderr, "weir scan: %s\n", err.message);
        return STATUS_FAILED;
    }
    progress_begin(progress, 0, 0);
    int status = scan(&a, &link, progress, &err);
    progress_close(progress);
    link_close(&link);
    return status;
}
