/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A series: several opponents, each run several times in turn (A B C A B C),
 * and the report: a table for people or one JSON object.
 *
 * Runs are interleaved because a machine's clock changes from minute to
 * minute: every opponent gets its share of the good and the bad minutes.
 */
#ifndef WB_SERIES_H
#define WB_SERIES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <weir/error.h>

#include "bench/lib/median.h"
#include "bench/lib/plan.h"

#define WB_MAX_OPPONENTS 8u
#define WB_MAX_REPEAT 1000u

/** Runs the plan once; see wb_plan_run. */
typedef weir_err (*wb_opponent_fn)(const char *name,
                                   const struct wb_plan_params *params,
                                   double *seconds_out, struct weir_error *err);

struct wb_opponent {
    const char *name;
    wb_opponent_fn run;
    struct wb_spread seconds; /* set by wb_series_run */
    struct wb_spread user_s;  /* the same; zero for MPI */
    struct wb_spread sys_s;
    struct wb_spread setup_s;
    struct wb_spread switches;
};

struct wb_series {
    struct wb_plan_params params;
    uint32_t cores; /* of the machine, for this program */
    uint32_t repeat;
    uint32_t n;
    struct wb_opponent opponents[WB_MAX_OPPONENTS];
};

/**
 * Run everything; `note` (may be NULL) gets a line per run, for progress.
 *
 * Errors:     the first run's that failed, with the opponent's name; nothing is
 *             reported then
 * Blocks:     until all runs have ended
 * Threads:    one, the only one of the process
 * Ownership:  nothing
 */
weir_err wb_series_run(struct wb_series *series, FILE *note,
                       struct weir_error *err);

/** Core-nanoseconds per row and stage: seconds x cores in use / (rows x
 *  stages); in use are min(cores, nodes x workers).
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
double wb_series_core_ns(const struct wb_series *series, double seconds);

/** Median seconds of `over` divided by those of `under`, or 0 if one of them
 *  did not run. Errors: none. Blocks: never. Threads: any. */
double wb_series_ratio(const struct wb_series *series, const char *over,
                       const char *under);

/** Print the table, a line for each win and each loss of shm.
 *  Errors: none. Blocks: on output. Threads: one. */
void wb_series_print(const struct wb_series *series, FILE *out);

/** Print one JSON object on one line.
 *  Errors: as wb_report_write. Blocks: on output. Threads: one. */
weir_err wb_series_print_json(const struct wb_series *series, FILE *out,
                              struct weir_error *err);

#endif /* WB_SERIES_H */
