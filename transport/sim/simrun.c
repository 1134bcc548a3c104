/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulation that runs.
 *
 *   network event, timer, end of busy or stall
 *            |
 *            v
 *   queue of nodes to visit --> step the engine, call the tasks of workers
 *            ^                  that are awake  --+
 *            +---- something moved, or is awake --+
 *   queue empty: advance the clock to whatever comes next
 *
 * Nodes are visited in turn and each worker makes a few calls per visit, so
 * that no node runs far ahead of the others at one instant.
 */
#include "transport/sim/simrun.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/neutral.h"

enum {
    STEPS_PER_VISIT = 64,
    CALLS_PER_VISIT = 4,    /* of tasks, per worker */
    NAMED_TASKS = 6,        /* in the message about a deadlock */
    RESTLESS_VISITS = 1000, /* per node at one instant, no task moving */
};

/* Before time moves on by more than this, every node is looked at: a task may
 * have done something to a node other than its own. */
static const uint64_t look_everywhere_ns = 1000000;
/* No task moved for so long: heartbeats go on, but it is a deadlock. */
static const uint64_t deadlock_ns = 60000000000u;

/* ---- the queue of nodes, and timers -------------------------------------- */

void wi_simrun_enqueue(weir_sim *sim, struct sim_node *n)
{
    if (n->queued || n->crashed) {
        return;
    }
    n->queued = true;
    n->next_queued = NULL;
    if (sim->queue_head == NULL) {
        sim->queue_head = n;
    } else {
        sim->queue_tail->next_queued = n;
    }
    sim->queue_tail = n;
}

static void enqueue_all(weir_sim *sim)
{
    for (uint32_t i = 0; i < sim->n_nodes; i++) {
        wi_simrun_enqueue(sim, &sim->nodes[i]);
    }
}

static struct sim_node *dequeue(weir_sim *sim)
{
    struct sim_node *n = sim->queue_head;
    if (n != NULL) {
        sim->queue_head = n->next_queued;
        n->queued = false;
    }
    return n;
}

void wi_simrun_push(weir_sim *sim, uint64_t at_ns, unsigned kind, void *what)
{
    if (!wi_evheap_push(&sim->heap, at_ns, kind, what)) {
        sim->no_memory = true;
    }
}

/* The heap keeps old entries; the one whose time is armed_ns counts. */
static void arm_timer(weir_sim *sim, struct sim_node *n)
{
    uint64_t at = wi_max_u64(n->next_ns, weir_sim_now(sim) + 1);
    if (at < n->armed_ns && n->next_ns != WI_NEVER) {
        n->armed_ns = at;
        wi_simrun_push(sim, at, SIM_TIMER, n);
    }
}

/* ---- tasks --------------------------------------------------------------- */

static void note_moved(weir_sim *sim, uint64_t at_ns)
{
    sim->moved_ns = wi_max_u64(sim->moved_ns, at_ns);
    sim->visits_at_rest = 0;
}

static void end_task(weir_sim *sim, struct sim_worker *w, uint32_t i)
{
    memmove(&w->tasks[i], &w->tasks[i + 1],
            (w->n_tasks - i - 1) * sizeof(*w->tasks));
    w->n_tasks--;
    sim->n_tasks--;
}

static void call_task(weir_sim *sim, struct sim_node *n, struct sim_worker *w)
{
    uint64_t now = weir_sim_now(sim);
    uint32_t i = w->cursor < w->n_tasks ? w->cursor : 0;
    struct sim_task t = w->tasks[i]; /* a task may add tasks to its worker */
    sim->running = w;
    weir_err rc = t.fn(t.arg, now);
    sim->running = NULL;
    w->cursor = i + 1;
    if (rc == WEIR_AGAIN) {
        w->idle++;
    } else {
        w->idle = 0;
        note_moved(sim, now);
    }
    if (rc == WEIR_DONE || rc < 0) {
        end_task(sim, w, i);
        w->cursor = i;
    }
    if (rc < 0 && sim->first.code == WEIR_OK) {
        (void)wi_fail(&sim->first, rc,
                      "the task of node %u, worker %u ended at %llu ns with "
                      "%s: %s",
                      n->port.port, (uint32_t)(w - n->workers),
                      (unsigned long long)now, weir_err_name(rc),
                      weir_err_text(rc));
    }
    if (w->busy_until_ns > now) {
        note_moved(sim, w->busy_until_ns);
        wi_simrun_push(sim, w->busy_until_ns, SIM_LOOK, n);
    }
}

/* Returns true if a task was called. */
static bool run_worker(weir_sim *sim, struct sim_node *n, struct sim_worker *w)
{
    uint32_t id = (uint32_t)(w - n->workers);
    bool called = false;
    for (uint32_t i = 0; i < CALLS_PER_VISIT; i++) {
        if (w->n_tasks == 0 || w->busy_until_ns > weir_sim_now(sim)) {
            break;
        }
        if (!w->awake || w->idle >= w->n_tasks) {
            w->awake = weir_worker_wait(n->node, id, 0) == WEIR_OK;
            w->idle = 0;
            if (!w->awake) {
                break;
            }
        }
        call_task(sim, n, w);
        called = true;
    }
    return called;
}

/* ---- nodes --------------------------------------------------------------- */

enum stepped { RESTED, MOVED, RESTLESS };

/* Run the engine until it rests, or often enough for one visit. */
static enum stepped step(weir_sim *sim, struct sim_node *n)
{
    const uint64_t skew = wi_simnet_skew(sim->net, n->port.port);
    for (uint32_t i = 0; i < STEPS_PER_VISIT; i++) {
        n->next_ns = WI_NEVER;
        weir_err rc =
            weir_node_step(n->node, weir_sim_now(sim) + skew, &n->next_ns);
        if (n->next_ns != WI_NEVER) {
            n->next_ns -= wi_min_u64(n->next_ns, skew);
        }
        if (rc < 0 && sim->fatal.code == WEIR_OK) {
            (void)wi_fail(&sim->fatal, rc, "node %u failed: %s: %s",
                          n->port.port, weir_err_name(rc), weir_err_text(rc));
        }
        if (rc != WEIR_OK) {
            return i == 0 ? RESTED : MOVED;
        }
    }
    return RESTLESS;
}

static bool is_awake(const weir_sim *sim, const struct sim_node *n)
{
    for (uint32_t i = 0; i < sim->n_workers; i++) {
        const struct sim_worker *w = &n->workers[i];
        if (w->awake && w->n_tasks > 0 &&
            w->busy_until_ns <= weir_sim_now(sim)) {
            return true;
        }
    }
    return false;
}

static void visit(weir_sim *sim, struct sim_node *n)
{
    bool called = false;
    if (n->crashed || n->stalled_until_ns > weir_sim_now(sim)) {
        return;
    }
    enum stepped before = step(sim, n);
    for (uint32_t i = 0; i < sim->n_workers; i++) {
        called = run_worker(sim, n, &n->workers[i]) || called;
    }
    /* What tasks left for the engine; it may wake workers again. */
    enum stepped after = called ? step(sim, n) : RESTED;
    arm_timer(sim, n);
    if (sim->watch != NULL) {
        sim->watch(sim->watch_arg, n->port.port);
    }
    /* A task of one worker may have woken a worker that was looked at
     * before. */
    const bool others = called && sim->n_workers > 1;
    if (before == RESTLESS || after != RESTED || others || is_awake(sim, n)) {
        wi_simrun_enqueue(sim, n);
    }
}

void wi_simrun_end_tasks(weir_sim *sim, struct sim_node *n)
{
    for (uint32_t i = 0; i < sim->n_workers; i++) {
        sim->n_tasks -= n->workers[i].n_tasks;
        n->workers[i].n_tasks = 0;
    }
}

static void crash(weir_sim *sim, struct sim_node *n)
{
    if (n->crashed) {
        return;
    }
    n->crashed = true;
    wi_simrun_end_tasks(sim, n);
    wi_simnet_crash(sim->net, n->port.port);
    note_moved(sim, weir_sim_now(sim));
}

static void begin_stall(weir_sim *sim, const struct sim_stall *s)
{
    s->node->stalled_until_ns =
        wi_max_u64(s->node->stalled_until_ns, s->until_ns);
    if (s->until_ns != WI_NEVER) {
        note_moved(sim, s->until_ns);
        wi_simrun_push(sim, s->until_ns, SIM_LOOK, s->node);
    }
}

static void run_timer(weir_sim *sim, struct sim_node *n, uint64_t at_ns)
{
    if (at_ns != n->armed_ns) {
        return;
    }
    n->armed_ns = WI_NEVER;
    if (n->next_ns <= weir_sim_now(sim)) {
        wi_simrun_enqueue(sim, n);
    } else {
        arm_timer(sim, n);
    }
}

/* ---- time ---------------------------------------------------------------- */

static void run_entries(weir_sim *sim)
{
    while (sim->heap.n > 0 && wi_evheap_next(&sim->heap) <= weir_sim_now(sim)) {
        struct wi_evheap_entry e = wi_evheap_pop(&sim->heap);
        switch (wi_evheap_kind(&e)) {
        case SIM_TIMER:
            run_timer(sim, e.what, e.at_ns);
            break;
        case SIM_LOOK:
            wi_simrun_enqueue(sim, e.what);
            break;
        case SIM_CRASH:
            crash(sim, e.what);
            break;
        default:
            begin_stall(sim, e.what);
            break;
        }
    }
}

static void advance(weir_sim *sim, uint64_t to_ns)
{
    wi_simnet_advance(sim->net, to_ns);
    run_entries(sim);
    for (;;) {
        uint32_t port = wi_simnet_take_ready(sim->net);
        if (port == UINT32_MAX) {
            break;
        }
        wi_simrun_enqueue(sim, &sim->nodes[port]);
    }
    sim->visits_at_rest = 0;
}

/* Visit until nothing moves at this instant; false: it never comes to rest. */
static bool settle(weir_sim *sim)
{
    const uint64_t most = (uint64_t)RESTLESS_VISITS * (sim->n_nodes + 20);
    struct sim_node *n;
    while (sim->n_tasks > 0 && sim->fatal.code == WEIR_OK &&
           (n = dequeue(sim)) != NULL) {
        visit(sim, n);
        if (++sim->visits_at_rest > most) {
            return false;
        }
    }
    return true;
}

static void append(char *text, size_t room, const char *fmt, ...)
    WI_PRINTF(3, 4);

static void append(char *text, size_t room, const char *fmt, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, fmt);
    (void)wi_neutral_vformat(text + used, room - used, fmt, args);
    va_end(args);
}

/* "node 3 worker 0, node 5 worker 1 (2 tasks) and 3 more" */
static void name_waiting(const weir_sim *sim, char *text, size_t room)
{
    const char *comma = "";
    uint64_t named = 0;
    uint64_t left = sim->n_tasks;
    text[0] = 0;
    for (uint32_t i = 0; i < sim->n_nodes * sim->n_workers; i++) {
        uint32_t node = i / sim->n_workers;
        uint32_t worker = i % sim->n_workers;
        uint32_t n = sim->nodes[node].workers[worker].n_tasks;
        if (n == 0 || named == NAMED_TASKS) {
            continue;
        }
        append(text, room, "%snode %u worker %u", comma, node, worker);
        if (n > 1) {
            append(text, room, " (%u tasks)", n);
        }
        comma = ", ";
        named++;
        left -= n;
    }
    if (left > 0) {
        append(text, room, " and %llu more", (unsigned long long)left);
    }
}

WI_COLD static weir_err fail_waiting(const weir_sim *sim, weir_err code,
                                     const char *what, struct weir_error *err)
{
    char waiting[256];
    name_waiting(sim, waiting, sizeof(waiting));
    bool more = sim->first.code != WEIR_OK;
    return wi_fail(err, code, "%s at %llu ns; waiting: %s%s%.120s", what,
                   (unsigned long long)weir_sim_now(sim), waiting,
                   more ? "; before that, " : "",
                   more ? sim->first.message : "");
}

/* Every task is done, or a node failed, or memory ran out. */
static weir_err report_end(weir_sim *sim, struct weir_error *err)
{
    const struct weir_error *e =
        sim->fatal.code != WEIR_OK ? &sim->fatal : &sim->first;
    weir_err code = e->code;
    if (code != WEIR_OK && err != NULL) {
        *err = *e;
    }
    sim->first = (struct weir_error){0};
    return code;
}

static bool is_deadlock(const weir_sim *sim, uint64_t next_ns)
{
    return next_ns == WI_NEVER ||
           (next_ns > sim->moved_ns && next_ns - sim->moved_ns > deadlock_ns);
}

/* Move the clock to what comes next; WEIR_OK: go on. */
static weir_err move_on(weir_sim *sim, uint64_t limit_ns,
                        struct weir_error *err)
{
    uint64_t now = weir_sim_now(sim);
    uint64_t next =
        wi_min_u64(wi_simnet_next(sim->net), wi_evheap_next(&sim->heap));
    if (sim->looked_ns != now && next - now > look_everywhere_ns) {
        sim->looked_ns = now;
        enqueue_all(sim);
        return WEIR_OK;
    }
    if (is_deadlock(sim, next)) {
        return fail_waiting(sim, WEIR_ERR_STATE,
                            "deadlock: tasks wait and nothing is on its way",
                            err);
    }
    if (next > limit_ns) {
        advance(sim, wi_max_u64(limit_ns, now));
        return fail_waiting(sim, WEIR_ERR_TIMEOUT, "the time limit has passed",
                            err);
    }
    advance(sim, next);
    return WEIR_OK;
}

weir_err weir_sim_run(weir_sim *sim, uint64_t limit_ns, struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    if (sim == NULL) {
        return wi_fail_null(err, "sim");
    }
    sim->looked_ns = WI_NEVER;
    note_moved(sim, weir_sim_now(sim));
    enqueue_all(sim);
    run_entries(sim);
    while (rc == WEIR_OK) {
        if (!settle(sim)) {
            return fail_waiting(sim, WEIR_ERR_STATE,
                                "the nodes do not come to rest", err);
        }
        if (sim->no_memory || wi_simnet_failed(sim->net)) {
            return wi_fail(err, WEIR_ERR_NO_MEMORY, "sim: out of memory");
        }
        if (sim->n_tasks == 0 || sim->fatal.code != WEIR_OK) {
            return report_end(sim, err);
        }
        rc = move_on(sim, limit_ns, err);
    }
    return rc;
}
