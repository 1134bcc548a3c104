/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Counters: snapshots of what a node has done and holds.
 */
#ifndef WEIR_STATS_H
#define WEIR_STATS_H

#include <stdint.h>

#include <weir/error.h>
#include <weir/node.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, unit, meaning) */
#define WEIR_NODE_STATS(X)                                                     \
    X(rows_sent, "rows", "rows put into rings, all shuffles")                  \
    X(bytes_sent, "bytes", "frame bytes published")                            \
    X(frames_sent, "frames", "frames published")                               \
    X(rows_received, "rows", "rows handed to readers")                         \
    X(bytes_received, "bytes", "frame bytes handed to readers")                \
    X(frames_received, "frames", "frames handed to readers")                   \
    X(pushes_blocked, "calls", "pushes that found a ring full")                \
    X(waits, "calls", "worker waits that went to sleep")                       \
    X(wakes, "calls", "sleeping workers woken by this node")                   \
    X(links_open, "links", "links open now")                                   \
    X(links_opened, "links", "links opened since the node opened")             \
    X(links_lost, "links", "links that ended by failure")                      \
    X(queries_open, "queries", "queries open now")                             \
    X(queries_failed, "queries", "queries that failed here")                   \
    X(memory_bytes, "bytes", "buffers that travel, held now")                  \
    X(memory_peak_bytes, "bytes", "most that was held")                        \
    X(memory_cap_bytes, "bytes", "the hard cap")

struct weir_node_stats {
#define WEIR_STATS_FIELD(name, unit, meaning) uint64_t name;
    WEIR_NODE_STATS(WEIR_STATS_FIELD)
#undef WEIR_STATS_FIELD
};

/**
 * Take a snapshot. Each counter is exact; together they are not one instant.
 *
 * Errors:     none
 * Blocks:     shortly
 * Threads:    any
 * Ownership:  nothing
 */
WEIR_API void weir_node_stats_get(weir_node *node,
                                  struct weir_node_stats *stats_out);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_STATS_H */
