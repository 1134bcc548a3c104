/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "bench/scan/contest.h"

#include <stddef.h>

#include "bench/scan/engine.h"
#include "bench/scan/held.h"
#include "bench/scan/talk.h"
#include "cli/scan/engine.h"
#include "core/base/err.h"
#include "launch/group.h"
#include "launch/nodes.h"

enum { SERVER, CLIENT, MEMBERS };
#define DAY_NS UINT64_C(86400000000000)

/* In shared memory. */
struct shared {
    char address[MEMBERS][WL_ADDRESS_BYTES];
};

/* What requests are answered from. */
struct table {
    struct weir_scan_engine duckdb;
    struct wb_held *held;           /* NULL: DuckDB runs the queries */
    struct weir_scan_engine engine; /* one of the two */
};

/* ---- the table ----------------------------------------------------------- */

static void table_close(struct table *t)
{
    wb_held_close(t->held);
    if (t->duckdb.close != NULL) {
        t->duckdb.close(t->duckdb.arg);
    }
}

static weir_err hold(struct table *t, struct weir_error *err)
{
    struct ArrowArrayStream all = {.release = NULL};
    weir_err rc = engine_query(&t->duckdb, "from lineitem", &all, err);
    if (rc == WEIR_OK) {
        rc = wb_held_open(&all, &t->held, err);
    }
    if (rc == WEIR_OK) {
        t->engine = wb_held_engine(t->held);
    }
    return rc;
}

static weir_err table_open(struct table *t, const struct wb_contest_params *p,
                           struct weir_error *err)
{
    *t = (struct table){.held = NULL};
    weir_err rc =
        wb_engine_open(p->driver, p->database, false, &t->duckdb, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    t->engine = t->duckdb;
    rc = p->memory ? hold(t, err) : WEIR_OK;
    if (rc != WEIR_OK) {
        table_close(t);
    }
    return rc;
}

static weir_err ask_engine(void *arg, const char *text,
                           struct ArrowArrayStream *stream_out,
                           struct weir_error *err)
{
    return engine_query(arg, text, stream_out, err);
}

weir_err wb_contest_own(void *arg, FILE *from, FILE *to, struct weir_error *err)
{
    struct table table;
    weir_err rc = table_open(&table, arg, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    const struct wb_scan_way way = {.open = ask_engine, .arg = &table.engine};
    rc = wb_scan_talk(&way, "duckdb", from, to, err);
    table_close(&table);
    return rc;
}

/* ---- Weir ---------------------------------------------------------------- */

/* One of the two processes. */
struct end {
    struct wl_group *group;
    const struct wb_contest_params *params;
    FILE *from;
    FILE *to;
    weir_node *node;
};

/* For the members of a group. */
struct talk {
    const struct wb_contest_params *params;
    FILE *from;
    FILE *to;
};

static weir_err serve_table(struct end *e, const struct table *table,
                            struct weir_error *err)
{
    const struct weir_scan_source source = {.name = "",
                                            .engine = table->engine};
    const struct weir_scan_server_params params = {.sources = &source,
                                                   .n_sources = 1,
                                                   .batch_bytes =
                                                       e->params->batch_bytes};
    weir_scan_server *server = NULL;
    weir_err rc = weir_scan_server_open(e->node, &params, &server, err);
    if (rc != WEIR_OK) {
        return rc; /* ends the other one, too */
    }
    wl_group_meet(e->group);
    wl_group_meet(e->group);
    weir_scan_server_close(server);
    return WEIR_OK;
}

static weir_err serve(struct end *e, struct weir_error *err)
{
    struct table table;
    weir_err rc = table_open(&table, e->params, err);
    if (rc == WEIR_OK) {
        rc = serve_table(e, &table, err);
        table_close(&table);
    }
    return rc;
}

static weir_err ask_server(void *arg, const char *text,
                           struct ArrowArrayStream *stream_out,
                           struct weir_error *err)
{
    const struct weir_scan_request request = {.text = text};
    return weir_scan_open(arg, &request, stream_out, NULL, err);
}

static weir_err use(struct end *e, const char *address, struct weir_error *err)
{
    const struct weir_scan_client_params params = {.address = address,
                                                   .ahead = e->params->ahead};
    weir_scan_client *client = NULL;
    wl_group_meet(e->group);
    weir_err rc = weir_scan_connect(e->node, &params, &client, err);
    if (rc != WEIR_OK) {
        return rc; /* ends the other one, too */
    }
    const struct wb_scan_way way = {.open = ask_server, .arg = client};
    rc = wb_scan_talk(&way, "weir", e->from, e->to, err);
    weir_scan_disconnect(client);
    wl_group_meet(e->group);
    return rc;
}

static weir_err member(struct wl_group *group, uint32_t self, void *arg,
                       struct weir_error *err)
{
    const struct talk *talk = arg;
    const struct wb_contest_params *p = talk->params;
    struct shared *shared = wl_group_shared(group);
    const struct wl_nodes nodes = {
        .kind = "scan",
        .run = p->run,
        .n = MEMBERS,
        .address = shared->address,
        .params = {.transport = p->transport,
                   .listen = p->listen,
                   .memory_bytes = p->memory_bytes},
    };
    struct end e = {
        .group = group, .params = p, .from = talk->from, .to = talk->to};
    weir_err rc = wl_nodes_open(&nodes, self, &e.node, err);
    if (rc == WEIR_OK) {
        rc = self == SERVER ? serve(&e, err)
                            : use(&e, shared->address[SERVER], err);
        wl_nodes_close(e.node);
    }
    return rc;
}

weir_err wb_contest_weir(void *arg, FILE *from, FILE *to,
                         struct weir_error *err)
{
    const struct wl_group_params params = {.members = MEMBERS,
                                           .shared_bytes =
                                               sizeof(struct shared),
                                           .timeout_ns = DAY_NS};
    struct talk talk = {.params = arg, .from = from, .to = to};
    struct wl_group *group = NULL;
    weir_err rc = wl_group_open(&params, &group, err);
    if (rc == WEIR_OK) {
        rc = wl_group_run(group, member, &talk, err);
        wl_group_close(group);
    }
    return rc;
}
