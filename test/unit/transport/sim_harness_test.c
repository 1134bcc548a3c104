/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir_sim_run and its surroundings, without the core: the node functions
 * below are a small node that only passes tagged messages from worker to
 * worker, over the real transport "sim". An executable of its own, since these
 * functions stand in for those of core/.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/sim.h>

#include "core/base/err.h"
#include "core/transport.h"
#include "transport/registry.h"
#include "transport/sim/harness.h"

/* ---- a small node -------------------------------------------------------- */

enum { MAX_WORKERS = 4, MAX_HELD = 64, EVENTS = 8 };

struct note {
    uint32_t worker; /* that it is for */
    uint32_t from;   /* node */
    uint64_t tag;
};

struct weir_node {
    struct wi_transport *t;
    char name[64];
    char address[WI_ADDRESS_BYTES];
    struct weir_node_params params;
    uint32_t self;
    uint32_t n_members;
    struct wi_ep **eps; /* per member */
    struct note *held;  /* for members whose link is not up yet */
    uint32_t *held_for;
    uint32_t n_held;
    bool *up;
    struct note inbox[MAX_WORKERS][MAX_HELD];
    uint32_t n_inbox[MAX_WORKERS];
    bool woken[MAX_WORKERS];
    uint64_t lost_links;
    uint64_t steps;
    uint64_t last_step_ns;
    bool poked; /* has work that no event announces */
};

/* What the next nodes are to be like. */
static struct {
    uint64_t heartbeat_ns;
    bool restless;
    bool fails;
    uint32_t refuse_open; /* of the node with this number, plus 1 */
} manner;

weir_err weir_node_open(const struct weir_node_params *params,
                        weir_node **node_out, struct weir_error *err)
{
    struct wi_simport_ref *ref = params->transport_arg;
    cr_assert_str_eq(params->transport, "sim");
    cr_assert_eq(params->manual, 1);
    if (manner.refuse_open == ref->port + 1) {
        return wi_fail(err, WEIR_ERR_BUDGET, "refused by the test");
    }
    weir_node *n = calloc(1, sizeof(*n));
    cr_assert_not_null(n);
    struct wi_transport_params p = {.name = params->name, .arg = ref};
    cr_assert_eq(wi_sim_ops.open(&p, &n->t, err), WEIR_OK);
    wi_sim_ops.address(n->t, n->address);
    snprintf(n->name, sizeof(n->name), "%s", params->name);
    n->params = *params;
    *node_out = n;
    return WEIR_OK;
}

void weir_node_close(weir_node *n)
{
    if (n == NULL) {
        return;
    }
    for (uint32_t i = 0; i < n->n_members; i++) {
        if (n->eps[i] != NULL) {
            wi_sim_ops.disconnect(n->eps[i]);
        }
    }
    wi_sim_ops.close(n->t);
    free(n->eps);
    free(n->up);
    free(n->held);
    free(n->held_for);
    free(n);
}

const char *weir_node_address(const weir_node *n)
{
    return n->address;
}

const char *weir_node_name(const weir_node *n)
{
    return n->name;
}

weir_err weir_node_join(weir_node *n, const struct weir_member *members,
                        uint32_t count, struct weir_error *err)
{
    (void)err;
    n->n_members = count;
    n->eps = calloc(count, sizeof(struct wi_ep *));
    n->up = calloc(count, sizeof(*n->up));
    n->held = calloc(MAX_HELD, sizeof(*n->held));
    n->held_for = calloc(MAX_HELD, sizeof(*n->held_for));
    n->self = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        char address[32];
        snprintf(address, sizeof(address), "sim:%u", i);
        cr_assert_str_eq(members[i].address, address);
        if (strcmp(members[i].name, n->name) == 0) {
            n->self = i;
        }
    }
    cr_assert_neq(n->self, UINT32_MAX);
    return WEIR_OK;
}

/* Messages go over the link that the sender opened. */
static void tell(weir_node *n, uint32_t to, uint32_t worker, uint64_t tag)
{
    struct note note = {worker, n->self, tag};
    struct weir_error err = {0};
    if (n->eps[to] == NULL) {
        char address[32];
        snprintf(address, sizeof(address), "sim:%u", to);
        cr_assert_eq(wi_sim_ops.connect(n->t, address, &n->eps[to], &err),
                     WEIR_OK);
    }
    if (!n->up[to]) {
        cr_assert_lt(n->n_held, MAX_HELD);
        n->held[n->n_held] = note;
        n->held_for[n->n_held++] = to;
        return;
    }
    cr_assert_eq(wi_sim_ops.send(n->eps[to], &note, sizeof(note)), WEIR_OK);
    cr_assert_eq(wi_sim_ops.kick(n->eps[to]), WEIR_OK);
}

static bool hear(weir_node *n, uint32_t worker, struct note *note_out)
{
    if (n->n_inbox[worker] == 0) {
        return false;
    }
    *note_out = n->inbox[worker][0];
    n->n_inbox[worker]--;
    memmove(&n->inbox[worker][0], &n->inbox[worker][1],
            n->n_inbox[worker] * sizeof(struct note));
    return true;
}

static void wake_all(weir_node *n)
{
    for (uint32_t w = 0; w < MAX_WORKERS; w++) {
        n->woken[w] = true;
    }
}

static uint32_t member_of(const weir_node *n, const struct wi_ep *ep)
{
    uint32_t i = 0;
    while (i < n->n_members && n->eps[i] != ep) {
        i++;
    }
    return i;
}

static void link_up(weir_node *n, uint32_t member)
{
    n->up[member] = true;
    for (uint32_t i = 0; i < n->n_held; i++) {
        if (n->held_for[i] == member) {
            tell(n, member, n->held[i].worker, n->held[i].tag);
        }
    }
    n->n_held = 0; /* tests hold for one member at a time */
}

static void handle(weir_node *n, const struct wi_event *ev)
{
    uint32_t member = member_of(n, ev->ep);
    struct note note;
    switch (ev->kind) {
    case WI_EV_CONNECTED:
        link_up(n, member);
        break;
    case WI_EV_MESSAGE:
        memcpy(&note, ev->bytes, sizeof(note));
        cr_assert_lt(n->n_inbox[note.worker], MAX_HELD);
        n->inbox[note.worker][n->n_inbox[note.worker]++] = note;
        n->woken[note.worker] = true;
        break;
    case WI_EV_CLOSED:
        if (member < n->n_members) {
            n->eps[member] = NULL;
            n->up[member] = false;
        }
        n->lost_links++;
        wi_sim_ops.disconnect(ev->ep);
        wake_all(n);
        break;
    default:
        break;
    }
}

weir_err weir_node_step(weir_node *n, uint64_t now_ns, uint64_t *next_ns_out)
{
    struct wi_event events[EVENTS];
    cr_assert_geq(now_ns, n->last_step_ns, "the clock went back");
    n->steps++;
    n->last_step_ns = now_ns;
    if (manner.fails) {
        return WEIR_ERR_NODE;
    }
    if (manner.heartbeat_ns != 0) {
        *next_ns_out = now_ns + manner.heartbeat_ns;
    }
    uint32_t got = wi_sim_ops.poll(n->t, now_ns, events, EVENTS);
    for (uint32_t i = 0; i < got; i++) {
        handle(n, &events[i]);
    }
    if (n->poked) {
        n->poked = false;
        wake_all(n);
        return WEIR_OK;
    }
    return got > 0 || manner.restless ? WEIR_OK : WEIR_AGAIN;
}

weir_err weir_worker_wait(weir_node *n, uint32_t worker, uint64_t timeout_ns)
{
    cr_assert_eq(timeout_ns, 0);
    bool woken = n->woken[worker];
    n->woken[worker] = false;
    return woken ? WEIR_OK : WEIR_AGAIN;
}

/* For the table of "sim"; nothing of transport/registry.c is needed. */
weir_err wi_no_map(struct wi_ep *ep, uint64_t key, size_t bytes,
                   uint32_t access, void **base_out, struct weir_error *err)
{
    (void)ep, (void)key, (void)bytes, (void)access, (void)base_out;
    return wi_fail(err, WEIR_ERR_UNSUPPORTED, "no map");
}

void wi_no_unmap(struct wi_transport *t, void *base, size_t bytes)
{
    (void)t, (void)base, (void)bytes;
}

weir_err wi_all_taken(struct wi_transport *t, const struct wi_mem_part *part,
                      struct weir_error *err)
{
    (void)t, (void)part, (void)err;
    return WEIR_OK;
}

int wi_no_fd(struct wi_transport *t)
{
    (void)t;
    return -1;
}

weir_err wi_no_next(struct wi_transport *t, const char *address,
                    const struct wi_ep *failed, struct wi_ep **ep_out,
                    struct weir_error *err)
{
    (void)t, (void)address, (void)failed, (void)ep_out, (void)err;
    return WEIR_DONE;
}

void wi_plain_why(struct wi_transport *t, const char *address,
                  const struct wi_ep *ep, char *text)
{
    (void)t, (void)address, (void)ep;
    text[0] = 0;
}

/* ---- tasks --------------------------------------------------------------- */

static weir_sim *open_sim(uint32_t nodes, uint32_t workers)
{
    struct weir_sim_params p = {
        .nodes = nodes,
        .bandwidth = 1000000000,
        .latency_ns = 2000,
        .node = {.workers = workers},
    };
    struct weir_error err = {0};
    weir_sim *sim = NULL;
    cr_assert_eq(weir_sim_open(&p, &sim, &err), WEIR_OK, "%s", err.message);
    return sim;
}

static void add(weir_sim *sim, uint32_t node, uint32_t worker,
                weir_sim_task_fn fn, void *arg)
{
    cr_assert_eq(weir_sim_task(sim, node, worker, fn, arg), WEIR_OK);
}

static void run_ok(weir_sim *sim)
{
    struct weir_error err = {0};
    weir_err rc = weir_sim_run(sim, WEIR_FOREVER, &err);
    cr_assert_eq(rc, WEIR_OK, "%s: %s", weir_err_name(rc), err.message);
}

struct player {
    weir_sim *sim;
    uint32_t self;
    uint32_t peer;
    uint64_t rounds;
    uint64_t heard;
    uint64_t calls;
    bool serves;
};

static weir_err play(void *arg, uint64_t now_ns)
{
    struct player *p = arg;
    weir_node *n = weir_sim_node(p->sim, p->self);
    struct note note;
    cr_assert_eq(now_ns, weir_sim_now(p->sim));
    p->calls++;
    if (p->serves) {
        p->serves = false;
        tell(n, p->peer, 0, 0);
        return WEIR_OK;
    }
    if (!hear(n, 0, &note)) {
        return WEIR_AGAIN;
    }
    p->heard++;
    if (note.tag + 1 < 2 * p->rounds) {
        tell(n, p->peer, 0, note.tag + 1);
    }
    return p->heard == p->rounds ? WEIR_DONE : WEIR_OK;
}

Test(sim_harness, ping_pong_takes_the_time_of_its_messages)
{
    enum { ROUNDS = 1000, MESSAGE_NS = 2 * (64 + sizeof(struct note)) + 2000 };
    weir_sim *sim = open_sim(2, 1);
    struct player a = {sim, 0, 1, ROUNDS, 0, 0, true};
    struct player b = {sim, 1, 0, ROUNDS, 0, 0, false};
    add(sim, 0, 0, play, &a);
    add(sim, 1, 0, play, &b);
    run_ok(sim);
    cr_assert_eq(a.heard, ROUNDS);
    cr_assert_eq(b.heard, ROUNDS);
    /* two links are opened first, each by a message there and one back */
    uint64_t handshakes = (uint64_t)2 * 2 * (2 * 64 + 2000);
    cr_assert_eq(weir_sim_now(sim), 2 * ROUNDS * MESSAGE_NS + handshakes);
    /* A sleeping task is not called before it is woken: one call for each
     * message, one to find nothing after it, and the first. */
    cr_assert_leq(a.calls, 2 * ROUNDS + 2);
    cr_assert_gt(weir_sim_sent_bytes(sim, 0), ROUNDS * 64);
    weir_sim_close(sim);
}

struct counter {
    weir_sim *sim;
    uint64_t calls;
    uint64_t until;
    uint64_t busy_ns;
    weir_err last;
    struct counter *other;
    uint64_t most_ahead;
    char *order; /* one letter per call */
    char letter;
};

static weir_err count(void *arg, uint64_t now_ns)
{
    struct counter *c = arg;
    (void)now_ns;
    c->calls++;
    if (c->order != NULL) {
        c->order[strlen(c->order)] = c->letter;
    }
    if (c->other != NULL && c->calls > c->other->calls) {
        uint64_t ahead = c->calls - c->other->calls;
        c->most_ahead = ahead > c->most_ahead ? ahead : c->most_ahead;
    }
    if (c->busy_ns != 0) {
        weir_sim_busy(c->sim, c->busy_ns);
    }
    return c->calls < c->until ? WEIR_OK : c->last;
}

Test(sim_harness, busy_workers_pass_time_side_by_side)
{
    weir_sim *sim = open_sim(2, 2);
    struct counter a = {.sim = sim, .until = 10, .busy_ns = 100};
    struct counter b = {.sim = sim, .until = 30, .busy_ns = 50};
    struct counter c = {.sim = sim, .until = 4, .busy_ns = 70};
    a.last = b.last = c.last = WEIR_DONE;
    add(sim, 0, 0, count, &a);
    add(sim, 0, 1, count, &b);
    add(sim, 1, 0, count, &c);
    run_ok(sim);
    cr_assert_eq(a.calls, 10);
    cr_assert_eq(b.calls, 30);
    cr_assert_eq(c.calls, 4);
    /* b's last call is at 29 * 50; nothing waits for its end */
    cr_assert_eq(weir_sim_now(sim), 29 * 50);
    weir_sim_close(sim);
}

Test(sim_harness, nodes_take_turns)
{
    weir_sim *sim = open_sim(2, 1);
    struct counter a = {.sim = sim, .until = 1000, .last = WEIR_DONE};
    struct counter b = {.sim = sim, .until = 1000, .last = WEIR_DONE};
    a.other = &b;
    b.other = &a;
    add(sim, 0, 0, count, &a);
    add(sim, 1, 0, count, &b);
    run_ok(sim);
    cr_assert_leq(a.most_ahead, 8);
    cr_assert_leq(b.most_ahead, 8);
    cr_assert_eq(weir_sim_now(sim), 0, "computing takes no time");
    weir_sim_close(sim);
}

Test(sim_harness, tasks_of_a_worker_are_called_in_order)
{
    char order[32] = "";
    weir_sim *sim = open_sim(1, 1);
    struct counter a = {.until = 4, .order = order, .letter = 'a'};
    struct counter b = {.until = 2, .order = order, .letter = 'b'};
    struct counter c = {.until = 3, .order = order, .letter = 'c'};
    a.last = b.last = c.last = WEIR_DONE;
    add(sim, 0, 0, count, &a);
    add(sim, 0, 0, count, &b);
    add(sim, 0, 0, count, &c);
    run_ok(sim);
    cr_assert_str_eq(order, "abcabcaca");
    weir_sim_close(sim);
}

struct grower {
    weir_sim *sim;
    uint32_t left;
};

static weir_err grow(void *arg, uint64_t now_ns)
{
    struct grower *g = arg;
    (void)now_ns;
    if (g->left > 0) {
        g->left--;
        add(g->sim, g->left % 3, 0, grow, g);
        add(g->sim, 0, 0, grow, g);
    }
    return WEIR_DONE;
}

Test(sim_harness, tasks_may_add_tasks)
{
    weir_sim *sim = open_sim(3, 1);
    struct grower g = {sim, 50};
    add(sim, 0, 0, grow, &g);
    run_ok(sim);
    cr_assert_eq(g.left, 0);
    weir_sim_close(sim);
}

/* ---- ends ---------------------------------------------------------------- */

static weir_err wait_for_ever(void *arg, uint64_t now_ns)
{
    (void)now_ns;
    ++*(uint64_t *)arg;
    return WEIR_AGAIN;
}

Test(sim_harness, deadlock_is_named)
{
    uint64_t calls = 0;
    struct weir_error err = {0};
    weir_sim *sim = open_sim(4, 2);
    add(sim, 1, 0, wait_for_ever, &calls);
    add(sim, 3, 1, wait_for_ever, &calls);
    cr_assert_eq(weir_sim_run(sim, WEIR_FOREVER, &err), WEIR_ERR_STATE);
    cr_assert_not_null(strstr(err.message, "node 1 worker 0"), "%s",
                       err.message);
    cr_assert_not_null(strstr(err.message, "node 3 worker 1"));
    cr_assert_eq(calls, 2, "nobody woke them");
    weir_sim_close(sim);
}

Test(sim_harness, deadlock_is_seen_behind_heartbeats)
{
    uint64_t calls = 0;
    struct weir_error err = {0};
    manner.heartbeat_ns = 1000000000;
    weir_sim *sim = open_sim(3, 3);
    for (uint32_t i = 0; i < 9; i++) {
        add(sim, i / 3, i % 3, wait_for_ever, &calls);
    }
    add(sim, 0, 0, wait_for_ever, &calls);
    cr_assert_eq(weir_sim_run(sim, WEIR_FOREVER, &err), WEIR_ERR_STATE);
    cr_assert_leq(weir_sim_now(sim), 61000000000u);
    cr_assert_geq(weir_sim_now(sim), 59000000000u);
    cr_assert_not_null(strstr(err.message, "(2 tasks)"), "%s", err.message);
    cr_assert_not_null(strstr(err.message, "3 more"), "%s", err.message);
    weir_sim_close(sim);
}

Test(sim_harness, busy_for_minutes_is_no_deadlock)
{
    weir_sim *sim = open_sim(2, 1);
    struct counter a = {.sim = sim, .until = 4, .last = WEIR_DONE};
    a.busy_ns = 200000000000u;
    add(sim, 0, 0, count, &a);
    run_ok(sim);
    cr_assert_eq(weir_sim_now(sim), 3 * a.busy_ns);
    weir_sim_close(sim);
}

Test(sim_harness, limit_stops_the_clock_and_the_run_may_go_on)
{
    struct weir_error err = {0};
    weir_sim *sim = open_sim(2, 1);
    struct player a = {sim, 0, 1, 100, 0, 0, true};
    struct player b = {sim, 1, 0, 100, 0, 0, false};
    add(sim, 0, 0, play, &a);
    add(sim, 1, 0, play, &b);
    cr_assert_eq(weir_sim_run(sim, 50000, &err), WEIR_ERR_TIMEOUT);
    cr_assert_eq(weir_sim_now(sim), 50000);
    cr_assert_not_null(strstr(err.message, "node 0 worker 0"));
    uint64_t heard = a.heard;
    cr_assert(heard > 0 && heard < 100);
    run_ok(sim);
    cr_assert_eq(a.heard, 100);
    weir_sim_close(sim);
}

Test(sim_harness, first_error_is_reported_after_all_have_ended)
{
    struct weir_error err = {0};
    weir_sim *sim = open_sim(2, 1);
    struct counter a = {.until = 3, .last = WEIR_ERR_DATA};
    struct counter b = {.until = 90, .last = WEIR_DONE};
    add(sim, 0, 0, count, &a);
    add(sim, 1, 0, count, &b);
    cr_assert_eq(weir_sim_run(sim, WEIR_FOREVER, &err), WEIR_ERR_DATA);
    cr_assert_eq(err.code, WEIR_ERR_DATA);
    cr_assert_not_null(strstr(err.message, "node 0"), "%s", err.message);
    cr_assert_eq(b.calls, 90);
    run_ok(sim); /* nothing is left */
    weir_sim_close(sim);
}

Test(sim_harness, node_that_fails_ends_the_run)
{
    uint64_t calls = 0;
    struct weir_error err = {0};
    weir_sim *sim = open_sim(2, 1);
    add(sim, 1, 0, wait_for_ever, &calls);
    manner.fails = true;
    cr_assert_eq(weir_sim_run(sim, WEIR_FOREVER, &err), WEIR_ERR_NODE);
    cr_assert_not_null(strstr(err.message, "node 1"), "%s", err.message);
    weir_sim_close(sim);
}

Test(sim_harness, node_that_never_rests_is_an_error, .timeout = 60)
{
    uint64_t calls = 0;
    struct weir_error err = {0};
    weir_sim *sim = open_sim(2, 1);
    add(sim, 1, 0, wait_for_ever, &calls);
    manner.restless = true;
    cr_assert_eq(weir_sim_run(sim, WEIR_FOREVER, &err), WEIR_ERR_STATE);
    cr_assert_not_null(strstr(err.message, "rest"), "%s", err.message);
    weir_sim_close(sim);
}

/* As many visits as in the test above, but a task moves in each. */
Test(sim_harness, tasks_that_move_at_one_instant_are_not_restless)
{
    weir_sim *sim = open_sim(2, 1);
    struct counter a = {.sim = sim, .until = 400000, .last = WEIR_DONE};
    add(sim, 0, 0, count, &a);
    run_ok(sim);
    cr_assert_eq(a.calls, a.until);
    cr_assert_eq(weir_sim_now(sim), 0);
    weir_sim_close(sim);
}

/* No task moves, but the clock does. */
Test(sim_harness, many_heartbeats_are_not_restless, .timeout = 60)
{
    weir_sim *sim = open_sim(2, 1);
    struct counter a = {.sim = sim, .until = 2, .last = WEIR_DONE};
    a.busy_ns = 50000000000u;
    manner.heartbeat_ns = 1000000;
    add(sim, 0, 0, count, &a);
    run_ok(sim);
    cr_assert_eq(weir_sim_now(sim), a.busy_ns);
    weir_sim_close(sim);
}

/* ---- faults -------------------------------------------------------------- */

Test(sim_harness, tasks_of_a_crashed_node_count_as_done)
{
    weir_sim *sim = open_sim(2, 1);
    struct counter a = {.sim = sim, .until = 100, .last = WEIR_DONE};
    uint64_t calls = 0;
    a.busy_ns = 1000;
    add(sim, 0, 0, count, &a);
    add(sim, 1, 0, wait_for_ever, &calls);
    weir_sim_crash(sim, 1, 5500);
    cr_assert_not_null(weir_sim_node(sim, 1));
    run_ok(sim);
    cr_assert_null(weir_sim_node(sim, 1));
    cr_assert_null(weir_sim_node(sim, 2));
    cr_assert_eq(weir_sim_task(sim, 1, 0, count, &a), WEIR_ERR_ARG);
    cr_assert_eq(weir_sim_now(sim), 99000);
    weir_sim_close(sim);
}

Test(sim_harness, stalled_node_answers_when_it_goes_on)
{
    weir_sim *sim = open_sim(2, 1);
    struct player a = {sim, 0, 1, 1, 0, 0, true};
    struct player b = {sim, 1, 0, 1, 0, 0, false};
    add(sim, 0, 0, play, &a);
    add(sim, 1, 0, play, &b);
    weir_sim_stall(sim, 1, 1000, 70000000000u);
    weir_sim_stall(sim, 1, 2000, 3000);
    run_ok(sim);
    cr_assert_eq(a.heard + b.heard, 2);
    cr_assert_geq(weir_sim_now(sim), 70000000000u);
    cr_assert_leq(weir_sim_now(sim), 70000100000u);
    weir_sim_close(sim);
}

static weir_err until_lost(void *arg, uint64_t now_ns)
{
    (void)now_ns;
    return ((weir_node *)arg)->lost_links > 0 ? WEIR_DONE : WEIR_AGAIN;
}

static void wait_for_loss(weir_sim *sim)
{
    tell(weir_sim_node(sim, 0), 1, 0, 1);
    add(sim, 0, 0, until_lost, weir_sim_node(sim, 0));
    add(sim, 1, 0, until_lost, weir_sim_node(sim, 1));
    run_ok(sim);
}

/* Its tasks are over, its peer loses the link, and a new one takes tasks. */
Test(sim_harness, restarted_node_begins_anew)
{
    weir_sim *sim = open_sim(2, 1);
    struct player a = {sim, 0, 1, 1, 0, 0, true};
    struct player b = {sim, 1, 0, 1, 0, 0, false};
    uint64_t calls = 0;
    struct weir_error err = {0};
    add(sim, 0, 0, play, &a);
    add(sim, 1, 0, play, &b);
    run_ok(sim);
    add(sim, 1, 0, wait_for_ever, &calls);
    cr_assert_eq(weir_sim_restart(sim, 1, &err), WEIR_OK, "%s", err.message);
    cr_assert_not_null(weir_sim_node(sim, 1));
    cr_assert_eq(weir_sim_node(sim, 1)->steps, 0);
    add(sim, 0, 0, until_lost, weir_sim_node(sim, 0));
    run_ok(sim);
    cr_assert_eq(weir_sim_node(sim, 1)->lost_links, 0);
    struct counter c = {.sim = sim, .until = 10, .last = WEIR_DONE};
    add(sim, 1, 0, count, &c);
    run_ok(sim);
    weir_sim_crash(sim, 1, 0);
    add(sim, 1, 0, wait_for_ever, &calls);
    run_ok(sim);
    cr_assert_eq(weir_sim_restart(sim, 1, &err), WEIR_ERR_STATE);
    weir_sim_close(sim);
}

Test(sim_harness, node_that_does_not_open_again_has_crashed)
{
    weir_sim *sim = open_sim(2, 1);
    struct weir_error err = {0};
    manner.refuse_open = 2;
    cr_assert_eq(weir_sim_restart(sim, 1, &err), WEIR_ERR_BUDGET);
    cr_assert_null(weir_sim_node(sim, 1));
    run_ok(sim);
    weir_sim_close(sim);
}

Test(sim_harness, both_ends_learn_of_a_cut)
{
    weir_sim *sim = open_sim(2, 1);
    weir_sim_cut(sim, 0, 1, 33333);
    wait_for_loss(sim);
    cr_assert_eq(weir_sim_now(sim), 33333);
    weir_sim_close(sim);
}

Test(sim_harness, both_ends_learn_of_a_drop_when_it_ends)
{
    weir_sim *sim = open_sim(2, 1);
    weir_sim_drop(sim, 0, 1, 20000, 44444);
    wait_for_loss(sim);
    cr_assert_eq(weir_sim_now(sim), 44444);
    weir_sim_close(sim);
}

static weir_err poke_other(void *arg, uint64_t now_ns)
{
    (void)now_ns;
    ((weir_node *)arg)->poked = true;
    return WEIR_DONE;
}

static weir_err second_call(void *arg, uint64_t now_ns)
{
    (void)now_ns;
    return ++*(uint64_t *)arg == 2 ? WEIR_DONE : WEIR_AGAIN;
}

/* As a task that cancels a query of another node would. */
Test(sim_harness, what_a_task_does_to_another_node_is_noticed)
{
    uint64_t calls = 0;
    weir_sim *sim = open_sim(3, 1);
    struct counter a = {.sim = sim, .until = 2, .last = WEIR_DONE};
    a.busy_ns = 900;
    add(sim, 0, 0, second_call, &calls);
    add(sim, 2, 0, count, &a);
    add(sim, 2, 0, poke_other, weir_sim_node(sim, 0));
    run_ok(sim);
    cr_assert_eq(calls, 2);
    weir_sim_close(sim);
}

struct ball {
    weir_node *node;
    uint32_t at; /* worker */
    uint32_t throws;
};

/* To the other worker, as through a ring that both map. */
static weir_err throw_from(struct ball *b, uint32_t worker)
{
    if (b->at == worker && b->throws < 20) {
        b->at = 1 - worker;
        b->node->woken[b->at] = true;
        b->throws++;
    }
    return b->throws == 20 ? WEIR_DONE : WEIR_AGAIN;
}

static weir_err throw_from_0(void *arg, uint64_t now_ns)
{
    (void)now_ns;
    return throw_from(arg, 0);
}

static weir_err throw_from_1(void *arg, uint64_t now_ns)
{
    (void)now_ns;
    return throw_from(arg, 1);
}

/* Found by a random plan on one node with two workers and tiny rings: the
 * worker that is looked at first slept though the other one had woken it. */
Test(sim_harness, workers_of_a_node_wake_each_other_without_an_event)
{
    weir_sim *sim = open_sim(1, 2);
    struct ball b = {.node = weir_sim_node(sim, 0), .at = 1};
    add(sim, 0, 0, throw_from_0, &b);
    add(sim, 0, 1, throw_from_1, &b);
    run_ok(sim);
    cr_assert_eq(b.throws, 20);
    weir_sim_close(sim);
}

/* ---- opening ------------------------------------------------------------- */

Test(sim_harness, wrong_params_are_refused)
{
    struct weir_sim_params p = {.nodes = 3};
    struct weir_error err = {0};
    weir_sim *sim = NULL;
    p.reserved[3] = 1;
    cr_assert_eq(weir_sim_open(&p, &sim, &err), WEIR_ERR_ARG);
    p.reserved[3] = 0;
    p.nodes = 4097;
    cr_assert_eq(weir_sim_open(&p, &sim, &err), WEIR_ERR_ARG);
    p.nodes = 3;
    manner.refuse_open = 3;
    cr_assert_eq(weir_sim_open(&p, &sim, &err), WEIR_ERR_BUDGET);
    cr_assert_str_eq(err.message, "refused by the test");
    cr_assert_null(sim);
}

Test(sim_harness, nodes_get_their_params)
{
    struct weir_sim_params p = {.nodes = 3};
    weir_sim *sim = NULL;
    p.node.workers = 2;
    p.node.frame_bytes = 4096;
    cr_assert_eq(weir_sim_open(&p, &sim, NULL), WEIR_OK);
    weir_node *n = weir_sim_node(sim, 2);
    cr_assert_eq(n->params.frame_bytes, 4096);
    cr_assert_eq(n->params.workers, 2);
    cr_assert_eq(n->params.max_members, 3);
    cr_assert_eq(n->self, 2);
    uint64_t none = 0;
    cr_assert_eq(weir_sim_task(sim, 3, 0, count, &none), WEIR_ERR_ARG);
    cr_assert_eq(weir_sim_task(sim, 0, 2, count, &none), WEIR_ERR_ARG);
    cr_assert_eq(weir_sim_task(sim, 0, 0, NULL, &none), WEIR_ERR_ARG);
    weir_sim_close(sim);
    weir_sim_close(NULL);
}

/* ---- many nodes ---------------------------------------------------------- */

/* Every node sends a few hops around the ring, each hop at the next node. */
static weir_err hop(void *arg, uint64_t now_ns)
{
    struct player *p = arg;
    weir_node *n = weir_sim_node(p->sim, p->self);
    struct note note;
    (void)now_ns;
    if (p->serves) {
        p->serves = false;
        tell(n, p->peer, 0, 0);
        return WEIR_OK;
    }
    if (!hear(n, 0, &note)) {
        return WEIR_AGAIN;
    }
    if (note.tag + 1 < p->rounds) {
        tell(n, p->peer, 0, note.tag + 1);
    }
    return ++p->heard == p->rounds ? WEIR_DONE : WEIR_OK;
}

static uint64_t ring_trace(uint32_t nodes, uint64_t seed)
{
    struct weir_sim_params p = {
        .nodes = nodes, .seed = seed, .jitter_ns = 5000};
    weir_sim *sim = NULL;
    struct player *players = calloc(nodes, sizeof(*players));
    cr_assert_not_null(players);
    manner.heartbeat_ns = 500000;
    cr_assert_eq(weir_sim_open(&p, &sim, NULL), WEIR_OK);
    for (uint32_t i = 0; i < nodes; i++) {
        players[i] = (struct player){sim, i, (i + 1) % nodes, 20, 0, 0, true};
        add(sim, i, 0, hop, &players[i]);
    }
    run_ok(sim);
    uint64_t trace = wi_simnet_trace(wi_sim_net(sim)) ^ weir_sim_now(sim);
    weir_sim_close(sim);
    free(players);
    return trace;
}

Test(sim_harness, runs_repeat_from_their_seed, .timeout = 60)
{
    uint64_t first = ring_trace(300, 5);
    cr_assert_eq(ring_trace(300, 5), first);
    cr_assert_neq(ring_trace(300, 6), first);
}
