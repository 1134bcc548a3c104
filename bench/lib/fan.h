/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A fan: one worker that produces for all workers of many nodes, in one thread.
 *
 *   node 0, worker 0 --push--> nodes x workers destinations --> counted
 *
 * All nodes are in this process, over shm and without network threads; this
 * thread makes their steps, and reads and releases all that has arrived
 * whenever a ring is full. Only pushes and the finish are timed: what a
 * producer pays whose consumers are never slow.
 */
#ifndef WB_FAN_H
#define WB_FAN_H

#include <stdint.h>

#include <weir/error.h>

#include "bench/lib/rows.h"

struct wb_fan_params {
    uint32_t destinations; /* a multiple of workers */
    uint32_t workers;      /* of each node */
    uint32_t batch_rows;   /* of a push */
    uint32_t frame_bytes;  /* as in struct weir_node_params, also below */
    uint32_t ring_frames;
    uint64_t memory_bytes;
    bool no_checksum;
    bool mixed;
    bool filters; /* readers send filters that let every row pass */
};

/** What one destination got. */
struct wb_fan_part {
    uint64_t rows;
    uint64_t sum; /* of wb_rows_sum() */
};

struct wb_fan;

/**
 * Open the nodes and join them.
 *
 * Errors:     as weir_node_open, weir_node_join
 * Blocks:     while memory is prepared
 * Threads:    one
 * Ownership:  wb_fan_close
 */
weir_err wb_fan_open(const struct wb_fan_params *params, struct wb_fan **out,
                     struct weir_error *err);
void wb_fan_close(struct wb_fan *fan);

/**
 * Push all rows in one shuffle, as a query of its own.
 *
 * @param parts   [out] destinations entries
 * @param ns_out  [out] time in pushes and in the finish
 *
 * Errors:     what fails the query
 * Blocks:     until all rows were read
 * Threads:    one
 * Ownership:  nothing
 */
weir_err wb_fan_run(struct wb_fan *fan, const struct wb_rows *rows,
                    struct wb_fan_part *parts, uint64_t *ns_out,
                    struct weir_error *err);

/** Frames of the last run. Errors: none. Blocks: never. Threads: one.
 *  Ownership: nothing. */
uint64_t wb_fan_frames(const struct wb_fan *fan);

/** weir_node_plan() of its nodes; lives as long as the fan. */
const char *wb_fan_plan(const struct wb_fan *fan);

#endif /* WB_FAN_H */
