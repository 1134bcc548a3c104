/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir/sim.h: many nodes and their workers in one thread. Opening, tasks and
 * faults; simrun.c runs them.
 *
 * This and simrun are the public face of the transport, and the files of
 * transport/ that include more of the public headers than weir/error.h.
 */
#include "transport/sim/harness.h"

#include <stdio.h>
#include <stdlib.h>

#include <weir/sim.h>

#include "core/base/err.h"
#include "transport/sim/simrun.h"

enum {
    DEFAULT_NODES = 2,
    DEFAULT_LATENCY_NS = 2000,
    DEFAULT_OVERHEAD_BYTES = 64,
    MAX_NODES = 4096,
};

static const uint64_t default_bandwidth = 12500000000u;

/* ---- opening and closing ------------------------------------------------- */

struct wi_simnet *wi_sim_net(weir_sim *sim)
{
    return sim->net;
}

static weir_err check_params(const struct weir_sim_params *p,
                             struct weir_error *err)
{
    for (size_t i = 0; i < WI_ARRAY_LEN(p->reserved); i++) {
        if (p->reserved[i] != 0) {
            return wi_fail(err, WEIR_ERR_ARG, "sim: reserved[%zu] is not zero",
                           i);
        }
    }
    if (p->nodes > MAX_NODES) {
        return wi_fail(err, WEIR_ERR_ARG, "sim: %u nodes, not 1..%d", p->nodes,
                       MAX_NODES);
    }
    return WEIR_OK;
}

static weir_err open_net(weir_sim *sim, const struct weir_sim_params *p,
                         struct weir_error *err)
{
    const struct wi_simnet_params net = {
        .ports = sim->n_nodes,
        .seed = p->seed != 0 ? p->seed : 1,
        .bandwidth = p->bandwidth != 0 ? p->bandwidth : default_bandwidth,
        .latency_ns = p->latency_ns != 0 ? p->latency_ns : DEFAULT_LATENCY_NS,
        .jitter_ns = p->jitter_ns,
        .overhead_bytes = p->frame_overhead_bytes != 0 ? p->frame_overhead_bytes
                                                       : DEFAULT_OVERHEAD_BYTES,
    };
    return wi_simnet_open(&net, &sim->net, err);
}

static weir_err open_node(weir_sim *sim, uint32_t i, struct weir_error *err)
{
    struct sim_node *n = &sim->nodes[i];
    struct weir_node_params p = sim->params;
    char name[16];
    (void)snprintf(name, sizeof(name), "n%u", i);
    n->port = (struct wi_simport_ref){.net = sim->net, .port = i};
    n->armed_ns = WI_NEVER;
    n->next_ns = WI_NEVER;
    n->stalled_until_ns = 0;
    n->workers = calloc(sim->n_workers, sizeof(*n->workers));
    if (n->workers == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "sim: no memory for a node");
    }
    p.name = name;
    p.transport = "sim";
    p.listen = NULL;
    p.manual = 1;
    p.transport_arg = &n->port;
    if (p.max_members == 0) {
        p.max_members = sim->n_nodes;
    }
    return weir_node_open(&p, &n->node, err);
}

/* Nodes first .. first + n - 1, which are open as all others are. */
static weir_err join_some(weir_sim *sim, uint32_t first, uint32_t n,
                          struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    struct weir_member *members = calloc(sim->n_nodes, sizeof(*members));
    if (members == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY,
                       "sim: no memory for the list of members");
    }
    for (uint32_t i = 0; i < sim->n_nodes; i++) {
        if (!sim->nodes[i].joined) {
            continue; /* a number that nobody has yet */
        }
        members[i] = (struct weir_member){
            .name = weir_node_name(sim->nodes[i].node),
            .address = weir_node_address(sim->nodes[i].node),
            .workers = sim->n_workers,
        };
    }
    for (uint32_t i = first; i < first + n && rc == WEIR_OK; i++) {
        rc = weir_node_join(sim->nodes[i].node, members, sim->n_nodes, err);
    }
    free(members);
    return rc;
}

static weir_err open_all(weir_sim *sim, const struct weir_sim_params *params,
                         uint32_t n_joined, struct weir_error *err)
{
    weir_err rc = open_net(sim, params, err);
    for (uint32_t i = 0; i < sim->n_nodes && rc == WEIR_OK; i++) {
        sim->nodes[i].joined = i < n_joined;
        rc = open_node(sim, i, err);
    }
    return rc == WEIR_OK ? join_some(sim, 0, n_joined, err) : rc;
}

weir_err weir_sim_open(const struct weir_sim_params *params, weir_sim **sim_out,
                       struct weir_error *err)
{
    static const struct weir_sim_params defaults;
    if (sim_out == NULL) {
        return wi_fail_null(err, "sim_out");
    }
    if (params == NULL) {
        params = &defaults;
    }
    weir_err rc = check_params(params, err);
    return rc == WEIR_OK ? wi_sim_open(params, UINT32_MAX, sim_out, err) : rc;
}

weir_err wi_sim_open(const struct weir_sim_params *params, uint32_t n_joined,
                     weir_sim **sim_out, struct weir_error *err)
{
    uint32_t n = params->nodes != 0 ? params->nodes : DEFAULT_NODES;
    weir_sim *sim = calloc(1, sizeof(*sim));
    struct sim_node *nodes = calloc(n, sizeof(*nodes));
    if (sim == NULL || nodes == NULL) {
        free(sim);
        free(nodes);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "sim: no memory for %u nodes",
                       n);
    }
    sim->nodes = nodes;
    sim->n_nodes = n;
    sim->n_workers = params->node.workers != 0 ? params->node.workers : 1;
    sim->params = params->node;
    weir_err rc = open_all(sim, params, wi_min_u32(n_joined, n), err);
    if (rc != WEIR_OK) {
        weir_sim_close(sim);
        return rc;
    }
    *sim_out = sim;
    return WEIR_OK;
}

static void close_worker_tasks(struct sim_node *n, uint32_t n_workers)
{
    for (uint32_t w = 0; n->workers != NULL && w < n_workers; w++) {
        free(n->workers[w].tasks);
    }
    free(n->workers);
    n->workers = NULL;
}

void weir_sim_close(weir_sim *sim)
{
    if (sim == NULL) {
        return;
    }
    for (uint32_t i = 0; i < sim->n_nodes; i++) {
        weir_node_close(sim->nodes[i].node);
        close_worker_tasks(&sim->nodes[i], sim->n_workers);
    }
    while (sim->stalls != NULL) {
        struct sim_stall *next = sim->stalls->next;
        free(sim->stalls);
        sim->stalls = next;
    }
    wi_simnet_close(sim->net);
    wi_evheap_fini(&sim->heap);
    free(sim->nodes);
    free(sim);
}

weir_node *weir_sim_node(weir_sim *sim, uint32_t node)
{
    if (sim == NULL || node >= sim->n_nodes || sim->nodes[node].crashed) {
        return NULL;
    }
    return sim->nodes[node].node;
}

uint64_t weir_sim_now(const weir_sim *sim)
{
    return sim != NULL ? wi_simnet_now(sim->net) : 0;
}

/* ---- tasks --------------------------------------------------------------- */

weir_err weir_sim_task(weir_sim *sim, uint32_t node, uint32_t worker,
                       weir_sim_task_fn fn, void *arg)
{
    if (sim == NULL || node >= sim->n_nodes || sim->nodes[node].crashed ||
        worker >= sim->n_workers || fn == NULL) {
        return WEIR_ERR_ARG;
    }
    struct sim_worker *w = &sim->nodes[node].workers[worker];
    if (w->n_tasks == w->room) {
        uint32_t room = w->room == 0 ? 2 : w->room * 2;
        struct sim_task *p = realloc(w->tasks, room * sizeof(*p));
        if (p == NULL) {
            return WEIR_ERR_NO_MEMORY;
        }
        w->tasks = p;
        w->room = room;
    }
    w->tasks[w->n_tasks++] = (struct sim_task){.fn = fn, .arg = arg};
    w->awake = true; /* each task is called at least once */
    w->idle = 0;
    sim->n_tasks++;
    wi_simrun_enqueue(sim, &sim->nodes[node]);
    return WEIR_OK;
}

void weir_sim_busy(weir_sim *sim, uint64_t ns)
{
    struct sim_worker *w = sim != NULL ? sim->running : NULL;
    if (w == NULL) {
        return;
    }
    w->busy_until_ns = wi_max_u64(w->busy_until_ns, weir_sim_now(sim)) + ns;
}

/* ---- faults -------------------------------------------------------------- */

static bool in_range(const weir_sim *sim, uint32_t a, uint32_t b)
{
    return sim != NULL && a < sim->n_nodes && b < sim->n_nodes;
}

void weir_sim_crash(weir_sim *sim, uint32_t node, uint64_t at_ns)
{
    if (in_range(sim, node, node)) {
        wi_simrun_push(sim, at_ns, SIM_CRASH, &sim->nodes[node]);
    }
}

weir_err weir_sim_restart(weir_sim *sim, uint32_t node, struct weir_error *err)
{
    if (sim == NULL) {
        return wi_fail_null(err, "sim");
    }
    if (!in_range(sim, node, node)) {
        return wi_fail(err, WEIR_ERR_ARG, "sim: no node %u", node);
    }
    struct sim_node *n = &sim->nodes[node];
    if (n->crashed) {
        return wi_fail(err, WEIR_ERR_STATE,
                       "sim: node %u has crashed, for good", node);
    }
    wi_simrun_end_tasks(sim, n);
    wi_simnet_kill(sim->net, node);
    weir_node_close(n->node);
    n->node = NULL;
    close_worker_tasks(n, sim->n_workers);
    weir_err rc = open_node(sim, node, err);
    rc = rc == WEIR_OK ? join_some(sim, node, 1, err) : rc;
    n->crashed = rc != WEIR_OK;
    return rc;
}

weir_err wi_sim_join(weir_sim *sim, uint32_t node, struct weir_error *err)
{
    sim->nodes[node].joined = true;
    return join_some(sim, node, 1, err);
}

void wi_sim_look(weir_sim *sim, uint32_t node, uint64_t at_ns)
{
    wi_simrun_push(sim, at_ns, SIM_LOOK, &sim->nodes[node]);
}

void wi_sim_watch(weir_sim *sim, void (*fn)(void *arg, uint32_t node),
                  void *arg)
{
    sim->watch = fn;
    sim->watch_arg = arg;
}

void weir_sim_cut(weir_sim *sim, uint32_t a, uint32_t b, uint64_t at_ns)
{
    if (in_range(sim, a, b)) {
        wi_simnet_cut(sim->net, a, b, at_ns);
    }
}

void weir_sim_drop(weir_sim *sim, uint32_t a, uint32_t b, uint64_t at_ns,
                   uint64_t until_ns)
{
    if (in_range(sim, a, b)) {
        wi_simnet_drop(sim->net, a, b, at_ns, until_ns);
    }
}

void weir_sim_stall(weir_sim *sim, uint32_t node, uint64_t at_ns,
                    uint64_t until_ns)
{
    if (!in_range(sim, node, node)) {
        return;
    }
    struct sim_stall *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        sim->no_memory = true;
        return;
    }
    *s = (struct sim_stall){sim->stalls, &sim->nodes[node], until_ns};
    sim->stalls = s;
    wi_simrun_push(sim, at_ns, SIM_STALL, s);
}

uint64_t weir_sim_sent_bytes(const weir_sim *sim, uint32_t node)
{
    return in_range(sim, node, node) ? wi_simnet_sent_bytes(sim->net, node) : 0;
}
