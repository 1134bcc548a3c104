/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How long it takes until the first row: one row goes through a chain of
 * shuffles on forked processes, one per node, so nearly all of the time is
 * setting up.
 *
 *   row --> shuffle 1 --> shuffle 2 --> ... --> shuffle N --> member 0
 *
 * cold: from before the processes are made to the row of their first query.
 * warm: from the first member that opens a later query, when all have met, to
 * its row; links and nodes are there. The row's value is checked each time.
 */
#ifndef WB_SETUP_H
#define WB_SETUP_H

#include <stdint.h>
#include <stdio.h>

#include <weir/error.h>

#include "bench/lib/median.h"

#define WB_SETUP_WARM 5u         /* queries after the first one of a run */
#define WB_SETUP_MAX_REPEAT 100u /* runs */

struct wb_setup_params {
    const char *transport; /* ["shm"] */
    uint32_t nodes;        /* processes, 1..64 [7] */
    uint32_t workers;      /* threads of each, 1..64 [2] */
    uint32_t shuffles;     /* of the chain, 1..1000 [60] */
    uint32_t repeat;       /* runs, 1..WB_SETUP_MAX_REPEAT [5] */
};

struct wb_setup {
    struct wb_setup_params params;
    struct wb_spread cold; /* seconds, of each run's first query */
    struct wb_spread warm; /* seconds, of all others */
    struct wb_spread cpu;  /* seconds, of all processes of a run together, for
                              its 1 + WB_SETUP_WARM queries */
};

/**
 * Run it.
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_INTEGRITY (another row, or none), as
 *             weir_run_wait and wl_group_run
 * Blocks:     until all runs have ended
 * Threads:    one, the only one of the process
 * Ownership:  nothing
 */
weir_err wb_setup_run(const struct wb_setup_params *params,
                      struct wb_setup *out, struct weir_error *err);

/** Print for people. Errors: none. Blocks: on output. Threads: one. */
void wb_setup_print(const struct wb_setup *result, FILE *out);

/** Print one JSON object on one line.
 *  Errors: as wb_report_write. Blocks: on output. Threads: one. */
weir_err wb_setup_print_json(const struct wb_setup *result, FILE *out,
                             struct weir_error *err);

#endif /* WB_SETUP_H */
