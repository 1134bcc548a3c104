/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Latency of one row, against the least that the machine allows.
 *
 *   bare:  process 0 --store--> one cache line --load--> process 1, and back
 *   row:   process 0 --push, flush--> ring --next--> process 1, and back
 *
 * Two processes on two cores, both spinning, the same two for both figures,
 * in alternating blocks. A figure is half a round trip. A sample is the mean
 * of WB_LATENCY_TRIPS round trips, because reading the clock costs a good part
 * of one bare trip.
 */
#ifndef WB_LATENCY_H
#define WB_LATENCY_H

#include <stdint.h>
#include <stdio.h>

#include <weir/error.h>

#define WB_LATENCY_TRIPS 16u
#define WB_LATENCY_SAMPLES 64u /* of each kind in a block */

struct wb_latency_params {
    const char *transport; /* of the rows ["shm"] */
    uint32_t blocks;       /* of each kind [100], 1..10000 */
    uint64_t timeout_ns;   /* [120 s] */
};

/** Nanoseconds one way. */
struct wb_latency_one {
    double p50_ns;
    double p99_ns;
    double min_ns;
};

struct wb_latency {
    struct wb_latency_one bare;
    struct wb_latency_one row;
};

/**
 * Measure. Every row's value is checked by who receives it.
 *
 * Errors:     WEIR_ERR_ARG; WEIR_ERR_UNSUPPORTED (fewer than two cores);
 *             WEIR_ERR_INTEGRITY (a wrong row); as weir_node_open and the rest
 * Blocks:     until done, at most params->timeout_ns
 * Threads:    one, the only one of the process
 * Ownership:  nothing
 */
weir_err wb_latency_run(const struct wb_latency_params *params,
                        struct wb_latency *out, struct weir_error *err);

/** Print for people, and as one JSON object on one line.
 *  Errors: as wb_report_write. Blocks: on output. Threads: one. */
void wb_latency_print(const struct wb_latency_params *params,
                      const struct wb_latency *latency, FILE *out);
weir_err wb_latency_print_json(const struct wb_latency_params *params,
                               const struct wb_latency *latency, FILE *out,
                               struct weir_error *err);

#endif /* WB_LATENCY_H */
