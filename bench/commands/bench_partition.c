/* SPDX-License-Identifier: Apache-2.0 */
/* weir bench partition: a writer of many destinations against a partition in
 * memory. */
#define _GNU_SOURCE 1
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/commands/bench_kind.h"
#include "bench/lib/fan.h"
#include "bench/lib/fan_series.h"

struct partition {
    struct bench_common common;
    struct wb_fan_series series;
    const char *row;
};

static const char *const row_words[] = {"narrow", "mixed", NULL};

/* 64,256: numbers of destinations. */
static void take_destinations(struct argp_state *state, void *args,
                              const char *text)
{
    struct wb_fan_series *s = &((struct partition *)args)->series;
    s->n = 0;
    while (*text != '\0') {
        char *end;
        unsigned long n = strtoul(text, &end, 10);
        if (end == text || (*end != '\0' && *end != ',') || n < 2 ||
            n > WB_FAN_MOST || s->n == WB_FAN_COUNTS) {
            argp_error(state, "destinations are at most %d numbers, 2..%d",
                       WB_FAN_COUNTS, WB_FAN_MOST);
        }
        s->points[s->n++].destinations = (uint32_t)n;
        text = *end == ',' ? end + 1 : end;
    }
}

static const struct option_row partition_options[] = {
    {"destinations", 'd', "LIST", "How many [64,256,1024,4096]",
     OPTION_OWN(take_destinations)},
    {"workers", 'w', "W", "Of each node; destinations are nodes times W [8]",
     OPTION_U32(struct partition, series.params.workers, 1, 64)},
    ROWS_ROW(struct partition, series.rows, "Rows of a run [8000000]"),
    {"row", 0, "KIND",
     "narrow: int64; mixed: int64, int32, decimal128 and "
     "utf8 of 20 bytes [narrow]",
     OPTION_WORD(struct partition, row, row_words)},
    {"batch-rows", 0, "B", "Rows of a push [2048]",
     OPTION_U32(struct partition, series.params.batch_rows, 1, 1u << 24)},
    {"repeat", 'k', "K", "Interleaved runs of each [5]",
     OPTION_U32(struct partition, series.repeat, 1, WB_FAN_REPEAT)},
    FRAME_ROW(struct partition, series.params.frame_bytes,
              "Largest frame [61440]"),
    RING_ROW(struct partition, series.params.ring_frames,
             "Frames in a ring [4]"),
    {"memory", 0, "BYTES", "That a node may use [4G]",
     OPTION_BYTES(struct partition, series.params.memory_bytes)},
    {"no-checksum", 0, NULL, "Frame contents are not checked",
     OPTION_FLAG(struct partition, series.params.no_checksum)},
    {"filters", 0, NULL, "Readers send filters that let every row pass",
     OPTION_FLAG(struct partition, series.params.filters)},
    JSON_ROW(struct partition),
    {.name = NULL},
};

static void init_partition(void *args)
{
    struct partition *a = args;
    a->row = row_words[0];
    a->series =
        (struct wb_fan_series){.params = {.workers = 8,
                                          .batch_rows = 2048,
                                          .memory_bytes = UINT64_C(4) << 30},
                               .rows = 8000000,
                               .repeat = 5,
                               .n = 4,
                               .points = {{.destinations = 64},
                                          {.destinations = 256},
                                          {.destinations = 1024},
                                          {.destinations = 4096}}};
}

static weir_err run_partition(void *args, struct weir_error *err)
{
    struct partition *a = args;
    a->series.params.mixed = a->row[0] == 'm';
    return wb_fan_series_run(&a->series, err);
}

static void print_partition(const void *args)
{
    wb_fan_series_print(&((const struct partition *)args)->series, stdout);
}

static weir_err json_partition(const void *args, struct weir_error *err)
{
    return wb_fan_series_json(&((const struct partition *)args)->series, stdout,
                              err);
}

const struct bench_kind bench_partition = {
    .name = "partition",
    .what = "one writer, many destinations, against a radix partition",
    .doc = "One worker pushes rows to many destinations, whose readers take "
           "them at once; against a radix partition of the same rows in memory "
           "(two passes, software write combining). Only the producer's time "
           "counts. Rows and sums of each destination are checked in every "
           "run.",
    .options = partition_options,
    .args_bytes = sizeof(struct partition),
    .init = init_partition,
    .run = run_partition,
    .print = print_partition,
    .print_json = json_partition};
