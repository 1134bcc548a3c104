/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Two honest nodes and a rogue, in one thread: what the rogue does to them
 * while they run queries.
 *
 *   node 0 ==link== node 1        plan[WT_LAB_HONEST]: both of them
 *       \            /            plan[WT_LAB_SHARED]: with the rogue
 *        +-- rogue -+
 *
 * Over the simulator everything is a function of what the rogue does; over tcp
 * the nodes have their own threads. A query that is to end ends in bounded
 * time, or the process does.
 */
#ifndef WT_LAB_H
#define WT_LAB_H

#include "test/support/plan.h"
#include "test/support/rogue.h"

enum { WT_LAB_NODES = 2, WT_LAB_HONEST = 0, WT_LAB_SHARED = 1 };

struct wt_lab_params {
    bool tcp;         /* [the simulator] */
    uint32_t rogue;   /* its number, 0 or 2 */
    bool node_rings;  /* one ring per pair of nodes and worker */
    uint32_t workers; /* of the honest nodes [1] */
};

struct wt_lab {
    bool tcp;
    struct wi_simnet *net;
    uint64_t now_ns;
    uint64_t looked_ns[WT_LAB_NODES]; /* when its worker last rested, and 1 */
    weir_node *node[WT_LAB_NODES];
    uint32_t number[WT_LAB_NODES]; /* of each node among the members */
    struct wt_rogue rogue;
    struct wt_rogue_link *link[WT_LAB_NODES]; /* of the rogue to each */
    uint64_t queries;
    /* of each kind of query, on each node */
    struct wt_plan plan[2][WT_LAB_NODES];
    bool open[2];
    weir_err end[2][WT_LAB_NODES]; /* WEIR_AGAIN: still runs */
    struct weir_error error[2][WT_LAB_NODES];
    uint64_t id[2];
    char log[512]; /* the last line that a node logged */
    /* of each node's log: lines that have the rogue's name */
    _Atomic uint32_t named[WT_LAB_NODES];
    struct wt_wares *wares; /* NULL: no regions (wares.h) */
};

void wt_lab_open(struct wt_lab *lab, const struct wt_lab_params *params);
void wt_lab_close(struct wt_lab *lab);

/** Move everything a little. False: nothing can move any more (simulator). */
bool wt_lab_step(struct wt_lab *lab);

/** Step until cond holds; false after `seconds` of the clock (the simulator's:
 *  virtual ones). */
bool wt_lab_until(struct wt_lab *lab, bool (*cond)(struct wt_lab *lab),
                  uint32_t seconds);

/** The rogue connects to both nodes as a member should. */
void wt_lab_meet(struct wt_lab *lab);

/** The rogue has gone: its connections are closed. */
void wt_lab_part(struct wt_lab *lab);

/** Begin a query of this kind on both nodes; each makes `rows` rows. */
void wt_lab_begin(struct wt_lab *lab, int kind, uint64_t rows);

/** Both nodes' queries of this kind have ended. */
bool wt_lab_honest_ended(struct wt_lab *lab);
bool wt_lab_shared_ended(struct wt_lab *lab);

/** It ended well, and no row was lost or doubled; else the process ends. */
void wt_lab_exact(struct wt_lab *lab, const char *after);

/** Close the queries of this kind. */
void wt_lab_end(struct wt_lab *lab, int kind);

/** Nothing of the rogue, and of queries, is left on the nodes. */
bool wt_lab_at_rest(struct wt_lab *lab);

/** Bytes that the process has from malloc now. */
uint64_t wt_heap_bytes(void);

#endif /* WT_LAB_H */
