/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node is stopped (SIGSTOP) and goes on later (SIGCONT), over shm and tcp.
 *
 * Longer than detect_ns: the others fail the query with its name and go on
 * without it, both while it is stopped, with their old rings still mapped in
 * it, and after it has gone on and written into them. It gets an error too.
 *
 * Shorter: nobody notices.
 */
#include <criterion/criterion.h>
#include <signal.h>

#include "test/support/team.h"

enum { VICTIM = 2, A = 0, WHILE_STOPPED = 1, AFTERWARDS = 2, ROWS = 60000 };

static const uint64_t second = 1000000000u;
static const uint32_t survivors[] = {0, 1};

struct scene {
    const char *transport;
    bool join;     /* the victim joins (else it only listens) */
    uint64_t rows; /* of query A, each member */
    uint64_t detect_ns;
};

static weir_node *open_node(struct wt_proc *p)
{
    const struct scene *s = p->arg;
    struct weir_node_params params = {.transport = s->transport,
                                      .detect_ns = s->detect_ns,
                                      .connect_ns = s->detect_ns};
    weir_node *node = wt_team_open(p, params);
    wt_proc_await(p);
    return node;
}

/* ---- longer than detect_ns ----------------------------------------------- */

static void run_and_report(struct wt_proc *p, weir_node *node)
{
    const struct scene *s = p->arg;
    struct weir_error err = {0};
    struct wt_plan a;
    weir_err rc = wt_plan_open(&a, node, A + 1, NULL, 0, s->rows, &err);
    while (rc == WEIR_OK && a.sums.got_rows == 0) {
        rc = wt_plan_step(&a);
        if (rc == WEIR_AGAIN) {
            (void)weir_worker_wait(node, 0, WEIR_FOREVER);
            rc = WEIR_OK;
        }
    }
    (void)weir_query_status(a.query, &err);
    wt_proc_say(p, 'r'); /* rows flow through both stages, or it has failed */
    if (rc == WEIR_OK) {
        rc = wt_plan_run(&a, &err);
    }
    wt_team_report(p, A, &a, rc, &err);
    wt_plan_close(&a);
}

static void long_stop(struct wt_proc *p)
{
    const struct scene *s = p->arg;
    weir_node *node = open_node(p);
    if (p->self == VICTIM && !s->join) {
        wt_proc_await(p);
        weir_node_close(node);
        return;
    }
    wt_team_join(p, node);
    run_and_report(p, node);
    if (p->self != VICTIM) {
        wt_team_query(p, node, WHILE_STOPPED, survivors, 2, ROWS);
        wt_proc_say(p, 'w');
        wt_proc_await(p);
        wt_team_query(p, node, AFTERWARDS, survivors, 2, ROWS);
    }
    weir_node_close(node);
}

static void check_long(struct wt_procs *ps, const struct scene *s)
{
    const struct wt_team *t = wt_procs_shared(ps);
    for (uint32_t k = 0; k < 2; k++) {
        wt_procs_end_well(ps, k);
        /* Found within detect_ns and a quarter; the rest is for a loaded
         * machine to schedule it. */
        wt_team_failed(ps, A, k, WEIR_ERR_PEER_LOST, VICTIM, 5 * s->detect_ns);
    }
    wt_procs_end_well(ps, VICTIM);
    if (s->join) {
        cr_assert_eq(t->outcome[VICTIM][A].code, WEIR_ERR_PEER_LOST, "%s",
                     t->outcome[VICTIM][A].message);
    }
    wt_team_exact(ps, WHILE_STOPPED, survivors, 2);
    wt_team_exact(ps, AFTERWARDS, survivors, 2);
    wt_team_left_nothing(ps);
}

static void play_long(const char *transport, bool join)
{
    struct scene s = {.transport = transport,
                      .join = join,
                      .rows = WT_PLAN_ENDLESS,
                      .detect_ns = 1 * second};
    struct wt_procs *ps = wt_team_start(3, long_stop, &s);
    for (uint32_t k = 0; k < 3; k++) {
        wt_procs_expect(ps, k, 'o');
    }
    if (!s.join) {
        wt_team_strike(ps, VICTIM, SIGSTOP);
        wt_procs_stopped(ps, VICTIM);
    }
    wt_procs_go_all(ps);
    for (uint32_t k = 0; s.join && k < 3; k++) {
        wt_procs_expect(ps, k, 'r');
    }
    if (s.join) {
        wt_team_strike(ps, VICTIM, SIGSTOP);
        wt_procs_stopped(ps, VICTIM);
    } else {
        wt_procs_expect(ps, 0, 'r');
        wt_procs_expect(ps, 1, 'r');
    }
    wt_procs_expect(ps, 0, 'w');
    wt_procs_expect(ps, 1, 'w');
    wt_procs_signal(ps, VICTIM, SIGCONT);
    wt_procs_go_all(ps);
    check_long(ps, &s);
    wt_procs_close(ps);
}

Test(fault_stop, shm_longer_than_detection, .timeout = 100)
{
    play_long("shm", true);
}

Test(fault_stop, tcp_longer_than_detection, .timeout = 100)
{
    play_long("tcp", true);
}

Test(fault_stop, shm_before_it_joins, .timeout = 100)
{
    play_long("shm", false);
}

Test(fault_stop, tcp_before_it_joins, .timeout = 100)
{
    play_long("tcp", false);
}

/* ---- shorter ------------------------------------------------------------- */

static void short_stop(struct wt_proc *p)
{
    weir_node *node = open_node(p);
    struct weir_error err = {0};
    struct wt_plan a;
    wt_team_join(p, node);
    weir_err rc = wt_plan_open(&a, node, A + 1, NULL, 0, ROWS, &err);
    wt_proc_check(p, rc == WEIR_OK, "A: %s", err.message);
    while (rc == WEIR_OK && a.sums.got_rows == 0) {
        rc = wt_plan_step(&a);
        if (rc == WEIR_AGAIN) {
            (void)weir_worker_wait(node, 0, WEIR_FOREVER);
            rc = WEIR_OK;
        }
    }
    wt_proc_say(p, 'h');
    if (p->self == VICTIM) {
        wt_proc_await(p); /* the others run into its full rings */
    }
    rc = wt_plan_run(&a, &err);
    wt_team_report(p, A, &a, rc, &err);
    wt_plan_close(&a);
    weir_node_close(node);
}

static void play_short(const char *transport)
{
    static const uint32_t all[] = {0, 1, 2};
    struct scene s = {.transport = transport, .detect_ns = 10 * second};
    struct wt_procs *ps = wt_team_start(3, short_stop, &s);
    wt_team_meet(ps, 3);
    wt_procs_expect_all(ps, 'h');
    wt_team_strike(ps, VICTIM, SIGSTOP);
    wt_procs_stopped(ps, VICTIM);
    cr_assert_not(wt_procs_stirs(ps, 0, second / 2), "member 0 did not wait");
    wt_procs_go(ps, VICTIM);
    wt_procs_signal(ps, VICTIM, SIGCONT);
    for (uint32_t k = 0; k < 3; k++) {
        wt_procs_end_well(ps, k);
    }
    wt_team_exact(ps, A, all, 3);
    wt_procs_close(ps);
}

Test(fault_stop, shm_shorter_than_detection, .timeout = 100)
{
    play_short("shm");
}

Test(fault_stop, tcp_shorter_than_detection, .timeout = 100)
{
    play_short("tcp");
}
