/* SPDX-License-Identifier: Apache-2.0 */
/* weir bench two-stage: the plan of DAIS 2016 against its opponents. */
#define _GNU_SOURCE 1
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/lib/limit.h"
#include "bench/lib/pin.h"
#include "bench/lib/series.h"
#include "bench/lib/weir_engine.h"
#include "bench/opponents/mpi.h"
#include "bench/opponents/sockets.h"
#include "tools/bench_kind.h"

struct two_stage {
    struct bench_common common;
    struct wb_series series;
};

static const char *mpi_shape = "bulk"; /* set once, before the series */

static weir_err run_weir(const char *name, const struct wb_plan_params *params,
                         double *seconds_out, struct weir_error *err)
{
    struct wb_plan_params p = *params;
    p.transport = name;
    return wb_plan_run(&wb_weir_engine, &p, seconds_out, err);
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
    (void)name;
    return wb_mpi_run(params, mpi_shape, seconds_out, err);
}

static const struct wb_opponent known[] = {
    {.name = "shm", .run = run_weir},        {.name = "tcp", .run = run_weir},
    {.name = "sockets", .run = run_sockets}, {.name = "mpi", .run = run_mpi},
    {.name = "verbs", .run = run_weir},      {.name = "auto", .run = run_weir},
    {.name = "limit", .run = run_limit},
};
#define N_KNOWN (sizeof(known) / sizeof(known[0]))

static void add_opponent(struct argp_state *state, struct wb_series *s,
                         const char *name)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (strcmp(s->opponents[i].name, name) == 0) {
            argp_error(state, "\"%s\" is listed twice", name);
        }
    }
    for (size_t i = 0; i < N_KNOWN; i++) {
        if (strcmp(known[i].name, name) == 0) {
            s->opponents[s->n++] = known[i];
            return;
        }
    }
    argp_error(state,
               "no transport or opponent \"%s\"; there are shm, tcp, "
               "verbs, auto, sockets, mpi",
               name);
}

static void take_opponents(struct argp_state *state, void *args,
                           const char *list)
{
    struct wb_series *s = &((struct two_stage *)args)->series;
    s->n = 0;
    char *copy = strdup(list);
    char *rest = NULL;
    for (char *name = copy != NULL ? strtok_r(copy, ",", &rest) : NULL;
         name != NULL; name = strtok_r(NULL, ",", &rest)) {
        add_opponent(state, s, name);
    }
    free(copy);
    if (s->n == 0) {
        argp_error(state, "--transports is empty");
    }
}

/* Parked in the last place: it may come before --transports. */
static void take_limit(struct argp_state *state, void *args, const char *text)
{
    struct two_stage *a = args;
    (void)state;
    (void)text;
    a->series.opponents[WB_MAX_OPPONENTS - 1] = known[N_KNOWN - 1];
}

static void take_shape(struct argp_state *state, void *args, const char *text)
{
    (void)args;
    if (strcmp(text, "bulk") != 0 && strcmp(text, "chunked") != 0) {
        argp_error(state, "--mpi-shape is bulk or chunked");
    }
    mpi_shape = text;
}

static const struct option_row two_stage_options[] = {
    {"nodes", 'n', "N", "Processes [8]",
     OPTION_U32(struct two_stage, series.params.nodes, 1, 256)},
    {"workers", 'w', "W", "Worker threads of each [1]",
     OPTION_U32(struct two_stage, series.params.workers, 1, 64)},
    ROWS_ROW(struct two_stage, series.params.rows_per_node,
             "Rows that each node makes [5000000]"),
    {"transports", 't', "LIST",
     "Whom to run: shm, tcp, verbs, auto, sockets, mpi [shm,tcp,sockets]",
     OPTION_OWN(take_opponents)},
    {"repeat", 'k', "K", "Interleaved runs of each [5]",
     OPTION_U32(struct two_stage, series.repeat, 1, WB_MAX_REPEAT)},
    {"limit", 0, NULL, "Also run the same loops without the exchange",
     OPTION_OWN(take_limit)},
    JSON_ROW(struct two_stage),
    {"pin", 0, NULL, "Bind process k to core k modulo cores",
     OPTION_FLAG(struct two_stage, series.params.pin)},
    {"mpi-shape", 0, "SHAPE", "bulk or chunked [bulk]", OPTION_OWN(take_shape)},
    FRAME_ROW(struct two_stage, series.params.frame_bytes,
              "Largest frame of Weir's transports [16384]"),
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
        .params = {.nodes = 8, .workers = 1, .rows_per_node = 5000000},
        .cores = wb_cores(),
        .repeat = 5,
        .n = 3,
        .opponents = {known[0], known[1], known[2]}};
}

/* What --limit has parked comes behind the others. */
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
