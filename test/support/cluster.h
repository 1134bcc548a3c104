/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Clusters for tests: several nodes in one process, driven by one thread per
 * worker or, on the simulator, by its tasks.
 *
 *   wt_cluster_open -> wt_task ... -> wt_cluster_run -> wt_cluster_close
 *
 * What a worker does is a list of tasks: step functions that return WEIR_OK
 * (moved), WEIR_AGAIN (try again when the worker was woken), WEIR_DONE or an
 * error. The same step functions run under both drivers. A task that makes no
 * progress for half a minute (four times that where instrumented) is taken for
 * hung, and so is a simulation that stands still.
 */
#ifndef WT_CLUSTER_H
#define WT_CLUSTER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <weir/weir.h>

enum { WT_NODES = 8, WT_TASKS = 1024, WT_NAME_BYTES = 48 };

/** Where a suite runs. */
struct wt_place {
    const char *transport;
    bool sim;
    const char *listen;                   /* of every node [any] */
    const struct weir_identity *identity; /* likewise [none] */
};

/** tcp with TLS, by a secret that all nodes have. */
extern const struct wt_place wt_place_tls;

struct wt_task {
    weir_err (*step)(void *arg);
    void *arg;
    uint32_t node;
    uint32_t worker;
    weir_err end; /* WEIR_AGAIN while it has not ended */
    struct wt_cluster *cluster;
};

struct wt_cluster {
    const struct wt_place *place;
    uint32_t n_nodes;
    uint32_t n_workers; /* of each node */
    weir_node *node[WT_NODES];
    char name[WT_NODES][WT_NAME_BYTES];
    struct weir_node_params params;
    weir_sim *sim;
    struct wt_task task[WT_TASKS];
    uint32_t n_tasks;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint32_t gate; /* under lock: highest gate that is open */
    bool hung;     /* under lock */
    char why[512]; /* under lock: the first complaint */
};

/** Options of a cluster; zero is the default. */
struct wt_cluster_params {
    uint32_t nodes;   /* [2] */
    uint32_t workers; /* [1] */
    bool apart;       /* not joined (threads only) */
    struct weir_node_params node;
    struct weir_sim_params sim; /* seed, latency_ns, jitter_ns, bandwidth */
};

/** Open and join. Fails the test on error. */
void wt_cluster_open(struct wt_cluster *c, const struct wt_place *place,
                     const struct wt_cluster_params *params);

/** The smallest memory_bytes with which such nodes open. */
uint64_t wt_least_memory(const struct wt_place *place,
                         const struct wt_cluster_params *params);

/** Close all nodes, side by side. */
void wt_cluster_close(struct wt_cluster *c);

/** Options of node i of a cluster on threads, its name filled in. */
struct weir_node_params wt_node_params(struct wt_cluster *c, uint32_t i);

/** The list of members, n_nodes of them. Texts are the nodes'. */
void wt_cluster_members(const struct wt_cluster *c,
                        struct weir_member *members);

/** Join all nodes by that list. */
void wt_cluster_join(struct wt_cluster *c);

struct wt_task *wt_task(struct wt_cluster *c, uint32_t node, uint32_t worker,
                        weir_err (*step)(void *arg), void *arg);

/** Run every task that has not ended until it ends. False: some hung. */
bool wt_cluster_run(struct wt_cluster *c);

/** From a task: note what is wrong. The first complaint is kept. */
void wt_complain(struct wt_cluster *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** From a task: let those go on who wait at gates up to this one. */
void wt_gate_open(struct wt_cluster *c, uint32_t gate);
/** From a task: wait for a gate. Returns what the step is to return, or
 *  WEIR_DONE once the gate is open. */
weir_err wt_gate_pass(struct wt_cluster *c, uint32_t gate);

/** Wait, for something that threads of the library do, until cond(arg) holds;
 *  false after as long. On the simulator virtual time passes. */
bool wt_until(struct wt_cluster *c, bool (*cond)(void *arg), void *arg);

#endif /* WT_CLUSTER_H */
