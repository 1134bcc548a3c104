/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Counters: snapshots of what a node has done and holds.
 */
#ifndef WEIR_STATS_H
#define WEIR_STATS_H

#include <stddef.h>
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
    X(memory_plan_bytes, "bytes", "most that the memory plan adds up to")      \
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

/** The link to one member, as it is now. */
struct weir_link_stats {
    int open;           /* 1: rows can travel */
    char transport[16]; /* what it runs over, "" while there is no link */
    char why[256];      /* which way was taken, and why; one line */
};

/**
 * Look at the link to a member.
 *
 * @param member     number of the member; one's own: the link to oneself
 * @param stats_out  [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_NOT_FOUND (no such member), WEIR_ERR_ARG
 * Blocks:     shortly
 * Threads:    any
 * Ownership:  nothing
 */
WEIR_API weir_err weir_link_stats_get(weir_node *node, uint32_t member,
                                      struct weir_link_stats *stats_out);

/**
 * Say which transport a link to an address would take first, and why:
 * "shm: same host". On a node that was opened with the transport "auto" this
 * is its choice; others have only one.
 *
 * @param address  as weir_node_address() of that node gives it; NULL: say what
 *                 this node can use at all
 * @param text     [out] at most text_bytes, NUL included
 *
 * Errors:     WEIR_ERR_ARG (text is NULL, text_bytes is 0)
 * Blocks:     never
 * Threads:    any
 * Ownership:  text is the caller's
 */
WEIR_API weir_err weir_node_why(weir_node *node, const char *address,
                                char *text, size_t text_bytes);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_STATS_H */
