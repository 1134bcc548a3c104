/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The two-stage plan on a simulated network, against the least that the
 * network allows.
 *
 *   bound = rows of a node x 8 bytes x (N - 1) / N x 2 stages / bandwidth
 *
 * That much has to leave (and enter) every port if the keys spread evenly;
 * headers, notifications, credits, latency, idle ports and the pipeline's
 * filling and draining are what the ratio shows. Computing takes no virtual
 * time. A warm-up over the same links goes before, so that they are open.
 * Rows, sums and per-edge counts are checked as in wb_plan_run().
 */
#ifndef WB_SIMULATE_H
#define WB_SIMULATE_H

#include <stdint.h>
#include <stdio.h>

#include <weir/error.h>

struct wb_simulate_params {
    uint32_t nodes;         /* [256], 2..1024 */
    uint64_t rows_per_node; /* [262144]: two full frames per pair, and some */
    uint64_t seed;          /* of the network's jitter [1] */
    uint64_t bandwidth;     /* bytes per second and port [12.5e9] */
    uint64_t latency_ns;    /* one way [2000] */
    uint64_t jitter_ns;     /* per transfer [0] */
    uint32_t frame_bytes;   /* [4096] */
    uint32_t ring_frames;   /* [4] */
};

struct wb_simulate {
    struct wb_simulate_params params; /* defaults filled in */
    uint64_t virtual_ns;
    double bound_ns;
    double ratio;
    uint64_t frames; /* published by all nodes */
    double rows_per_frame;
    double wire_per_payload; /* bytes on the wire / payload bytes that cross */
    uint64_t memory_peak_bytes; /* of the node that held most */
    double wall_seconds;
};

/**
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_INTEGRITY, and as weir_sim_open,
 *             weir_sim_run
 * Blocks:     until done; no sleeping
 * Threads:    one
 * Ownership:  nothing
 */
weir_err wb_simulate_run(const struct wb_simulate_params *params,
                         struct wb_simulate *out, struct weir_error *err);

/** Print for people, and as one JSON object on one line.
 *  Errors: as wb_report_write. Blocks: on output. Threads: one. */
void wb_simulate_print(const struct wb_simulate *result, FILE *out);
weir_err wb_simulate_print_json(const struct wb_simulate *result, FILE *out,
                                struct weir_error *err);

#endif /* WB_SIMULATE_H */
