/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir bench: the two-stage plan against its opponents, and the latency of a
 * row against a cache line. Arguments and dispatch only; bench/ does the work.
 */
#define _GNU_SOURCE 1
#include "tools/cmd.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/lib/idle.h"
#include "bench/lib/latency.h"
#include "bench/lib/limit.h"
#include "bench/lib/pin.h"
#include "bench/lib/series.h"
#include "bench/lib/simulate.h"
#include "bench/lib/stream.h"
#include "bench/lib/weir_engine.h"
#include "bench/opponents/mpi.h"
#include "bench/opponents/sockets.h"

static int fail(const struct weir_error *err)
{
    (void)fprintf(stderr, "weir bench: %s\n", err->message);
    return EXIT_FAILURE;
}

static uint64_t number(struct argp_state *state, const char *name,
                       const char *text, uint64_t min, uint64_t max)
{
    char *end = NULL;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-' ||
        v < min || v > max) {
        argp_error(state, "--%s is \"%s\"; must be a number, %llu..%llu", name,
                   text, (unsigned long long)min, (unsigned long long)max);
    }
    return v;
}

/* ---- two-stage ------------------------------------------------------------------------- */

struct two_stage_args {
    struct wb_series series;
    bool json;
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

static void add_opponents(struct argp_state *state, struct wb_series *s,
                          const char *list)
{
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

enum {
    KEY_LIMIT = 256,
    KEY_JSON,
    KEY_PIN,
    KEY_SHAPE,
    KEY_FRAME,
    KEY_RING,
    KEY_NO_CHECKSUM,
    KEY_TIMEOUT,
    KEY_BLOCKS,
    KEY_SECONDS,
    KEY_JITTER,
    KEY_LISTEN,
    KEY_MIB,
};

static const struct argp_option two_stage_options[] = {
    {"nodes", 'n', "N", 0, "Processes [8]", 0},
    {"workers", 'w', "W", 0, "Worker threads of each [1]", 0},
    {"rows", 'r', "R", 0, "Rows that each node makes [5000000]", 0},
    {"transports", 't', "LIST", 0,
     "Whom to run: shm, tcp, verbs, auto, sockets, mpi [shm,tcp,sockets]", 0},
    {"repeat", 'k', "K", 0, "Interleaved runs of each [5]", 0},
    {"limit", KEY_LIMIT, NULL, 0,
     "Also run the same loops without the exchange", 0},
    {"json", KEY_JSON, NULL, 0, "Print one JSON object", 0},
    {"pin", KEY_PIN, NULL, 0, "Bind process k to core k modulo cores", 0},
    {"mpi-shape", KEY_SHAPE, "SHAPE", 0, "bulk or chunked [bulk]", 0},
    {"frame-bytes", KEY_FRAME, "B", 0, "Largest frame of shm and tcp", 0},
    {"ring-frames", KEY_RING, "F", 0, "Frames in a ring of shm and tcp", 0},
    {"listen", KEY_LISTEN, "IP", 0, "Where nodes on tcp, verbs, auto listen",
     0},
    {"no-checksum", KEY_NO_CHECKSUM, NULL, 0,
     "shm and tcp do not check frame contents", 0},
    {"timeout", KEY_TIMEOUT, "S", 0, "Seconds that a run may take [120]", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t two_stage_tuning(int key, char *arg, struct argp_state *state)
{
    struct two_stage_args *a = state->input;
    struct wb_plan_params *p = &a->series.params;
    switch (key) {
    case KEY_PIN:
        p->pin = true;
        return 0;
    case KEY_SHAPE:
        if (strcmp(arg, "bulk") != 0 && strcmp(arg, "chunked") != 0) {
            argp_error(state, "--mpi-shape is bulk or chunked");
        }
        mpi_shape = arg;
        return 0;
    case KEY_FRAME:
        p->frame_bytes =
            (uint32_t)number(state, "frame-bytes", arg, 1024, 1048576);
        return 0;
    case KEY_RING:
        p->ring_frames = (uint32_t)number(state, "ring-frames", arg, 2, 64);
        return 0;
    case KEY_LISTEN:
        p->listen = arg;
        return 0;
    case KEY_NO_CHECKSUM:
        p->no_checksum = 1;
        return 0;
    case KEY_TIMEOUT:
        p->timeout_ns = number(state, "timeout", arg, 1, 86400) * 1000000000u;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t two_stage_option(int key, char *arg, struct argp_state *state)
{
    struct two_stage_args *a = state->input;
    struct wb_series *s = &a->series;
    switch (key) {
    case 'n':
        s->params.nodes = (uint32_t)number(state, "nodes", arg, 1, 256);
        return 0;
    case 'w':
        s->params.workers = (uint32_t)number(state, "workers", arg, 1, 64);
        return 0;
    case 'r':
        s->params.rows_per_node =
            number(state, "rows", arg, 1, UINT64_C(1) << 39);
        return 0;
    case 't':
        s->n = 0;
        add_opponents(state, s, arg);
        return 0;
    case 'k':
        s->repeat = (uint32_t)number(state, "repeat", arg, 1, WB_MAX_REPEAT);
        return 0;
    case KEY_LIMIT:
        s->opponents[WB_MAX_OPPONENTS - 1] = known[N_KNOWN - 1];
        return 0;
    case KEY_JSON:
        a->json = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument \"%s\"", arg);
        return 0;
    default:
        return two_stage_tuning(key, arg, state);
    }
}

/* --limit was parked in the last place: it may come before --transports. */
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

static int two_stage(int argc, char **argv)
{
    static const struct argp argp = {
        .options = two_stage_options,
        .parser = two_stage_option,
        .doc =
            "Every node makes rows, shuffles them by one hash, the receivers "
            "shuffle them again by another; the last stage counts and sums. "
            "Runs of all opponents are interleaved, and rows, sums and "
            "per-edge counts are checked in every run.",
    };
    struct two_stage_args a = {
        .series = {
            .params = {.nodes = 8, .workers = 1, .rows_per_node = 5000000},
            .cores = wb_cores(),
            .repeat = 5,
            .n = 3,
            .opponents = {known[0], known[1], known[2]}}};
    struct weir_error err = {.code = WEIR_OK};
    if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0) {
        return EXIT_FAILURE;
    }
    place_limit(&a.series);
    for (uint32_t i = 0; i < a.series.n; i++) {
        /* Found missing now, not after the first round of the others. */
        if (a.series.opponents[i].run == run_mpi &&
            wb_mpi_check(&err) != WEIR_OK) {
            return fail(&err);
        }
    }
    FILE *note = isatty(STDERR_FILENO) ? stderr : NULL;
    if (wb_series_run(&a.series, note, &err) != WEIR_OK) {
        return fail(&err);
    }
    if (!a.json) {
        wb_series_print(&a.series, stdout);
        return EXIT_SUCCESS;
    }
    return wb_series_print_json(&a.series, stdout, &err) == WEIR_OK
               ? EXIT_SUCCESS
               : fail(&err);
}

/* ---- latency ------------------------------------------------------------------------------ */

struct latency_args {
    struct wb_latency_params params;
    bool json;
};

static const struct argp_option latency_options[] = {
    {"transport", 't', "NAME", 0, "Of the rows [shm]", 0},
    {"blocks", KEY_BLOCKS, "B", 0, "Blocks of each kind [100]", 0},
    {"json", KEY_JSON, NULL, 0, "Print one JSON object", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t latency_option(int key, char *arg, struct argp_state *state)
{
    struct latency_args *a = state->input;
    switch (key) {
    case 't':
        a->params.transport = arg;
        return 0;
    case KEY_BLOCKS:
        a->params.blocks = (uint32_t)number(state, "blocks", arg, 1, 10000);
        return 0;
    case KEY_JSON:
        a->json = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument \"%s\"", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int latency(int argc, char **argv)
{
    static const struct argp argp = {
        .options = latency_options,
        .parser = latency_option,
        .doc = "One row written to one row readable in another process, both "
               "spinning, against a bare cache line between the same two.",
    };
    struct latency_args a = {.json = false};
    struct wb_latency result;
    struct weir_error err = {.code = WEIR_OK};
    if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0) {
        return EXIT_FAILURE;
    }
    if (wb_latency_run(&a.params, &result, &err) != WEIR_OK) {
        return fail(&err);
    }
    if (!a.json) {
        wb_latency_print(&a.params, &result, stdout);
        return EXIT_SUCCESS;
    }
    return wb_latency_print_json(&a.params, &result, stdout, &err) == WEIR_OK
               ? EXIT_SUCCESS
               : fail(&err);
}

/* ---- stream ------------------------------------------------------------------------------- */

struct stream_args {
    struct wb_stream_params params;
    bool json;
};

static const struct argp_option stream_options[] = {
    {"transport", 't', "NAME", 0, "Between the nodes [shm]", 0},
    {"listen", KEY_LISTEN, "IP", 0, "Where nodes on tcp, verbs, auto listen",
     0},
    {"frame-bytes", KEY_FRAME, "B", 0, "Largest frame [65536]", 0},
    {"ring-frames", KEY_RING, "F", 0, "Frames in a ring", 0},
    {"mib", KEY_MIB, "M", 0, "Payload in MiB [256]", 0},
    {"json", KEY_JSON, NULL, 0, "Print one JSON object", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t stream_option(int key, char *arg, struct argp_state *state)
{
    struct stream_args *a = state->input;
    switch (key) {
    case 't':
        a->params.transport = arg;
        return 0;
    case KEY_LISTEN:
        a->params.listen = arg;
        return 0;
    case KEY_FRAME:
        a->params.frame_bytes =
            (uint32_t)number(state, "frame-bytes", arg, 1024, 1048576);
        return 0;
    case KEY_RING:
        a->params.ring_frames =
            (uint32_t)number(state, "ring-frames", arg, 2, 64);
        return 0;
    case KEY_MIB:
        a->params.mib = (uint32_t)number(state, "mib", arg, 1, 1048576);
        return 0;
    case KEY_JSON:
        a->json = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument \"%s\"", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int stream(int argc, char **argv)
{
    static const struct argp argp = {
        .options = stream_options,
        .parser = stream_option,
        .doc = "Payload bandwidth from one node to another, one worker each.",
    };
    struct stream_args a = {.json = false};
    struct wb_stream result;
    struct weir_error err = {.code = WEIR_OK};
    if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0) {
        return EXIT_FAILURE;
    }
    if (wb_stream_run(&a.params, &result, &err) != WEIR_OK) {
        return fail(&err);
    }
    if (!a.json) {
        wb_stream_print(&a.params, &result, stdout);
        return EXIT_SUCCESS;
    }
    return wb_stream_print_json(&a.params, &result, stdout, &err) == WEIR_OK
               ? EXIT_SUCCESS
               : fail(&err);
}

/* ---- idle and memory --------------------------------------------------------------------- */

struct idle_args {
    struct wb_idle_params params;
    bool memory; /* the other command */
    bool json;
};

static const struct argp_option idle_options[] = {
    {"transport", 't', "NAME", 0, "Between the nodes [shm]", 0},
    {"nodes", 'n', "N", 0, "Processes [8]", 0},
    {"rows", 'r', "R", 0, "Rows that each node makes before [10000]", 0},
    {"seconds", KEY_SECONDS, "S", 0, "Of sleep (idle only) [10]", 0},
    {"frame-bytes", KEY_FRAME, "B", 0, "Largest frame", 0},
    {"json", KEY_JSON, NULL, 0, "Print one JSON object", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t idle_option(int key, char *arg, struct argp_state *state)
{
    struct idle_args *a = state->input;
    switch (key) {
    case 't':
        a->params.transport = arg;
        return 0;
    case 'n':
        a->params.nodes = (uint32_t)number(state, "nodes", arg, 2, 64);
        return 0;
    case 'r':
        a->params.rows = number(state, "rows", arg, 1, UINT64_C(1) << 39);
        return 0;
    case KEY_SECONDS:
        if (a->memory) {
            argp_error(state, "--seconds belongs to weir bench idle");
        }
        a->params.sleep_ns =
            number(state, "seconds", arg, 1, 3600) * 1000000000u;
        return 0;
    case KEY_FRAME:
        a->params.frame_bytes =
            (uint32_t)number(state, "frame-bytes", arg, 1024, 1048576);
        return 0;
    case KEY_JSON:
        a->json = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument \"%s\"", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int idle_or_memory(int argc, char **argv, bool memory)
{
    static const struct argp argp = {
        .options = idle_options,
        .parser = idle_option,
        .doc = "idle: the CPU time that connected nodes use while they have "
               "nothing to do. memory: what nodes hold after a shuffle, "
               "against the plan that they print at open.",
    };
    struct idle_args a = {.memory = memory};
    struct wb_idle result;
    struct weir_error err = {.code = WEIR_OK};
    a.params.sleep_ns = memory ? 0 : UINT64_C(10000000000);
    if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0) {
        return EXIT_FAILURE;
    }
    if (wb_idle_run(&a.params, &result, &err) != WEIR_OK) {
        return fail(&err);
    }
    if (!a.json) {
        wb_idle_print(&result, stdout);
        return EXIT_SUCCESS;
    }
    return wb_idle_print_json(&result, stdout, &err) == WEIR_OK ? EXIT_SUCCESS
                                                                : fail(&err);
}

static int idle(int argc, char **argv)
{
    return idle_or_memory(argc, argv, false);
}

static int memory(int argc, char **argv)
{
    return idle_or_memory(argc, argv, true);
}

/* ---- sim ----------------------------------------------------------------------------------- */

struct sim_args {
    struct wb_simulate_params params;
    bool json;
};

static const struct argp_option sim_options[] = {
    {"nodes", 'n', "N", 0, "Simulated nodes [256]", 0},
    {"rows", 'r', "R", 0, "Rows that each node makes [262144]", 0},
    {"seed", 's', "S", 0, "Of the network's jitter [1]", 0},
    {"jitter-ns", KEY_JITTER, "NS", 0, "Up to this much per transfer [0]", 0},
    {"frame-bytes", KEY_FRAME, "B", 0, "Largest frame [4096]", 0},
    {"ring-frames", KEY_RING, "F", 0, "Frames in a ring [4]", 0},
    {"json", KEY_JSON, NULL, 0, "Print one JSON object", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t sim_option(int key, char *arg, struct argp_state *state)
{
    struct sim_args *a = state->input;
    struct wb_simulate_params *p = &a->params;
    switch (key) {
    case 'n':
        p->nodes = (uint32_t)number(state, "nodes", arg, 2, 1024);
        return 0;
    case 'r':
        p->rows_per_node = number(state, "rows", arg, 1, UINT64_C(1) << 39);
        return 0;
    case 's':
        p->seed = number(state, "seed", arg, 1, UINT64_MAX);
        return 0;
    case KEY_JITTER:
        p->jitter_ns = number(state, "jitter-ns", arg, 0, 1000000000);
        return 0;
    case KEY_FRAME:
        p->frame_bytes =
            (uint32_t)number(state, "frame-bytes", arg, 1024, 1048576);
        return 0;
    case KEY_RING:
        p->ring_frames = (uint32_t)number(state, "ring-frames", arg, 2, 64);
        return 0;
    case KEY_JSON:
        a->json = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument \"%s\"", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int sim(int argc, char **argv)
{
    static const struct argp argp = {
        .options = sim_options,
        .parser = sim_option,
        .doc = "The two-stage plan on a simulated network: virtual time "
               "against what has to cross each port at full bandwidth.",
    };
    struct sim_args a = {.json = false};
    struct wb_simulate result;
    struct weir_error err = {.code = WEIR_OK};
    if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0) {
        return EXIT_FAILURE;
    }
    if (wb_simulate_run(&a.params, &result, &err) != WEIR_OK) {
        return fail(&err);
    }
    if (!a.json) {
        wb_simulate_print(&result, stdout);
        return EXIT_SUCCESS;
    }
    return wb_simulate_print_json(&result, stdout, &err) == WEIR_OK
               ? EXIT_SUCCESS
               : fail(&err);
}

/* ---- dispatch ------------------------------------------------------------------------------ */

int cmd_bench(int argc, char **argv)
{
    static const struct {
        const char *name;
        char full[32]; /* what argp calls the program */
        int (*run)(int argc, char **argv);
    } verbs[] = {
        {"two-stage", "weir bench two-stage", two_stage},
        {"latency", "weir bench latency", latency},
        {"stream", "weir bench stream", stream},
        {"idle", "weir bench idle", idle},
        {"memory", "weir bench memory", memory},
        {"sim", "weir bench sim", sim},
        {"query", "weir bench query", cmd_bench_query},
    };
    const char *which = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(which, verbs[i].name) == 0) {
            char full[sizeof(verbs[0].full)];
            memcpy(full, verbs[i].full, sizeof(full));
            argv[1] = full;
            return verbs[i].run(argc - 1, argv + 1);
        }
    }
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        (void)fprintf(stderr, "%s %s [OPTION...]\n",
                      i == 0 ? "usage:" : "      ", verbs[i].full);
    }
    (void)fprintf(stderr, "Each takes --help.\n");
    return 64;
}
