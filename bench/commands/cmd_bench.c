/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir bench: what each kind of run takes, and how it is called and printed.
 * Arguments and dispatch only; bench/ does the work.
 */
#define _GNU_SOURCE 1
#include "cli/cmd.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "bench/commands/bench_kind.h"
#include "bench/lib/crowd.h"
#include "bench/lib/idle.h"
#include "bench/lib/latency.h"
#include "bench/lib/machine.h"
#include "bench/lib/setup.h"
#include "bench/lib/simulate.h"
#include "bench/lib/stream.h"

static void init_nothing(void *args)
{
    (void)args;
}

/* ---- latency ------------------------------------------------------------- */

struct latency {
    struct bench_common common;
    struct wb_latency_params params;
    struct wb_latency result;
};

static const struct option_row latency_options[] = {
    TRANSPORT_ROW(struct latency, params.transport, "Of the rows [shm]"),
    {"blocks", 0, "B", "Blocks of each kind [100]",
     OPTION_U32(struct latency, params.blocks, 1, 10000)},
    JSON_ROW(struct latency),
    {.name = NULL},
};

static weir_err run_latency(void *args, struct weir_error *err)
{
    struct latency *a = args;
    return wb_latency_run(&a->params, &a->result, err);
}

static void print_latency(const void *args)
{
    const struct latency *a = args;
    wb_latency_print(&a->params, &a->result, stdout);
}

static weir_err json_latency(const void *args, struct weir_error *err)
{
    const struct latency *a = args;
    return wb_latency_print_json(&a->params, &a->result, stdout, err);
}

static const struct bench_kind latency_kind = {
    .name = "latency",
    .what = "one row, against a bare cache line",
    .doc = "One row written to one row readable in another process, both "
           "spinning, against a bare cache line between the same two.",
    .options = latency_options,
    .args_bytes = sizeof(struct latency),
    .init = init_nothing,
    .run = run_latency,
    .print = print_latency,
    .print_json = json_latency};

/* ---- stream -------------------------------------------------------------- */

struct stream {
    struct bench_common common;
    struct wb_stream_params params;
    struct wb_stream result;
};

static const struct option_row stream_options[] = {
    TRANSPORT_ROW(struct stream, params.transport, "Between the nodes [shm]"),
    LISTEN_ROW(struct stream, params.listen),
    FRAME_ROW(struct stream, params.frame_bytes, "Largest frame [65536]"),
    RING_ROW(struct stream, params.ring_frames, "Frames in a ring [4]"),
    {"mib", 0, "M", "Payload in MiB [256]",
     OPTION_U32(struct stream, params.mib, 1, 1048576)},
    JSON_ROW(struct stream),
    {.name = NULL},
};

static weir_err run_stream(void *args, struct weir_error *err)
{
    struct stream *a = args;
    return wb_stream_run(&a->params, &a->result, err);
}

static void print_stream(const void *args)
{
    const struct stream *a = args;
    wb_stream_print(&a->params, &a->result, stdout);
}

static weir_err json_stream(const void *args, struct weir_error *err)
{
    const struct stream *a = args;
    return wb_stream_print_json(&a->params, &a->result, stdout, err);
}

static const struct bench_kind stream_kind = {
    .name = "stream",
    .what = "bandwidth from one node to another",
    .doc = "Payload bandwidth from one node to another, one worker each.",
    .options = stream_options,
    .args_bytes = sizeof(struct stream),
    .init = init_nothing,
    .run = run_stream,
    .print = print_stream,
    .print_json = json_stream};

/* ---- idle and memory ----------------------------------------------------- */

struct idle {
    struct bench_common common;
    struct wb_idle_params params;
    struct wb_idle result;
};

#define IDLE_ROWS                                                              \
    TRANSPORT_ROW(struct idle, params.transport, "Between the nodes [shm]"),   \
        {"nodes", 'n', "N", "Processes [8]",                                   \
         OPTION_U32(struct idle, params.nodes, 2, 64)},                        \
        ROWS_ROW(struct idle, params.rows,                                     \
                 "Rows that each node makes before [10000]"),                  \
        FRAME_ROW(struct idle, params.frame_bytes,                             \
                  "Largest frame [61440, verbs 65408]"),                       \
        JSON_ROW(struct idle)

static const struct option_row idle_options[] = {
    IDLE_ROWS,
    {"seconds", 0, "S", "Of sleep [10]",
     OPTION_SECONDS(struct idle, params.sleep_ns, 1, 3600)},
    {.name = NULL},
};

/* Without a sleep only the memory is looked at. */
static const struct option_row memory_options[] = {
    IDLE_ROWS,
    {.name = NULL},
};

static void init_idle(void *args)
{
    struct idle *a = args;
    a->params.sleep_ns = UINT64_C(10000000000);
}

static weir_err run_idle(void *args, struct weir_error *err)
{
    struct idle *a = args;
    return wb_idle_run(&a->params, &a->result, err);
}

static void print_idle(const void *args)
{
    const struct idle *a = args;
    wb_idle_print(&a->result, stdout);
}

static weir_err json_idle(const void *args, struct weir_error *err)
{
    const struct idle *a = args;
    return wb_idle_print_json(&a->result, stdout, err);
}

static const struct bench_kind idle_kind = {
    .name = "idle",
    .what = "CPU time of nodes that have nothing to do",
    .doc = "The CPU time that connected nodes use while they have nothing to "
           "do.",
    .options = idle_options,
    .args_bytes = sizeof(struct idle),
    .init = init_idle,
    .run = run_idle,
    .print = print_idle,
    .print_json = json_idle};

static const struct bench_kind memory_kind = {
    .name = "memory",
    .what = "what nodes hold, against what they planned",
    .doc = "What nodes hold after a shuffle, against the plan that they print "
           "at open.",
    .options = memory_options,
    .args_bytes = sizeof(struct idle),
    .init = init_nothing,
    .run = run_idle,
    .print = print_idle,
    .print_json = json_idle};

/* ---- sim ----------------------------------------------------------------- */

struct sim {
    struct bench_common common;
    struct wb_simulate_params params;
    struct wb_simulate result;
};

static const struct option_row sim_options[] = {
    {"nodes", 'n', "N", "Simulated nodes [256]",
     OPTION_U32(struct sim, params.nodes, 2, 1024)},
    ROWS_ROW(struct sim, params.rows_per_node,
             "Rows that each node makes [262144]"),
    {"seed", 's', "S", "Of the network's jitter [1]",
     OPTION_U64(struct sim, params.seed, 1, UINT64_MAX)},
    {"jitter-ns", 0, "NS", "Up to this much per transfer [0]",
     OPTION_U64(struct sim, params.jitter_ns, 0, 1000000000)},
    FRAME_ROW(struct sim, params.frame_bytes, "Largest frame [4096]"),
    RING_ROW(struct sim, params.ring_frames, "Frames in a ring [4]"),
    JSON_ROW(struct sim),
    {.name = NULL},
};

static weir_err run_sim(void *args, struct weir_error *err)
{
    struct sim *a = args;
    return wb_simulate_run(&a->params, &a->result, err);
}

static void print_sim(const void *args)
{
    const struct sim *a = args;
    wb_simulate_print(&a->result, stdout);
}

static weir_err json_sim(const void *args, struct weir_error *err)
{
    const struct sim *a = args;
    return wb_simulate_print_json(&a->result, stdout, err);
}

static const struct bench_kind sim_kind = {
    .name = "sim",
    .what = "two shuffles on a simulated network",
    .doc = "The two-stage plan on a simulated network: virtual time against "
           "what has to cross each port at full bandwidth.",
    .options = sim_options,
    .args_bytes = sizeof(struct sim),
    .init = init_nothing,
    .run = run_sim,
    .print = print_sim,
    .print_json = json_sim};

/* ---- setup --------------------------------------------------------------- */

struct setup {
    struct bench_common common;
    struct wb_setup_params params;
    struct wb_setup result;
};

static const struct option_row setup_options[] = {
    TRANSPORT_ROW(struct setup, params.transport, "Between the nodes [shm]"),
    {"nodes", 'n', "N", "Processes [7]",
     OPTION_U32(struct setup, params.nodes, 1, 64)},
    {"workers", 'w', "W", "Worker threads of each [2]",
     OPTION_U32(struct setup, params.workers, 1, 64)},
    {"shuffles", 's', "S", "In the chain [60]",
     OPTION_U32(struct setup, params.shuffles, 1, 1000)},
    {"repeat", 'k', "K", "Runs [5]",
     OPTION_U32(struct setup, params.repeat, 1, WB_SETUP_MAX_REPEAT)},
    JSON_ROW(struct setup),
    {.name = NULL},
};

static weir_err run_setup(void *args, struct weir_error *err)
{
    struct setup *a = args;
    return wb_setup_run(&a->params, &a->result, err);
}

static void print_setup(const void *args)
{
    const struct setup *a = args;
    wb_setup_print(&a->result, stdout);
}

static weir_err json_setup(const void *args, struct weir_error *err)
{
    const struct setup *a = args;
    return wb_setup_print_json(&a->result, stdout, err);
}

static const struct bench_kind setup_kind = {
    .name = "setup",
    .what = "time until one row has come through many shuffles",
    .doc = "One row through a chain of shuffles: from making the processes "
           "(cold), and from opening a query on nodes that are linked (warm), "
           "to the row.",
    .options = setup_options,
    .args_bytes = sizeof(struct setup),
    .init = init_nothing,
    .run = run_setup,
    .print = print_setup,
    .print_json = json_setup};

/* ---- crowd --------------------------------------------------------------- */

struct crowd {
    struct bench_common common;
    struct wb_crowd_params params;
    struct wb_crowd result;
};

static const struct option_row crowd_options[] = {
    TRANSPORT_ROW(struct crowd, params.transport, "Between the nodes [shm]"),
    {"nodes", 'n', "N", "Processes [2]",
     OPTION_U32(struct crowd, params.nodes, 1, 8)},
    {"queries", 'q', "Q", "Of each run [1024]",
     OPTION_U32(struct crowd, params.queries, 1, WB_CROWD_MAX_QUERIES)},
    ROWS_ROW(struct crowd, params.rows,
             "Rows that each node makes for a query [1000]"),
    {"repeat", 'k', "K", "Interleaved runs of each [5]",
     OPTION_U32(struct crowd, params.repeat, 1, WB_CROWD_MAX_REPEAT)},
    JSON_ROW(struct crowd),
    {.name = NULL},
};

static weir_err run_crowd(void *args, struct weir_error *err)
{
    struct crowd *a = args;
    return wb_crowd_run(&a->params, &a->result, err);
}

static void print_crowd(const void *args)
{
    const struct crowd *a = args;
    wb_crowd_print(&a->result, stdout);
}

static weir_err json_crowd(const void *args, struct weir_error *err)
{
    const struct crowd *a = args;
    return wb_crowd_print_json(&a->result, stdout, err);
}

static const struct bench_kind crowd_kind = {
    .name = "crowd",
    .what = "many small queries at a time",
    .doc = "Queries a second with 8, 64 and 256 of them at a time, on nodes "
           "with all defaults. Each sends a few rows through two shuffles.",
    .options = crowd_options,
    .args_bytes = sizeof(struct crowd),
    .init = init_nothing,
    .run = run_crowd,
    .print = print_crowd,
    .print_json = json_crowd};

/* ---- dispatch ------------------------------------------------------------ */

static const struct bench_kind *const kinds[] = {
    &bench_two_stage, &bench_partition, &latency_kind, &stream_kind,
    &idle_kind,       &memory_kind,     &sim_kind,     &bench_query,
    &bench_gen,       &setup_kind,      &bench_get,    &crowd_kind,
#ifdef WEIR_HAS_SCAN
    &bench_scan,
#endif
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static weir_err run_kind(const struct bench_kind *k, void *args,
                         struct weir_error *err)
{
    const struct bench_common *common = args;
    weir_err rc = k->run(args, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (common->json) {
        return k->print_json(args, err);
    }
    wb_machine_print(stdout);
    k->print(args);
    return WEIR_OK;
}

static int bench(const struct bench_kind *k, int argc, char **argv)
{
    struct weir_error err = {.code = WEIR_OK};
    void *args = calloc(1, k->args_bytes);
    if (args == NULL) {
        perror("weir bench");
        return EXIT_FAILURE;
    }
    k->init(args);
    const struct options options = {.rows = k->options, .doc = k->doc};
    options_parse(&options, argc, argv, args);
    weir_err rc = run_kind(k, args, &err);
    free(args);
    if (rc != WEIR_OK) {
        (void)fprintf(stderr, "weir bench: %s\n", err.message);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

static void print_usage(FILE *to)
{
    (void)fprintf(to, "Usage: weir bench KIND [OPTION...]\n"
                      "Measures on this machine, and checks every run.\n"
                      "\n");
    for (size_t i = 0; i < N_KINDS; i++) {
        (void)fprintf(to, "  weir bench %-9s  %s\n", kinds[i]->name,
                      kinds[i]->what);
    }
    (void)fprintf(to, "\n"
                      "  weir bench KIND --help  what it takes\n"
                      "\n"
                      "Exit status: 0 done; 1 failed; 2 wrong use.\n");
}

int cmd_bench(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < N_KINDS; i++) {
        if (strcmp(which, kinds[i]->name) == 0) {
            char full[32]; /* what argp calls the program */
            (void)snprintf(full, sizeof(full), "weir bench %s", which);
            argv[1] = full;
            return bench(kinds[i], argc - 1, argv + 1);
        }
    }
    if (strcmp(which, "--help") == 0 || strcmp(which, "-?") == 0) {
        print_usage(stdout);
        return EXIT_SUCCESS;
    }
    if (which[0] != '\0') {
        (void)fprintf(stderr, "weir bench: no kind \"%s\"\n", which);
    }
    print_usage(stderr);
    return EX_USAGE;
}
