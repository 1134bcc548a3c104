/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A storm: query after query that one of its members spoils, on the same nodes,
 * and what is left of them.
 *
 *   wt_storm_open -> wt_storm_run (many) -> wt_storm_settle -> counts
 */
#ifndef WT_STORM_H
#define WT_STORM_H

#include "test/support/cluster.h"
#include "test/support/plan.h"

enum { WT_STORM_NODES = 3 };

struct wt_storm;

/** What a member does at its query, and at which point of it. */
struct wt_way {
    const char *name;
    /** Instead of opening the plan; NULL: that is opened. */
    weir_err (*open)(struct wt_storm *s, uint32_t node);
    /** At a point while it runs. WEIR_DONE: the member closes it now;
     *  WEIR_AGAIN: not yet. */
    weir_err (*act)(struct wt_storm *s, uint32_t node);
};

extern const struct wt_way wt_ways[];
extern const uint32_t wt_n_ways;

struct wt_storm_member {
    struct wt_storm *storm;
    uint32_t node;
    struct wt_plan plan;
    bool opened;
    bool acted;
    bool waited; /* its last step moved nothing */
    uint32_t steps;
    weir_err end;
    struct weir_error error;
    struct ArrowArray kept; /* released when all have closed */
};

struct wt_storm {
    struct wt_cluster c;
    uint64_t id; /* of the query */
    const struct wt_way *way;
    uint32_t culprit;
    uint32_t point; /* steps of the culprit before it acts */
    uint64_t random;
    struct wt_storm_member member[WT_STORM_NODES];
    uint64_t failed; /* queries so far */
    uint64_t done;
};

/** What a storm must not add to. */
struct wt_holdings {
    uint64_t memory_bytes; /* of all nodes, as their statistics say */
    uint64_t area_bytes;   /* of one link of each */
    uint64_t heap_bytes;
    uint32_t descriptors;
};

/** @param node_rings  one ring per worker and node, by the least memory that
 *  nodes open with */
void wt_storm_open(struct wt_storm *s, const struct wt_place *place,
                   bool node_rings);
void wt_storm_close(struct wt_storm *s);

/** One query, spoilt in this way at a random point by a random member; NULL:
 *  by nobody. Fails the test if a member hangs, or if a good query is not
 *  exact. */
void wt_storm_run(struct wt_storm *s, const struct wt_way *way);

/** Wait until nothing of queries is left on any node: rings, units on both ends
 *  of each link, edges in limbo, shuffles. */
void wt_storm_settle(struct wt_storm *s);

struct wt_holdings wt_storm_holdings(struct wt_storm *s);

#endif /* WT_STORM_H */
