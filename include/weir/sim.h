/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The simulator: a whole cluster in one thread, under a virtual clock.
 *
 * Every node runs the same engine, rings and protocol as on a real network;
 * only the wire and the clock are simulated. A run is a function of its
 * params: the same seed gives the same events in the same order, so a failing
 * run is repeated exactly.
 *
 *   sim = weir_sim_open(256 nodes, 12.5 GB/s, 2 us)
 *   weir_query_open(weir_sim_node(sim, i), ...) ...      // as anywhere else
 *   weir_sim_task(sim, i, worker, fn, arg)               // your operators
 *   weir_sim_run(sim, limit)   // until every task is done
 *   weir_sim_now(sim)          // virtual nanoseconds that took
 *
 * The network model: each node has one port that sends and receives at
 * `bandwidth`, both at once; a transfer occupies the sender's port, then after
 * `latency` the receiver's port, first come first served. Transfers of a link
 * stay in order; transfers of different links may overtake each other.
 * Computing takes no virtual time unless a task says so.
 */
#ifndef WEIR_SIM_H
#define WEIR_SIM_H

#include <stdint.h>

#include <weir/error.h>
#include <weir/node.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_sim weir_sim;

/** Options. Zero means the default in brackets. */
struct weir_sim_params {
    uint32_t nodes;                /* [2], 1..4096 */
    uint64_t seed;                 /* of jitter and faults [1] */
    uint64_t bandwidth;            /* bytes per second of each port [12.5e9] */
    uint64_t latency_ns;           /* one way [2000] */
    uint64_t jitter_ns;            /* up to this much more, per transfer [0] */
    uint32_t frame_overhead_bytes; /* per transfer on the wire [64] */
    struct weir_node_params node;  /* for every node; name, transport, listen,
                                     manual and transport_arg are set by sim,
                                     max_members is [nodes] */
    uint64_t reserved[4];          /* must be zero */
};

/**
 * What a task says after a call.
 *
 * WEIR_OK: it moved, call again; WEIR_AGAIN: call when its worker is woken;
 * WEIR_DONE: never again; an error: never again, and weir_sim_run reports it.
 */
typedef weir_err (*weir_sim_task_fn)(void *arg, uint64_t now_ns);

/**
 * Build a cluster: opens and joins all nodes.
 *
 * Errors:     as weir_node_open
 * Blocks:     never
 * Threads:    one thread uses a sim and all its nodes
 * Ownership:  weir_sim_close
 */
WEIR_API weir_err weir_sim_open(const struct weir_sim_params *params,
                                weir_sim **sim_out, struct weir_error *err);

/** Close every node and free the cluster. NULL is allowed.
 *  Errors: none. Blocks: never. Threads: one. Ownership: frees sim. */
WEIR_API void weir_sim_close(weir_sim *sim);

/** Node i. Errors: NULL if out of range or crashed. Blocks: never.
 *  Threads: one. Ownership: the sim's. */
WEIR_API weir_node *weir_sim_node(weir_sim *sim, uint32_t node);

/** Virtual time. Errors: none. Blocks: never. Threads: one.
 *  Ownership: nothing. */
WEIR_API uint64_t weir_sim_now(const weir_sim *sim);

/**
 * Add a task to a worker of a node.
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    one
 * Ownership:  arg stays the caller's, valid until the task is done
 */
WEIR_API weir_err weir_sim_task(weir_sim *sim, uint32_t node, uint32_t worker,
                                weir_sim_task_fn fn, void *arg);

/** A running task took this much virtual time: its worker is not called again
 *  before. Errors: none. Blocks: never. Threads: from within a task.
 *  Ownership: nothing. */
WEIR_API void weir_sim_busy(weir_sim *sim, uint64_t ns);

/**
 * Run until every task is done, or until nothing can happen any more, or
 * until the virtual clock passes limit_ns. It may be called again.
 *
 * Heartbeats never end, so "nothing is on its way" also means: no task moved
 * for 60 virtual seconds, and none is busy or stalled.
 *
 * @param limit_ns  virtual time, counted from weir_sim_open; WEIR_FOREVER = no
 *                  limit
 *
 * Returns:    WEIR_OK: all tasks are done (tasks of crashed nodes count as
 *             done)
 * Errors:     the first error that a task returned, after all tasks ended;
 *             WEIR_ERR_TIMEOUT: limit_ns passed; WEIR_ERR_STATE: tasks wait
 *             and nothing is on its way: a deadlock. The message names them.
 * Blocks:     as long as it takes; no sleeping
 * Threads:    one
 * Ownership:  nothing
 */
WEIR_API weir_err weir_sim_run(weir_sim *sim, uint64_t limit_ns,
                               struct weir_error *err);

/* ---- faults; each takes effect at the virtual time `at_ns` --------------- */

/** The node stops for good, without a word; its links stay silent (as when a
 *  host loses power). Errors: none. Blocks: never. Threads: one.
 *  Ownership: nothing. */
WEIR_API void weir_sim_crash(weir_sim *sim, uint32_t node, uint64_t at_ns);

/**
 * The process of a node is killed and started again under its name, at once:
 * its tasks are over, its links break, and a new node takes its place, which
 * knows the members that the simulation began with.
 *
 * What the program had open on it was closed before, but for regions and asks,
 * which end with it. It did not crash before: that is for good.
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_STATE (it has crashed); as weir_node_open:
 *             it counts as crashed then
 * Blocks:     never
 * Threads:    one; between two calls of weir_sim_run
 * Ownership:  frees the node that weir_sim_node gave; the new one is the sim's
 */
WEIR_API weir_err weir_sim_restart(weir_sim *sim, uint32_t node,
                                   struct weir_error *err);

/** The link between two nodes breaks: both ends learn it. It may be opened
 *  again. Errors: none. Blocks: never. Threads: one. Ownership: nothing. */
WEIR_API void weir_sim_cut(weir_sim *sim, uint32_t a, uint32_t b,
                           uint64_t at_ns);

/** Everything between two nodes is lost silently from at_ns until until_ns,
 *  then the link is found broken. Errors: none. Blocks: never. Threads: one.
 *  Ownership: nothing. */
WEIR_API void weir_sim_drop(weir_sim *sim, uint32_t a, uint32_t b,
                            uint64_t at_ns, uint64_t until_ns);

/** The node does nothing from at_ns until until_ns (SIGSTOP, a long pause).
 *  Errors: none. Blocks: never. Threads: one. Ownership: nothing. */
WEIR_API void weir_sim_stall(weir_sim *sim, uint32_t node, uint64_t at_ns,
                             uint64_t until_ns);

/** Bytes that node has put on the wire, overhead included.
 *  Errors: none. Blocks: never. Threads: one. Ownership: nothing. */
WEIR_API uint64_t weir_sim_sent_bytes(const weir_sim *sim, uint32_t node);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_SIM_H */
