/* SPDX-License-Identifier: Apache-2.0 */
/* weir bench get: a process that reads a region of another. */
#define _GNU_SOURCE 1
#include <argp.h>
#include <stdlib.h>

#include "bench/commands/bench_kind.h"
#include "bench/lib/get.h"

struct get {
    struct bench_common common;
    struct wb_get_params params;
    struct wb_get result;
};

/* 8,65536: bytes of a get. */
static void take_bytes(struct argp_state *state, void *args, const char *text)
{
    struct wb_get_params *p = &((struct get *)args)->params;
    p->n_sizes = 0;
    while (*text != '\0') {
        char *end;
        unsigned long long n = strtoull(text, &end, 10);
        if (end == text || (*end != '\0' && *end != ',') ||
            p->n_sizes == WB_GET_SIZES) {
            argp_error(state, "--bytes is at most %u numbers, with commas",
                       WB_GET_SIZES);
        }
        p->sizes[p->n_sizes++] = n;
        text = *end == ',' ? end + 1 : end;
    }
}

static const struct option_row get_options[] = {
    TRANSPORT_ROW(struct get, params.transport, "Between the nodes [shm]"),
    LISTEN_ROW(struct get, params.listen),
    {"bytes", 'b', "LIST", "Of a get [8,4096,65536,1048576]",
     OPTION_OWN(take_bytes)},
    {"region", 0, "BYTES", "Of the region [64M]",
     OPTION_BYTES(struct get, params.region_bytes)},
    {"span", 0, "BYTES", "Of the region that are read [all]",
     OPTION_BYTES(struct get, params.span)},
    {"in-flight", 'n', "N", "Gets at a time, for the bandwidth [16]",
     OPTION_U32(struct get, params.in_flight, 1, WB_GET_IN_FLIGHT)},
    {"repeat", 'k', "K", "Runs [5]",
     OPTION_U32(struct get, params.repeat, 1, WB_GET_REPEAT)},
    {"ms", 0, "MS", "Of each run, three per size and way [50]",
     OPTION_U32(struct get, params.ms, 1, 10000)},
    {"attend", 0, NULL, "The owner's worker waits in the library",
     OPTION_FLAG(struct get, params.attend)},
    JSON_ROW(struct get),
    {.name = NULL},
};

static void init_get(void *args)
{
    (void)args;
}

static weir_err run_get(void *args, struct weir_error *err)
{
    struct get *a = args;
    return wb_get_run(&a->params, &a->result, err);
}

static void print_get(const void *args)
{
    wb_get_print(&((const struct get *)args)->result, stdout);
}

static weir_err json_get(const void *args, struct weir_error *err)
{
    return wb_get_print_json(&((const struct get *)args)->result, stdout, err);
}

const struct bench_kind bench_get = {
    .name = "get",
    .what = "reading a region of another process",
    .doc = "One process reads a region of another: the time of one get, and "
           "the bandwidth of several; lent by the library, and copied to "
           "memory of the reader. Bytes are compared in every run.",
    .options = get_options,
    .args_bytes = sizeof(struct get),
    .init = init_get,
    .run = run_get,
    .print = print_get,
    .print_json = json_get};
