/* SPDX-License-Identifier: Apache-2.0 */
/* weir bench two-stage: the plan of DAIS 2016 against its opponents. */
#define _GNU_SOURCE 1
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/commands/bench_kind.h"
#include "bench/lib/limit.h"
#include "bench/lib/pin.h"
#include "bench/lib/series.h"
#include "bench/lib/weir_engine.h"
#include "bench/opponents/mpi.h"
#include "bench/opponents/sockets.h"
#include "core/base/err.h"
#include "launch/certs.h"

#include <weir/identity.h>

struct two_stage {
    struct bench_common common;
    struct wb_series series;
};

enum {
    SHM,
    TCP,
    SOCKETS,
    MPI,
    MPI_TCP,
    VERBS,
    AUTO,
    LIMIT,
    SHM_SECRET,
    TCP_SECRET,
    TCP_PSK,
    TCP_TLS,
    SHM_NODE,
    TCP_NODE,
    N_KNOWN
};
static const char *const names[N_KNOWN + 1] = {[SHM] = "shm",
                                               [TCP] = "tcp",
                                               [SOCKETS] = "sockets",
                                               [MPI] = "mpi",
                                               [MPI_TCP] = "mpi-tcp",
                                               [VERBS] = "verbs",
                                               [AUTO] = "auto",
                                               [LIMIT] = "limit",
                                               [SHM_SECRET] = "shm-secret",
                                               [TCP_SECRET] = "tcp-secret",
                                               [TCP_PSK] = "tcp-psk",
                                               [TCP_TLS] = "tcp-tls",
                                               [SHM_NODE] = "shm-node",
                                               [TCP_NODE] = "tcp-node"};

static const char *mpi_shape = "bulk"; /* set once, before the series */

static weir_err run_weir(const char *name, const struct wb_plan_params *params,
                         double *seconds_out, struct weir_error *err)
{
    struct wb_plan_params p = *params;
    p.transport = name;
    return wb_plan_run(&wb_weir_engine, &p, seconds_out, err);
}

/* Rows are for nodes, not for their workers. */
static weir_err run_to_node(const char *name,
                            const struct wb_plan_params *params,
                            double *seconds_out, struct weir_error *err)
{
    struct wb_plan_params p = *params;
    p.to_node = true;
    return run_weir(strcmp(name, names[SHM_NODE]) == 0 ? "shm" : "tcp", &p,
                    seconds_out, err);
}

/* What a bench keeps is no secret. */
static uint32_t tell_secret(void *arg, uint32_t which, void *bytes,
                            uint32_t room)
{
    static const char text[] = "everybody may know this one: it is a bench";
    (void)arg;
    if (which != 0 || room < sizeof(text)) {
        return 0;
    }
    memcpy(bytes, text, sizeof(text));
    return sizeof(text);
}

/* The nodes prove to each other who they are. */
static weir_err run_secret(const char *name,
                           const struct wb_plan_params *params,
                           double *seconds_out, struct weir_error *err)
{
    const struct weir_identity identity = {
        .secret = tell_secret, .plain = strcmp(name, names[TCP_PSK]) != 0};
    struct wb_plan_params p = *params;
    p.identity = &identity;
    return run_weir(strcmp(name, names[SHM_SECRET]) == 0 ? "shm" : "tcp", &p,
                    seconds_out, err);
}

/* One certificate for all nodes, with all their names. */
static weir_err make_certs(const char *dir, uint32_t nodes,
                           struct weir_error *err)
{
    char file[WL_PATH_BYTES];
    char list[256 * 28] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < nodes; i++) {
        at += (size_t)snprintf(list + at, sizeof(list) - at,
                               "%sDNS:process %u of %u", i == 0 ? "" : ",", i,
                               nodes);
    }
    (void)snprintf(file, sizeof(file), "%s/bench", dir);
    const struct wl_cert cert = {file, list, -3600, 86400, false};
    struct wl_authority *a = wl_authority_open(file, "Weir bench");
    weir_err rc = a != NULL ? wl_authority_issue(a, &cert) : WEIR_ERR_SYSTEM;
    wl_authority_close(a);
    return rc == WEIR_OK
               ? rc
               : wi_fail(err, rc, "no certificates can be made in %s", dir);
}

static weir_err run_tls(const char *name, const struct wb_plan_params *params,
                        double *seconds_out, struct weir_error *err)
{
    static char dir[] = "/tmp/weir-bench-XXXXXX";
    static char file[3][WL_PATH_BYTES];
    static const char *const ends[] = {"crt", "key", "ca"};
    (void)name;
    if (mkdtemp(dir) == NULL) {
        return wi_fail(err, WEIR_ERR_SYSTEM, "no directory %s", dir);
    }
    for (uint32_t i = 0; i < 3; i++) {
        (void)snprintf(file[i], sizeof(file[i]), "%s/bench.%s", dir, ends[i]);
    }
    const struct weir_identity identity = {.tls_cert_file = file[0],
                                           .tls_key_file = file[1],
                                           .tls_ca_file = file[2]};
    struct wb_plan_params p = *params;
    p.identity = &identity;
    weir_err rc = make_certs(dir, p.nodes, err);
    rc = rc == WEIR_OK ? run_weir("tcp", &p, seconds_out, err) : rc;
    for (uint32_t i = 0; i < 3; i++) {
        (void)unlink(file[i]);
    }
    (void)rmdir(dir);
    (void)snprintf(dir, sizeof(dir), "/tmp/weir-bench-XXXXXX");
    return rc;
}

static weir_err run_sockets(const char *name,
                            const struct wb_plan_params *params,
                            double *seconds_out, struct weir_error *err)
{
    (void)name;
    return wb_plan_run(&wb_sockets_engine, params, seconds_out, err);
}

static weir_err run_limit(const char *name, const struct wb_plan_params *params,
                          double *seconds_out, struct weir_error *err)
{
    (void)name;
    return wb_plan_run(&wb_limit_engine, params, seconds_out, err);
}

static weir_err run_mpi(const char *name, const struct wb_plan_params *params,
                        double *seconds_out, struct weir_error *err)
{
    const struct wb_mpi_params mpi = {.shape = mpi_shape,
                                      .tcp = strcmp(name, names[MPI_TCP]) == 0};
    return wb_mpi_run(params, &mpi, seconds_out, err);
}

static struct wb_opponent opponent(uint32_t which)
{
    return (struct wb_opponent){.name = names[which],
                                .run = which == SOCKETS      ? run_sockets
                                       : which == MPI        ? run_mpi
                                       : which == MPI_TCP    ? run_mpi
                                       : which == LIMIT      ? run_limit
                                       : which == TCP_TLS    ? run_tls
                                       : which >= SHM_NODE   ? run_to_node
                                       : which >= SHM_SECRET ? run_secret
                                                             : run_weir};
}

static void take_opponents(struct argp_state *state, void *args,
                           const char *list)
{
    struct wb_series *s = &((struct two_stage *)args)->series;
    s->n = 0;
    while (list != NULL) {
        const uint32_t which =
            option_next_word(state, "transports", names, &list);
        for (uint32_t i = 0; i < s->n; i++) {
            if (strcmp(s->opponents[i].name, names[which]) == 0) {
                argp_error(state, "\"%s\" is listed twice", names[which]);
            }
        }
        s->opponents[s->n++] = opponent(which);
    }
}

/* Parked in the last place: it may come before --transports. */
static void take_limit(struct argp_state *state, void *args, const char *text)
{
    struct two_stage *a = args;
    (void)state;
    (void)text;
    a->series.opponents[WB_MAX_OPPONENTS - 1] = opponent(LIMIT);
}

static void take_shape(struct argp_state *state, void *args, const char *text)
{
    static const char *const shapes[] = {"bulk", "chunked", NULL};
    (void)args;
    mpi_shape = shapes[option_word(state, "mpi-shape", shapes, text)];
}

static void take_row(struct argp_state *state, void *args, const char *text)
{
    struct two_stage *a = args;
    a->series.params.row =
        (enum wb_row)option_word(state, "row", wb_row_names, text);
}

static const struct option_row two_stage_options[] = {
    {"nodes", 'n', "N", "Processes [8]",
     OPTION_U32(struct two_stage, series.params.nodes, 1, 256)},
    {"workers", 'w', "W", "Worker threads of each [1]",
     OPTION_U32(struct two_stage, series.params.workers, 1, 64)},
    ROWS_ROW(struct two_stage, series.params.rows_per_node,
             "Rows that each node makes [5000000]"),
    {"transports", 't', "LIST",
     "Whom to run: shm, tcp, verbs, auto, sockets, mpi, mpi-tcp; shm-secret "
     "and tcp-secret: of nodes that have a secret, without TLS; tcp-psk: TLS "
     "by that secret; tcp-tls: by certificates; shm-node and tcp-node: rows go "
     "to nodes, whose workers take them in turn [shm,tcp,sockets]",
     OPTION_OWN(take_opponents)},
    {"repeat", 'k', "K", "Interleaved runs of each [5]",
     OPTION_U32(struct two_stage, series.repeat, 1, WB_MAX_REPEAT)},
    {"times", 0, "N",
     "Timed queries of a run, one after the other; their median counts [1]",
     OPTION_U32(struct two_stage, series.params.times, 1, WB_MAX_TIMES)},
    {"limit", 0, NULL, "Also run the same loops without the exchange",
     OPTION_OWN(take_limit)},
    JSON_ROW(struct two_stage),
    {"row", 0, "KIND",
     "narrow (int64), mixed (int64, int32, decimal128, text of 20 bytes) or "
     "wide (int64, text of 100 bytes), with nulls [narrow]",
     OPTION_OWN(take_row)},
    {"pin", 0, NULL, "Bind process k to core k modulo cores",
     OPTION_FLAG(struct two_stage, series.params.pin)},
    {"mpi-shape", 0, "SHAPE", "bulk or chunked [bulk]", OPTION_OWN(take_shape)},
    FRAME_ROW(struct two_stage, series.params.frame_bytes,
              "Largest frame of Weir's transports [61440, verbs 65408]"),
    {"memory", 0, "BYTES", "That a node of Weir's may use [512M]",
     OPTION_BYTES(struct two_stage, series.params.memory_bytes)},
    RING_ROW(struct two_stage, series.params.ring_frames,
             "Frames in a ring of these [4]"),
    LISTEN_ROW(struct two_stage, series.params.listen),
    {"no-checksum", 0, NULL, "Weir does not check frame contents",
     OPTION_FLAG(struct two_stage, series.params.no_checksum)},
    {"timeout", 0, "S", "Seconds that a run may take [120]",
     OPTION_SECONDS(struct two_stage, series.params.timeout_ns, 1, 86400)},
    {.name = NULL},
};

static void init_two_stage(void *args)
{
    struct two_stage *a = args;
    a->series = (struct wb_series){
        .params = {.nodes = 8,
                   .workers = 1,
                   .rows_per_node = 5000000,
                   .times = 1},
        .cores = wb_cores(),
        .repeat = 5,
        .n = 3,
        .opponents = {opponent(SHM), opponent(TCP), opponent(SOCKETS)}};
}

/* What --limit has parked comes after the others. */
static void place_limit(struct wb_series *s)
{
    struct wb_opponent *last = &s->opponents[WB_MAX_OPPONENTS - 1];
    for (uint32_t i = 0; i < s->n; i++) {
        if (strcmp(s->opponents[i].name, "limit") == 0) {
            return;
        }
    }
    if (last->name != NULL) {
        s->opponents[s->n++] = *last;
    }
}

static weir_err run_two_stage(void *args, struct weir_error *err)
{
    struct wb_series *s = &((struct two_stage *)args)->series;
    place_limit(s);
    for (uint32_t i = 0; i < s->n; i++) {
        /* Found missing now, not after the first round of the others. */
        weir_err rc =
            s->opponents[i].run == run_mpi ? wb_mpi_check(err) : WEIR_OK;
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    return wb_series_run(s, isatty(STDERR_FILENO) ? stderr : NULL, err);
}

static void print_two_stage(const void *args)
{
    wb_series_print(&((const struct two_stage *)args)->series, stdout);
}

static weir_err json_two_stage(const void *args, struct weir_error *err)
{
    return wb_series_print_json(&((const struct two_stage *)args)->series,
                                stdout, err);
}

const struct bench_kind bench_two_stage = {
    .name = "two-stage",
    .what = "two shuffles, against sockets, MPI and the limit",
    .doc = "Every node makes rows, shuffles them by one hash, the receivers "
           "shuffle them again by another; the last stage counts and sums. "
           "Runs of all opponents are interleaved, and rows, sums and "
           "per-edge counts are checked in every run.",
    .options = two_stage_options,
    .args_bytes = sizeof(struct two_stage),
    .init = init_two_stage,
    .run = run_two_stage,
    .print = print_two_stage,
    .print_json = json_two_stage};
