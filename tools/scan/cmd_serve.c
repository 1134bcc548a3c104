/* SPDX-License-Identifier: Apache-2.0 */
/* weir serve: a database, or a folder of files, for whoever asks. */
#define _GNU_SOURCE 1
#include "cli/cmd.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/scan.h>
#include <weir/stats.h>

#include "cli/fail.h"
#include "cli/identity.h"
#include "cli/options.h"
#include "cli/status.h"
#include "launch/ask.h"
#include "tools/scan/duck.h"
#include "tools/scan/plan_engine.h"

enum { MAX_SET = 32, MAX_ALLOW = 32, MAX_WORKERS = 64 };
#define MAX_SECONDS UINT64_C(1000000000)

struct serve_args {
    const char *database;
    const char *driver; /* NULL: DuckDB */
    bool duckdb;
    bool weir;
    struct plan_stream_params plans;
    bool anybody;
    bool write;
    bool create;
    const char *transport; /* NULL: as who is served */
    const char *listen;
    const char *advertise;
    struct identity identity;
    uint64_t memory_bytes;
    uint64_t statement_ns;
    uint32_t clients;
    struct weir_scan_option set[MAX_SET]; /* of the database */
    uint32_t n_set;
    const char *allow[MAX_ALLOW]; /* folders */
    uint32_t n_allow;
};

/* What is served, and by what. */
struct service {
    struct duck duck;
    struct weir_scan_engine engine; /* duck's, or closed here; NULL: none */
    weir_node *node;
    weir_scan_server *server;
};

/* ---- arguments ----------------------------------------------------------- */

/* KEY=VALUE */
static void take_set(struct argp_state *state, void *args, const char *text)
{
    struct serve_args *a = args;
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || a->n_set == MAX_SET - 1) {
        argp_error(state, "--set is KEY=VALUE, at most %d times",
                   (int)MAX_SET - 1);
        return;
    }
    char *key = strndup(text, (size_t)(equals - text)); /* until the end */
    a->set[a->n_set++] = (struct weir_scan_option){key, equals + 1};
}

static void take_allow(struct argp_state *state, void *args, const char *text)
{
    struct serve_args *a = args;
    if (a->n_allow == MAX_ALLOW) {
        argp_error(state, "--allow-files at most %d times", (int)MAX_ALLOW);
        return;
    }
    a->allow[a->n_allow++] = text;
}

/* What a driver's statements may do nobody here knows. */
static void check_files(struct argp_state *state, const struct serve_args *a)
{
    const bool files = a->n_allow > 0;
    if (a->weir && (files || a->write)) {
        argp_error(state, "--allow-files and --write are not for --weir: plans "
                          "read the files of their folder, and write none");
    }
    if (a->create && (!a->write || a->driver != NULL)) {
        argp_error(state, "--create needs --write, and DuckDB");
    }
    if (a->driver != NULL &&
        (!a->write || a->n_allow != 1 || strcmp(a->allow[0], "/") != 0)) {
        argp_error(state, "--adbc: statements reach the driver as they are, "
                          "and may read and write files and tables: say so, "
                          "by --allow-files / --write");
    }
}

/* The kernel says of which user a process is that comes over shm; of who comes
 * over a network nobody says anything. */
static void check_who(struct argp_state *state, struct serve_args *a)
{
    const bool known = a->identity.secret_file != NULL ||
                       a->identity.tls.tls_cert_file != NULL;
    const char *transport = a->transport != NULL  ? a->transport
                            : known || a->anybody ? "auto"
                                                  : "shm";
    const bool network = strcmp(transport, "shm") != 0;
    if (known && a->anybody) {
        argp_error(state, "--anybody and an identity exclude each other");
    }
    if (!known && !a->anybody &&
        (network || (a->listen != NULL && strchr(a->listen, ':') != NULL))) {
        argp_error(state,
                   "%s%s: whoever reaches it could run any statement: "
                   "give --secret-file, or --tls-cert, or --anybody; "
                   "without, processes of this user on this host are "
                   "served, over shm (--listen NAME)",
                   network ? "--transport " : "--listen ",
                   network ? transport : a->listen);
    }
    a->transport = transport;
}

static void check_args(struct argp_state *state, void *args)
{
    struct serve_args *a = args;
    if (a->duckdb + a->weir + (a->driver != NULL) > 1) {
        argp_error(state, "one of --duckdb, --adbc and --weir");
    }
    if (a->weir && a->n_set > 0) {
        argp_error(state, "--set is for --duckdb and --adbc");
    }
    if (!a->weir && (a->plans.workers > 0 || a->plans.memory_bytes > 0)) {
        argp_error(state, "--workers and --plan-memory are for --weir");
    }
    check_files(state, a);
    identity_check(state, &a->identity);
    check_who(state, a);
}

static const struct option_row rows[] = {
    {"duckdb", 0, NULL, "The engine is DuckDB; the default",
     OPTION_FLAG(struct serve_args, duckdb)},
    {"adbc", 0, "DRIVER",
     "The engine is this ADBC driver, a shared library, which is given "
     "DATABASE as its uri",
     OPTION_TEXT(struct serve_args, driver)},
    {"weir", 0, NULL,
     "The engine is Weir's own, which runs plans; DATABASE is a folder",
     OPTION_FLAG(struct serve_args, weir)},
    {"workers", 'w', "W", "Threads of each plan [1]",
     OPTION_U32(struct serve_args, plans.workers, 1, MAX_WORKERS)},
    {"plan-memory", 0, "BYTES",
     "That the operators of each plan may hold; K, M, G may follow [1G]",
     OPTION_BYTES(struct serve_args, plans.memory_bytes)},
    {"set", 's', "KEY=VALUE", "An option of the database, any number of them",
     OPTION_OWN(take_set)},
    {"write", 0, NULL,
     "Statements may change tables and views, and with --allow-files write "
     "files",
     OPTION_FLAG(struct serve_args, write)},
    {"create", 0, NULL, "Make the database if it is not there; with --write",
     OPTION_FLAG(struct serve_args, create)},
    {"allow-files", 0, "DIR",
     "Statements may read files below DIR by their names; any number of them "
     "[none]",
     OPTION_OWN(take_allow)},
    {"listen", 'l', "HOST:PORT",
     "Where to listen; with shm a name [127.0.0.1, a free port]",
     OPTION_TEXT(struct serve_args, listen)},
    {"advertise", 0, "HOST:PORT",
     "Where clients reach it, if that is not where it listens",
     OPTION_TEXT(struct serve_args, advertise)},
    {"secret-file", 0, "FILE",
     "Serve clients that prove they know the secret in it",
     OPTION_TEXT(struct serve_args, identity.secret_file)},
    {"anybody", 0, NULL, "Serve whoever reaches the address",
     OPTION_FLAG(struct serve_args, anybody)},
    {IDENTITY_PSK(struct serve_args, identity)},
    {IDENTITY_PLAIN(struct serve_args, identity)},
    {IDENTITY_CERT(struct serve_args, identity)},
    {IDENTITY_KEY(struct serve_args, identity)},
    {IDENTITY_CA(struct serve_args, identity)},
    {IDENTITY_NAME(struct serve_args, identity)},
    {"transport", 't', "NAME",
     "shm, tcp, verbs, or auto: the best that each client has [auto; shm if "
     "nobody else is to be served]",
     OPTION_WORD(struct serve_args, transport, option_transports)},
    {"memory", 'm', "BYTES",
     "For what travels to clients; K, M, G may follow [512M]",
     OPTION_BYTES(struct serve_args, memory_bytes)},
    {"statement-time", 0, "S",
     "End a statement that has been worked at for S seconds [never]",
     OPTION_SECONDS(struct serve_args, statement_ns, 1, MAX_SECONDS)},
    {"clients", 0, "N", "Most at a time [256]",
     OPTION_U32(struct serve_args, clients, 1, 4096)},
    {.name = NULL},
};

static const char doc[] =
    "Serve a database to `weir scan`, to programs that use weir/scan.h, and to "
    "the ADBC driver.\vDATABASE is a file of DuckDB, or a folder: each of its "
    "files NAME.parquet, NAME.csv, NAME.csv.gz, NAME.json is a view NAME then. "
    "With --adbc it is what the driver takes as a uri. With --weir it is a "
    "folder of plans and of the CSV files that they name: a statement is a "
    "plan "
    "in JSON (docs/plan.md), or the name of a plan's file; each folder in it "
    "is "
    "a data set of its name. $WEIR_DUCKDB says where libduckdb.so is, if the "
    "system does not find it.\n"
    "\n"
    "The first line printed is the address. SIGINT and SIGTERM end it. Without "
    "--secret-file, --tls-cert or --anybody processes of this user on this "
    "host "
    "are served, over shm. Whoever is served may run statements: they read "
    "tables and views, and change none without --write; there are no users. "
    "Settings are the server's alone.\n"
    "\n"
    "Exit status: 0 ended by SIGINT or SIGTERM; 1 failed; 2 wrong use; 3 bad "
    "input (the driver, the database, a file of the folder).";

/* ---- the service --------------------------------------------------------- */

static weir_err open_duck(const struct serve_args *a, struct service *s,
                          struct weir_error *err)
{
    const struct duck_params params = {.database = a->database,
                                       .set = a->set,
                                       .n_set = a->n_set,
                                       .allow = a->allow,
                                       .n_allow = a->n_allow,
                                       .write = a->write,
                                       .create = a->create};
    weir_err rc = duck_open(&params, &s->duck, err);
    s->engine = s->duck.engine;
    return rc;
}

static weir_err open_engine(struct serve_args *a, struct service *s,
                            struct weir_error *err)
{
    if (a->weir) {
        return plan_engine_open(a->database, &a->plans, &s->engine, err);
    }
    if (a->driver == NULL) {
        return open_duck(a, s, err);
    }
    a->set[a->n_set++] = (struct weir_scan_option){"uri", a->database};
    const struct weir_scan_adbc_params params = {
        .driver = a->driver, .options = a->set, .n_options = a->n_set};
    return weir_scan_adbc_open(&params, &s->engine, err);
}

static weir_err open_server(const struct serve_args *a, struct service *s,
                            struct weir_error *err)
{
    struct weir_node_params node = {.transport = a->transport,
                                    .listen = a->listen,
                                    .advertise = a->advertise,
                                    .memory_bytes = a->memory_bytes,
                                    .max_peers = a->clients};
    /* Plans have several data sets, drivers one. */
    const struct weir_scan_source source = {.name = a->weir ? NULL : "",
                                            .engine = s->engine};
    struct weir_scan_server_params server = {
        .sources = &source, .n_sources = 1, .statement_ns = a->statement_ns};
    identity_use(&a->identity, &node);
    weir_err rc = weir_node_open(&node, &s->node, err);
    if (rc == WEIR_OK) {
        struct weir_node_stats stats;
        weir_node_stats_get(s->node, &stats);
        /* Half of what the server takes for batches. */
        server.client_bytes = stats.memory_cap_bytes / 4;
        rc = wl_ask_node(s->node, err);
    }
    return rc == WEIR_OK
               ? weir_scan_server_open(s->node, &server, &s->server, err)
               : rc;
}

static void close_all(struct service *s)
{
    weir_scan_server_close(s->server);
    if (s->node != NULL) {
        wl_ask_forget(s->node);
        weir_node_close(s->node);
    }
    if (s->duck.engine.close != NULL) {
        duck_close(&s->duck);
    } else if (s->engine.close != NULL) {
        s->engine.close(s->engine.arg);
    }
}

static void say_where(const struct serve_args *a, const struct service *s)
{
    (void)printf("%s\n", weir_node_address(s->node));
    (void)fflush(stdout);
    if (s->duck.n_views > 0) {
        (void)fprintf(stderr, "weir serve: %s, %" PRIu32 " views\n",
                      a->database, s->duck.n_views);
    }
    if (a->anybody) {
        (void)fprintf(stderr, "weir serve: whoever reaches this address may "
                              "run statements\n");
    }
}

static void say_how_much(const struct service *s)
{
    struct weir_scan_stats stats;
    weir_scan_server_stats(s->server, &stats);
    (void)fprintf(stderr,
                  "weir serve: %" PRIu64 " requests, %" PRIu64
                  " of them failed; %" PRIu64 " rows in %" PRIu64 " batches\n",
                  stats.opened, stats.failed, stats.rows, stats.batches);
}

/* Signals that end it are blocked in all of its threads, and waited for. */
static int serve(struct serve_args *a, const sigset_t *ends,
                 struct weir_error *err)
{
    int number;
    struct service s = {.node = NULL};
    weir_err rc = open_engine(a, &s, err);
    int status = rc == WEIR_OK ? STATUS_OK : status_of_input(rc);
    if (rc == WEIR_OK && (rc = open_server(a, &s, err)) != WEIR_OK) {
        status = rc == WEIR_ERR_ARG ? STATUS_USAGE : STATUS_FAILED;
    }
    if (rc == WEIR_OK) {
        say_where(a, &s);
        (void)sigwait(ends, &number);
        say_how_much(&s);
    }
    close_all(&s);
    return status;
}

int cmd_serve(int argc, char **argv)
{
    static const struct options options = {
        .rows = rows,
        .doc = doc,
        OPTION_OPERAND("DATABASE", struct serve_args, database),
        .check = check_args};
    struct serve_args a = {.clients = 256};
    struct weir_error err = {.message = "no memory"};
    sigset_t ends;
    options_parse(&options, argc, argv, &a);
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGINT);
    (void)sigaddset(&ends, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &ends, NULL);
    wl_ask_block(1); /* in all threads: the one of the node waits for it */
    int status = serve(&a, &ends, &err);
    if (status != STATUS_OK) {
        (void)fprintf(stderr, "weir serve: %s\n", err.message);
    }
    return status;
}
