/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/sim/strike.h"

#include <stdio.h>
#include <stdlib.h>

#include "tools/sim/hostile.h"
#include "tools/sim/part.h"
#include "tools/sim/wares.h"
#include "transport/sim/harness.h"

enum { DELAYED_PPM = 300000 };

/* ---- what each fault does ------------------------------------------------ */

static void touch(struct ws_world *w, const struct ws_fault *f)
{
    w->node[f->node].touched = true;
    if (f->kind == WS_FAULT_cut || f->kind == WS_FAULT_drop) {
        w->node[f->peer].touched = true;
    }
}

static void kill_parts(struct ws_world *w, uint32_t node)
{
    const uint64_t detect = w->shape.sim.node.detect_ns;
    w->node[node].crashed = true;
    for (uint32_t q = 0; q < WS_QUERIES; q++) {
        struct ws_part *p = &w->part[q][node];
        if (p->state != WS_ABSENT && w->call_off_ns[q] == 0) {
            w->call_off_ns[q] = weir_sim_now(w->sim) + 4 * detect;
        }
        ws_part_die(p);
    }
    ws_wares_die(w, node);
}

/* Its port first: what it closes now is said to nobody. */
static void crash(struct ws_world *w, uint32_t node)
{
    uint32_t others = 0;
    for (uint32_t i = 0; i < w->shape.nodes; i++) {
        others += i != node && !w->node[i].down;
    }
    if (others == 0 || w->node[node].down) {
        return; /* somebody is to tell of it */
    }
    w->node[node].down = true;
    wi_simnet_crash(wi_sim_net(w->sim), node);
    kill_parts(w, node);
    weir_sim_crash(w->sim, node, weir_sim_now(w->sim));
}

static void restart(struct ws_world *w, uint32_t node)
{
    struct weir_error err = {0};
    struct wi_simnet *net = wi_sim_net(w->sim);
    if (weir_sim_node(w->sim, node) == NULL || !w->node[node].there) {
        return;
    }
    wi_simnet_kill(net, node);
    kill_parts(w, node);
    wi_simnet_refuse_memory(net, node, false);
    w->node[node].life++;
    if (weir_sim_restart(w->sim, node, &err) != WEIR_OK) {
        ws_violate(w, "restart", "node %u does not start again: %s", node,
                   err.message);
    }
}

/* Some hear of it at once, the others when the fault ends. */
static void join(struct ws_world *w, const struct ws_fault *f, bool end)
{
    struct weir_error err = {0};
    struct ws_node *n = &w->node[f->node];
    char name[16];
    char address[16];
    /* Those that hear later do so although it has crashed meanwhile. */
    const bool dead = weir_sim_node(w->sim, f->node) == NULL;
    if ((dead && !end) || n->gone || end != n->there) {
        return;
    }
    (void)snprintf(name, sizeof(name), "n%u", f->node);
    (void)snprintf(address, sizeof(address), "sim:%u", f->node);
    weir_err rc = end ? WEIR_OK : wi_sim_join(w->sim, f->node, &err);
    const struct weir_member m = {
        .name = name, .address = address, .workers = w->shape.workers};
    for (uint32_t i = 0; i < w->shape.nodes && rc == WEIR_OK; i++) {
        weir_node *other = weir_sim_node(w->sim, i);
        if (i != f->node && other != NULL && (end || i % 2 == 0) &&
            w->node[i].there) {
            rc = weir_node_add_member(other, f->node, &m, &err);
        }
    }
    if (rc != WEIR_OK) {
        ws_violate(w, "join", "node %u cannot join: %s", f->node, err.message);
    }
    n->there = true;
}

static struct ws_part *running(struct ws_world *w, const struct ws_fault *f)
{
    struct ws_part *p = &w->part[f->value % WS_QUERIES][f->node];
    const bool runs = p->handle != NULL || p->run != NULL;
    return p->state == WS_RUNNING && runs ? p : NULL;
}

static void stop_readers(struct ws_part *p)
{
    for (uint32_t i = 0; i < WS_WORKERS * WS_STAGES; i++) {
        p->actor[i / WS_STAGES].end[i % WS_STAGES].wanted = true;
    }
    ws_part_wake(p);
}

static void strike_part(struct ws_world *w, const struct ws_fault *f)
{
    static const struct weir_error cause = {WEIR_ERR_QUERY_DATA,
                                            "no such value"};
    struct ws_part *p = running(w, f);
    if (p == NULL) {
        return;
    }
    switch (f->kind) {
    case WS_FAULT_stop:
        stop_readers(p);
        break;
    case WS_FAULT_cancel:
        ws_part_cancel(p, "enough");
        break;
    case WS_FAULT_fail:
        if (p->handle != NULL &&
            weir_query_fail(p->handle, &cause) != WEIR_OK) {
            ws_violate(w, "call", "weir_query_fail refuses a cause");
        }
        break;
    default:
        p->own = true;
        ws_part_fail(p, WEIR_ERR_ABORTED);
        break;
    }
}

static void hold(struct ws_world *w, const struct ws_fault *f, bool end)
{
    struct ws_node *n = &w->node[f->node];
    const uint64_t until = f->at_ns + f->for_ns;
    n->hold_until_ns = until > n->hold_until_ns ? until : n->hold_until_ns;
    for (uint32_t q = 0; end && q < WS_QUERIES; q++) {
        if (ws_part_lives(&w->part[q][f->node])) {
            ws_part_wake(&w->part[q][f->node]);
        }
    }
}

static void strike_net(struct ws_world *w, const struct ws_fault *f, bool end)
{
    struct wi_simnet *net = wi_sim_net(w->sim);
    struct wi_simnet_faults faults = {0};
    if (!end && f->kind == WS_FAULT_delay) {
        faults.delay_ppm = DELAYED_PPM;
        faults.delay_ns = f->value;
    } else if (!end) {
        faults.again_ppm = (uint32_t)f->value;
    }
    wi_simnet_set_faults(net, &faults);
}

static void strike_node(struct ws_world *w, const struct ws_fault *f, bool end)
{
    struct wi_simnet *net = wi_sim_net(w->sim);
    const uint64_t now = weir_sim_now(w->sim);
    switch (f->kind) {
    case WS_FAULT_slow:
        wi_simnet_slow(net, f->node, end ? 1 : (uint32_t)f->value);
        w->node[f->node].slowed = true;
        break;
    case WS_FAULT_cut:
        weir_sim_cut(w->sim, f->node, f->peer, now);
        break;
    case WS_FAULT_drop:
        if (!end) {
            weir_sim_drop(w->sim, f->node, f->peer, now, now + f->for_ns);
        }
        break;
    case WS_FAULT_stall:
        if (!end) {
            weir_sim_stall(w->sim, f->node, now, now + f->for_ns);
            w->node[f->node].alone = true;
        }
        break;
    case WS_FAULT_crash:
        crash(w, f->node);
        break;
    case WS_FAULT_jump:
        wi_simnet_set_skew(net, f->node,
                           wi_simnet_skew(net, f->node) + f->value);
        break;
    default: /* WS_FAULT_memory */
        wi_simnet_refuse_memory(net, f->node, !end);
        w->node[f->node].alone = true;
        break;
    }
}

static void leave(struct ws_world *w, uint32_t node)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < w->shape.nodes; i++) {
        left += w->node[i].there && !w->node[i].leaving && i != node;
    }
    w->node[node].leaving = w->node[node].there && left >= 2;
}

static void strike(struct ws_world *w, const struct ws_fault *f, bool end)
{
    if (ws_fault_group(f->kind) != WS_BEARABLE) {
        touch(w, f);
    }
    switch (f->kind) {
    case WS_FAULT_delay:
    case WS_FAULT_again:
        strike_net(w, f, end);
        break;
    case WS_FAULT_restart:
        restart(w, f->node);
        break;
    case WS_FAULT_hold:
        hold(w, f, end);
        break;
    case WS_FAULT_damage:
    case WS_FAULT_hostile:
        ws_hostile_strike(w, f);
        break;
    case WS_FAULT_join:
        join(w, f, end);
        break;
    case WS_FAULT_leave:
        leave(w, f->node);
        break;
    case WS_FAULT_stop:
    case WS_FAULT_cancel:
    case WS_FAULT_fail:
    case WS_FAULT_close:
        strike_part(w, f);
        break;
    default:
        strike_node(w, f, end);
        break;
    }
}

void ws_strike_leaves(struct ws_world *w)
{
    for (uint32_t i = 0; i < WS_QUERIES * WS_NODES; i++) {
        const struct ws_part *p = &w->part[i / WS_NODES][i % WS_NODES];
        if (p->state == WS_AWAITED) {
            return;
        }
    }
    for (uint32_t i = 0; i < WS_NODES; i++) {
        if (!w->node[i].leaving || !w->node[i].there) {
            continue;
        }
        w->node[i].there = false;
        w->node[i].gone = true;
        for (uint32_t k = 0; k < w->shape.nodes; k++) {
            weir_node *other = weir_sim_node(w->sim, k);
            if (other != NULL && k != i && w->node[k].there) {
                (void)weir_node_remove_member(other, i, NULL);
            }
        }
    }
}

/* ---- when ---------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const struct ws_strike *x = a;
    const struct ws_strike *y = b;
    if (x->at_ns != y->at_ns) {
        return x->at_ns < y->at_ns ? -1 : 1;
    }
    return x->fault < y->fault ? -1 : x->fault > y->fault;
}

static bool lasts(const struct ws_fault *f, uint64_t *for_ns)
{
    *for_ns = f->kind == WS_FAULT_join ? f->value : f->for_ns;
    return *for_ns != 0;
}

void ws_strikes_init(struct ws_strikes *s, const struct ws_schedule *schedule)
{
    s->n = 0;
    s->next = 0;
    for (uint32_t i = 0; i < schedule->n; i++) {
        const struct ws_fault *f = &schedule->fault[i];
        uint64_t for_ns = 0;
        s->strike[s->n++] = (struct ws_strike){f->at_ns, f, false};
        if (lasts(f, &for_ns)) {
            s->strike[s->n++] = (struct ws_strike){f->at_ns + for_ns, f, true};
        }
    }
    qsort(s->strike, s->n, sizeof(s->strike[0]), by_time);
}

uint64_t ws_strikes_next(const struct ws_strikes *s)
{
    return s->next < s->n ? s->strike[s->next].at_ns : UINT64_MAX;
}

void ws_strikes_due(struct ws_strikes *s, struct ws_world *w)
{
    while (ws_strikes_next(s) <= weir_sim_now(w->sim)) {
        const struct ws_strike *k = &s->strike[s->next++];
        strike(w, k->fault, k->end);
    }
}
