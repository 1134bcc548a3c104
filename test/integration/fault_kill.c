/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node is killed in every phase of a query, over shm and tcp.
 *
 * Three nodes run query A. Two of them, the survivors, also run query B on the
 * same link, half of whose rows they hold back until A is over, so that B is
 * under way when the third one dies; afterwards they run query C. A has to fail
 * on both with the name of the dead node; B and C have to be exact.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "test/support/team.h"

enum { VICTIM = 2, A = 0, B = 1, C = 2, ROWS = 60000 };

static const uint64_t detect_ns = 5000000000u;
static const uint32_t survivors[] = {0, 1};

enum phase {
    BEFORE_JOIN,  /* it listens, nobody has connected */
    CONNECTING,   /* the others have begun to connect; it has not joined */
    STAGE_1,      /* has made half its rows */
    STAGE_2,      /* has taken the first rows of stage 2 */
    END,          /* has finished both writers */
    CLOSING,      /* A is over everywhere; before the query's close */
    CLOSING_NODE, /* somewhere in the node's close */
    BY_EXIT,      /* as STAGE_1, but it calls exit() */
    BY_OFFENCE,   /* as STAGE_1, but it lives, and breaks the rules */
};

struct scene {
    const char *transport;
    const char *listen; /* NULL: as the transport likes */
    enum phase phase;
    /* BY_OFFENCE: what it does to member 0, and what A ends with; WEIR_DONE:
     * nobody minds, and it goes on */
    void (*offend)(struct wt_proc *p, weir_node *node);
    weir_err code;
};

/* ---- the one that dies --------------------------------------------------- */

static bool is_there(enum phase phase, const struct wt_plan *a)
{
    switch (phase) {
    case STAGE_2:
        return a->sums.got_rows > 0;
    case END:
        return a->finished[0] && a->finished[1];
    default:
        return a->sums.made_rows == a->limit && !a->holds_made;
    }
}

static void die_in_query(struct wt_proc *p, enum phase phase, struct wt_plan *a)
{
    const struct scene *s = p->arg;
    if (phase == STAGE_1 || phase >= BY_EXIT) {
        a->limit = ROWS / 2;
    }
    while (phase < CLOSING || phase >= BY_EXIT) {
        weir_err rc = wt_plan_step(a);
        if (is_there(phase, a)) {
            wt_proc_say(p, 'h');
            wt_proc_await(p); /* the parent kills */
            if (phase == BY_OFFENCE) {
                s->offend(p, a->node);
                if (s->code == WEIR_DONE) {
                    return;
                }
                wt_proc_await(p); /* the others are done with it */
            }
            exit(phase >= BY_EXIT ? 0 : 1);
        }
        wt_proc_check(p, rc == WEIR_OK || rc == WEIR_AGAIN, "A: %s",
                      weir_err_name(rc));
        if (rc == WEIR_AGAIN) {
            (void)weir_worker_wait(a->node, 0, WEIR_FOREVER);
        }
    }
}

static void victim(struct wt_proc *p, enum phase phase, weir_node *node)
{
    struct weir_error err = {0};
    struct wt_plan a;
    if (phase == BEFORE_JOIN || phase == CONNECTING) {
        wt_proc_await(p); /* the parent kills */
    }
    wt_team_join(p, node);
    weir_err rc = wt_plan_open(&a, node, A + 1, NULL, 0, ROWS, &err);
    wt_proc_check(p, rc == WEIR_OK, "A: %s", err.message);
    die_in_query(p, phase, &a);
    a.limit = ROWS;
    rc = wt_plan_run(&a, &err);
    wt_proc_check(p, rc == WEIR_DONE, "A: %s", err.message);
    wt_team_report(p, A, &a, rc, &err);
    wt_proc_say(p, 'd');
    wt_proc_await(p);
    wt_plan_close(&a);
    wt_proc_say(p, 'h');
    weir_node_close(node);
    wt_proc_await(p); /* the parent kills, if it was not quicker */
}

/* ---- the survivors ------------------------------------------------------- */

static weir_err run_a(struct wt_proc *p, struct wt_plan *a, struct wt_plan *b,
                      struct weir_error *err)
{
    for (;;) {
        weir_err ra = wt_plan_step(a);
        if (ra == WEIR_DONE || ra < 0) {
            (void)weir_query_status(a->query, err);
            return ra;
        }
        weir_err rb = wt_plan_step(b);
        wt_proc_check(p, rb == WEIR_OK || rb == WEIR_AGAIN, "B: %s",
                      weir_err_name(rb));
        if (ra == WEIR_AGAIN && rb == WEIR_AGAIN) {
            (void)weir_worker_wait(a->node, 0, WEIR_FOREVER);
        }
    }
}

static void survivor(struct wt_proc *p, enum phase phase, weir_node *node)
{
    struct weir_error err = {0};
    struct wt_plan a;
    struct wt_plan b;
    wt_team_join(p, node);
    weir_err ra = wt_plan_open(&a, node, A + 1, NULL, 0, ROWS, &err);
    struct weir_error b_err = {0};
    weir_err rb = wt_plan_open(&b, node, B + 1, survivors, 2, ROWS, &b_err);
    wt_proc_check(p, rb == WEIR_OK, "B: %s", b_err.message);
    b.limit = ROWS / 2;
    wt_proc_say(p, 's');
    if (ra == WEIR_OK) {
        ra = run_a(p, &a, &b, &err);
    }
    wt_team_report(p, A, &a, ra, &err);
    if (phase == CLOSING || phase == CLOSING_NODE) {
        wt_proc_say(p, 'd');
        wt_proc_await(p);
    }
    wt_plan_close(&a);
    b.limit = ROWS;
    rb = wt_plan_run(&b, &b_err);
    wt_team_report(p, B, &b, rb, &b_err);
    wt_plan_close(&b);
    wt_team_query(p, node, C, survivors, 2, ROWS);
    weir_node_close(node);
}

static void member(struct wt_proc *p)
{
    const struct scene *s = p->arg;
    struct weir_node_params params = {
        .transport = s->transport,
        .listen = s->listen,
        .detect_ns = detect_ns,
        /* Links that are no part of the fault may take long. */
        .connect_ns = s->phase > CONNECTING ? 4 * detect_ns : 0};
    weir_node *node = wt_team_open(p, params);
    wt_proc_await(p);
    if (p->self == VICTIM) {
        victim(p, s->phase, node);
    } else {
        survivor(p, s->phase, node);
    }
}

/* ---- the parent ---------------------------------------------------------- */

static void strike(struct wt_procs *ps, enum phase phase)
{
    if (phase < BY_EXIT) {
        wt_team_strike(ps, VICTIM, SIGKILL);
        int status = wt_procs_end(ps, VICTIM);
        cr_assert(WIFSIGNALED(status));
        return;
    }
    struct wt_team *t = wt_procs_shared(ps);
    t->struck_ns = wt_now_ns();
    wt_procs_go(ps, VICTIM);
    if (phase == BY_EXIT) {
        wt_procs_end_well(ps, VICTIM); /* exit(0), and no crash on the way */
    }
}

static void begin(struct wt_procs *ps, enum phase phase)
{
    for (uint32_t k = 0; k < 3; k++) {
        wt_procs_expect(ps, k, 'o');
    }
    if (phase == BEFORE_JOIN) {
        strike(ps, phase);
    } else if (phase != CONNECTING) {
        wt_procs_go(ps, VICTIM);
    }
    wt_procs_go(ps, 0);
    wt_procs_go(ps, 1);
    wt_procs_expect(ps, 0, 's');
    wt_procs_expect(ps, 1, 's');
    if (phase == CONNECTING) {
        strike(ps, phase);
    }
}

static void at_the_close(struct wt_procs *ps, enum phase phase)
{
    for (uint32_t k = 0; k < 3; k++) {
        wt_procs_expect(ps, k, 'd');
    }
    if (phase == CLOSING) {
        strike(ps, phase);
        wt_procs_go(ps, 0);
        wt_procs_go(ps, 1);
        return;
    }
    wt_procs_go_all(ps);
    wt_procs_expect(ps, VICTIM, 'h');
    strike(ps, phase);
}

static void check_query_a(struct wt_procs *ps, uint32_t k, enum phase phase)
{
    const struct wt_team *t = wt_procs_shared(ps);
    if (phase == CLOSING || phase == CLOSING_NODE) {
        cr_assert_eq(t->outcome[k][A].code, WEIR_DONE, "%s",
                     t->outcome[k][A].message);
    } else if (phase != END || t->outcome[k][A].code != WEIR_DONE) {
        /* At its end a member may have been served already. */
        wt_team_failed(ps, A, k, WEIR_ERR_PEER_LOST, VICTIM, detect_ns);
    }
}

/* Node k heard of it from node 0, or that node 2 has lost node 0. */
static void check_hearer(struct wt_procs *ps, uint32_t k, weir_err code)
{
    const struct wt_team *t = wt_procs_shared(ps);
    char of_0[128];
    (void)snprintf(of_0, sizeof(of_0), "peer %s (", t->name[0]);
    /* What follows names who lost it, too. */
    bool from_2 = strncmp(t->outcome[k][A].message, of_0, strlen(of_0)) == 0;
    wt_team_failed(ps, A, k, from_2 ? WEIR_ERR_PEER_LOST : code,
                   from_2 ? 0 : VICTIM, detect_ns);
}

/* Node 0, which was offended, knows by whom. But if it was the device that cut
 * the connection, node 2 may see that first, and what it says comes to node 0
 * by way of node 1: all that is known then is that the two lost each other. */
static void check_offended(struct wt_procs *ps, weir_err code)
{
    if (code == WEIR_ERR_PEER_LOST) {
        check_hearer(ps, 0, code);
    } else {
        wt_team_failed(ps, A, 0, code, VICTIM, detect_ns);
    }
    check_hearer(ps, 1, code);
    wt_procs_go(ps, VICTIM);
    wt_procs_end_well(ps, VICTIM);
}

static void check_harmless(struct wt_procs *ps)
{
    static const uint32_t all[] = {0, 1, VICTIM};
    wt_procs_expect(ps, VICTIM, 'd');
    wt_procs_go(ps, VICTIM);
    wt_procs_expect(ps, VICTIM, 'h');
    wt_procs_go(ps, VICTIM);
    wt_procs_end_well(ps, VICTIM);
    wt_team_exact(ps, A, all, 3);
}

static void check(struct wt_procs *ps, const struct scene *s)
{
    wt_procs_end_well(ps, 0);
    wt_procs_end_well(ps, 1);
    if (s->phase == BY_OFFENCE && s->code == WEIR_DONE) {
        check_harmless(ps);
    } else if (s->phase == BY_OFFENCE) {
        check_offended(ps, s->code);
    } else {
        check_query_a(ps, 0, s->phase);
        check_query_a(ps, 1, s->phase);
        wt_team_same(ps, A, survivors, 2);
    }
    wt_team_exact(ps, B, survivors, 2);
    wt_team_exact(ps, C, survivors, 2);
    wt_team_left_nothing(ps);
}

static const char *listen_at; /* by fault_kill_verbs.c */

static void play(struct scene scene)
{
    enum phase phase = scene.phase;
    scene.listen = listen_at;
    struct wt_procs *ps = wt_team_start(3, member, &scene);
    begin(ps, phase);
    if (phase == CLOSING || phase == CLOSING_NODE) {
        at_the_close(ps, phase);
    } else if (phase > CONNECTING) {
        wt_procs_expect(ps, VICTIM, 'h');
        strike(ps, phase);
    }
    check(ps, &scene);
    wt_procs_close(ps);
}

#define KILL_TESTS(transport)                                                  \
    KILL_TEST(transport, before_join, BEFORE_JOIN)                             \
    KILL_TEST(transport, while_connecting, CONNECTING)                         \
    KILL_TEST(transport, mid_stage_1, STAGE_1)                                 \
    KILL_TEST(transport, mid_stage_2, STAGE_2)                                 \
    KILL_TEST(transport, at_end_of_stream, END)                                \
    KILL_TEST(transport, before_query_close, CLOSING)                          \
    KILL_TEST(transport, while_node_closes, CLOSING_NODE)                      \
    KILL_TEST(transport, exit_without_close, BY_EXIT)

#define KILL_TEST(where, name, when)                                           \
    Test(fault_kill, where##_##name, .timeout = 100)                           \
    {                                                                          \
        play((struct scene){.transport = #where, .phase = (when)});            \
    }

#ifndef KILL_ON_VERBS
KILL_TESTS(shm)
KILL_TESTS(tcp)
#endif
