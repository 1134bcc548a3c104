/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A simulation that runs: nodes, their workers' tasks, and what is to happen
 * when. harness.c opens and closes it, simrun.c moves it.
 */
#ifndef WI_SIMRUN_H
#define WI_SIMRUN_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/sim.h>

#include "transport/sim/simnet.h"

struct sim_task {
    weir_sim_task_fn fn;
    void *arg;
};

struct sim_worker {
    struct sim_task *tasks; /* those not done, in the order of addition */
    uint32_t n_tasks;
    uint32_t room;
    uint32_t cursor; /* next task to call */
    uint32_t idle;   /* calls in a row that moved nothing */
    bool awake;
    uint64_t busy_until_ns;
};

struct sim_node {
    weir_node *node;
    struct wi_simport_ref port;
    struct sim_worker *workers;
    struct sim_node *next_queued;
    uint64_t next_ns;  /* what the engine asked for */
    uint64_t armed_ns; /* earliest entry in the heap for that */
    uint64_t stalled_until_ns;
    bool queued;
    bool crashed;
    bool joined;
};

/* Kinds of heap entries: when to do what. */
enum { SIM_TIMER, SIM_LOOK, SIM_CRASH, SIM_STALL };

struct sim_stall {
    struct sim_stall *next;
    struct sim_node *node;
    uint64_t until_ns;
};

struct weir_sim {
    struct wi_simnet *net;
    struct sim_node *nodes;
    uint32_t n_nodes;
    uint32_t n_workers;             /* of each node */
    struct weir_node_params params; /* of nodes, as they were given */
    uint64_t n_tasks;               /* not done */
    struct wi_evheap heap;
    struct sim_node *queue_head;
    struct sim_node *queue_tail;
    struct sim_stall *stalls;
    struct sim_worker *running;
    uint64_t moved_ns;       /* when a task last moved, or will */
    uint64_t looked_ns;      /* when every node was visited */
    uint64_t visits_at_rest; /* since a task moved or the clock did */
    void (*watch)(void *arg, uint32_t node); /* NULL: nobody looks on */
    void *watch_arg;
    bool no_memory;
    struct weir_error fatal; /* of a node */
    struct weir_error first; /* of a task */
};

/** Visit the node soon, unless it has crashed. Errors: none. Blocks: never. */
void wi_simrun_enqueue(weir_sim *sim, struct sim_node *n);

/** The node's tasks are over. */
void wi_simrun_end_tasks(weir_sim *sim, struct sim_node *n);

/** Have something of a kind happen to a node or stall then. No memory is
 *  reported when the simulation runs. */
void wi_simrun_push(weir_sim *sim, uint64_t at_ns, unsigned kind, void *what);

#endif /* WI_SIMRUN_H */
