/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/cluster.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const uint64_t second = 1000000000u;
/* Instrumented builds are slower, as weir_slowness of the build says. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const uint64_t patience_ns = 120 * 1000000000ull;
#else
static const uint64_t patience_ns = 30 * 1000000000ull;
#endif

/* ---- TLS ----------------------------------------------------------------- */

static uint32_t tell_secret(void *arg, uint32_t which, void *bytes,
                            uint32_t room)
{
    static const char secret[] = "one-one-one-one-one-one-one-one-one";
    (void)arg;
    (void)room;
    memcpy(bytes, secret, sizeof(secret));
    return which == 0 ? (uint32_t)sizeof(secret) : 0;
}

static const struct weir_identity tls = {.secret = tell_secret, .tls_psk = 1};

const struct wt_place wt_place_tls = {.transport = "tcp", .identity = &tls};

/* ---- opening and closing ------------------------------------------------- */

struct weir_node_params wt_node_params(struct wt_cluster *c, uint32_t i)
{
    static unsigned serial;
    struct weir_node_params p = c->params;
    (void)snprintf(c->name[i], WT_NAME_BYTES, "n%u-%ld-%u", i, (long)getpid(),
                   serial++);
    p.name = c->name[i];
    p.transport = c->place->transport;
    p.workers = c->n_workers;
    if (p.listen == NULL) {
        p.listen = c->place->listen;
    }
    if (p.identity == NULL) {
        p.identity = c->place->identity;
    }
    if (p.max_members == 0) {
        p.max_members = c->n_nodes;
    }
    return p;
}

void wt_cluster_members(const struct wt_cluster *c, struct weir_member *members)
{
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        members[i] =
            (struct weir_member){.name = weir_node_name(c->node[i]),
                                 .address = weir_node_address(c->node[i]),
                                 .workers = c->n_workers};
    }
}

void wt_cluster_join(struct wt_cluster *c)
{
    struct weir_member members[WT_NODES];
    struct weir_error err = {0};
    wt_cluster_members(c, members);
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        cr_assert_eq(weir_node_join(c->node[i], members, c->n_nodes, &err),
                     WEIR_OK, "%s", err.message);
    }
}

static void open_sim(struct wt_cluster *c,
                     const struct wt_cluster_params *params)
{
    struct weir_sim_params p = params->sim;
    struct weir_error err = {0};
    p.nodes = c->n_nodes;
    p.node = params->node;
    p.node.workers = c->n_workers;
    cr_assert_eq(weir_sim_open(&p, &c->sim, &err), WEIR_OK, "%s", err.message);
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        c->node[i] = weir_sim_node(c->sim, i);
        (void)snprintf(c->name[i], WT_NAME_BYTES, "%s",
                       weir_node_name(c->node[i]));
    }
}

/* A test that asks for no fault sees none, also on a machine that is so busy
 * that a link takes longer than nodes are patient by themselves (5 s). */
static void be_patient(struct weir_node_params *p)
{
    static const uint64_t busy_ns = 20 * 1000000000ull;
    p->detect_ns = p->detect_ns != 0 ? p->detect_ns : busy_ns;
    p->connect_ns = p->connect_ns != 0 ? p->connect_ns : busy_ns;
}

void wt_cluster_open(struct wt_cluster *c, const struct wt_place *place,
                     const struct wt_cluster_params *params)
{
    static const struct wt_cluster_params none;
    params = params != NULL ? params : &none;
    memset(c, 0, sizeof(*c));
    c->place = place;
    c->n_nodes = params->nodes != 0 ? params->nodes : 2;
    c->n_workers = params->workers != 0 ? params->workers : 1;
    c->params = params->node;
    if (!params->apart) {
        be_patient(&c->params);
    }
    cr_assert_leq(c->n_nodes, WT_NODES);
    (void)pthread_mutex_init(&c->lock, NULL);
    (void)pthread_cond_init(&c->moved, NULL);
    if (place->sim) {
        open_sim(c, params);
        return;
    }
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        struct weir_node_params p = wt_node_params(c, i);
        struct weir_error err = {0};
        cr_assert_eq(weir_node_open(&p, &c->node[i], &err), WEIR_OK, "%s",
                     err.message);
    }
    if (!params->apart) {
        wt_cluster_join(c);
    }
}

uint64_t wt_least_memory(const struct wt_place *place,
                         const struct wt_cluster_params *params)
{
    static const char remedy[] = "raise it to ";
    struct wt_cluster c = {.place = place,
                           .n_nodes = params->nodes,
                           .n_workers = params->workers,
                           .params = params->node};
    struct weir_node_params p = wt_node_params(&c, 0);
    struct weir_sim_params sp = {.nodes = params->nodes, .node = p};
    struct weir_error err = {0};
    weir_sim *sim = NULL;
    p.memory_bytes = 1;
    sp.node = p;
    weir_err rc = place->sim ? weir_sim_open(&sp, &sim, &err)
                             : weir_node_open(&p, &c.node[0], &err);
    const char *sum = strstr(err.message, remedy);
    cr_assert(rc == WEIR_ERR_BUDGET && sum != NULL, "%s", err.message);
    return strtoull(sum + sizeof(remedy) - 1, NULL, 10);
}

static void *close_node(void *node)
{
    weir_node_close(node);
    return NULL;
}

void wt_cluster_close(struct wt_cluster *c)
{
    pthread_t threads[WT_NODES];
    weir_sim_close(c->sim);
    for (uint32_t i = 0; c->sim == NULL && i < c->n_nodes; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, close_node, c->node[i]),
                     0);
    }
    for (uint32_t i = 0; c->sim == NULL && i < c->n_nodes; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    (void)pthread_cond_destroy(&c->moved);
    (void)pthread_mutex_destroy(&c->lock);
    c->n_nodes = 0;
}

/* ---- between tasks ------------------------------------------------------- */

void wt_complain(struct wt_cluster *c, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)pthread_mutex_lock(&c->lock);
    if (c->why[0] == '\0') {
        (void)vsnprintf(c->why, sizeof(c->why), fmt, args);
    }
    (void)pthread_mutex_unlock(&c->lock);
    va_end(args);
}

void wt_gate_open(struct wt_cluster *c, uint32_t gate)
{
    (void)pthread_mutex_lock(&c->lock);
    c->gate = gate > c->gate ? gate : c->gate;
    (void)pthread_cond_broadcast(&c->moved);
    (void)pthread_mutex_unlock(&c->lock);
}

weir_err wt_gate_pass(struct wt_cluster *c, uint32_t gate)
{
    struct timespec until;
    weir_err rc = WEIR_DONE;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(patience_ns / second);
    (void)pthread_mutex_lock(&c->lock);
    while (c->gate < gate && rc == WEIR_DONE) {
        if (c->sim != NULL) {
            weir_sim_busy(c->sim, 20000);
            rc = WEIR_OK;
        } else if (pthread_cond_timedwait(&c->moved, &c->lock, &until) != 0) {
            c->hung = true;
            rc = WEIR_ERR_TIMEOUT;
        }
    }
    (void)pthread_mutex_unlock(&c->lock);
    return rc;
}

struct pause {
    struct wt_cluster *cluster;
    bool (*cond)(void *arg);
    void *arg;
};

static weir_err pause_step(void *arg, uint64_t now_ns)
{
    struct pause *p = arg;
    (void)now_ns;
    if (p->cond(p->arg)) {
        return WEIR_DONE;
    }
    weir_sim_busy(p->cluster->sim, 1000000);
    return WEIR_OK;
}

bool wt_until(struct wt_cluster *c, bool (*cond)(void *arg), void *arg)
{
    struct timespec at;
    if (c->sim != NULL) {
        struct pause p = {c, cond, arg};
        uint32_t i = 0;
        while (weir_sim_node(c->sim, i) == NULL) {
            i++;
        }
        cr_assert_eq(weir_sim_task(c->sim, i, 0, pause_step, &p), WEIR_OK);
        return weir_sim_run(c->sim, weir_sim_now(c->sim) + patience_ns, NULL) ==
               WEIR_OK;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    time_t until = at.tv_sec + (time_t)(patience_ns / second);
    while (!cond(arg)) {
        /* No call waits for what is waited for here; the worker's bell at
         * least lets the library's threads have the processor. */
        (void)weir_worker_wait(c->node[0], 0, 1000000);
        (void)clock_gettime(CLOCK_MONOTONIC, &at);
        if (at.tv_sec > until) {
            return false;
        }
    }
    return true;
}

/* ---- tasks --------------------------------------------------------------- */

struct wt_task *wt_task(struct wt_cluster *c, uint32_t node, uint32_t worker,
                        weir_err (*step)(void *arg), void *arg)
{
    cr_assert_lt(c->n_tasks, WT_TASKS);
    struct wt_task *t = &c->task[c->n_tasks++];
    *t = (struct wt_task){.step = step,
                          .arg = arg,
                          .node = node,
                          .worker = worker,
                          .end = WEIR_AGAIN,
                          .cluster = c};
    return t;
}

static weir_err sim_step(void *arg, uint64_t now_ns)
{
    struct wt_task *t = arg;
    (void)now_ns;
    weir_err rc = t->step(t->arg);
    if (rc != WEIR_OK && rc != WEIR_AGAIN) {
        t->end = rc;
        rc = WEIR_DONE; /* errors are the test's to judge */
    }
    return rc;
}

static bool run_sim(struct wt_cluster *c)
{
    struct weir_error err = {0};
    for (uint32_t i = 0; i < c->n_tasks; i++) {
        struct wt_task *t = &c->task[i];
        if (t->end == WEIR_AGAIN) {
            cr_assert_eq(weir_sim_task(c->sim, t->node, t->worker, sim_step, t),
                         WEIR_OK);
        }
    }
    uint64_t limit = weir_sim_now(c->sim) + 300 * second;
    if (weir_sim_run(c->sim, limit, &err) != WEIR_OK) {
        wt_complain(c, "%s", err.message);
        return false;
    }
    return true;
}

struct worker {
    struct wt_cluster *cluster;
    uint32_t node;
    uint32_t idx;
    pthread_t thread;
};

/* One round over the worker's tasks. */
static weir_err round_of(struct worker *w)
{
    struct wt_cluster *c = w->cluster;
    weir_err all = WEIR_DONE;
    for (uint32_t i = 0; i < c->n_tasks; i++) {
        struct wt_task *t = &c->task[i];
        if (t->node != w->node || t->worker != w->idx || t->end != WEIR_AGAIN) {
            continue;
        }
        weir_err rc = t->step(t->arg);
        if (rc == WEIR_AGAIN) {
            all = all == WEIR_DONE ? WEIR_AGAIN : all;
            continue;
        }
        all = WEIR_OK;
        if (rc != WEIR_OK) {
            t->end = rc;
        }
    }
    return all;
}

static void *run_worker(void *arg)
{
    struct worker *w = arg;
    struct wt_cluster *c = w->cluster;
    weir_err rc;
    while ((rc = round_of(w)) != WEIR_DONE) {
        if (rc == WEIR_AGAIN && weir_worker_wait(c->node[w->node], w->idx,
                                                 patience_ns) != WEIR_OK) {
            wt_complain(c, "node %u worker %u: nothing happened for long",
                        w->node, w->idx);
            (void)pthread_mutex_lock(&c->lock);
            c->hung = true;
            (void)pthread_mutex_unlock(&c->lock);
            break;
        }
    }
    return NULL;
}

static bool has_tasks(const struct wt_cluster *c, uint32_t node,
                      uint32_t worker)
{
    for (uint32_t i = 0; i < c->n_tasks; i++) {
        if (c->task[i].node == node && c->task[i].worker == worker) {
            return true;
        }
    }
    return false;
}

bool wt_cluster_run(struct wt_cluster *c)
{
    struct worker workers[WT_NODES * 8];
    uint32_t n = 0;
    if (c->sim != NULL) {
        return run_sim(c);
    }
    for (uint32_t i = 0; i < c->n_nodes * c->n_workers; i++) {
        struct worker *w = &workers[n];
        *w = (struct worker){c, i / c->n_workers, i % c->n_workers, 0};
        if (has_tasks(c, w->node, w->idx)) {
            cr_assert_eq(pthread_create(&w->thread, NULL, run_worker, w), 0);
            n++;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        (void)pthread_join(workers[i].thread, NULL);
    }
    return !c->hung;
}
