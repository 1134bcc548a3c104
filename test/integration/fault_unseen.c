/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A member dies at rest and comes back at its address before anybody has looked
 * at the connection to it: the next query finds its end, and makes a new one.
 *
 * Node 0 makes its steps by itself, so it makes none between the end of the
 * first query and the open of the next one.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "test/support/team.h"

enum { VICTIM = 1, SPARE = 2, BEFORE = 0, AFTER = 1, ROWS = 5000 };

static void join(struct wt_proc *p, weir_node *node, uint32_t other)
{
    const struct wt_team *t = p->shared;
    struct weir_error err = {0};
    const struct weir_member members[] = {
        {.name = t->name[0], .address = t->address[0], .workers = 1},
        {.name = t->name[VICTIM], .address = t->address[other], .workers = 1},
    };
    wt_proc_check(p, weir_node_join(node, members, 2, &err) == WEIR_OK,
                  "join: %s", err.message);
}

/* ---- node 0 -------------------------------------------------------------- */

/* One step; a pause, if that and the plan have moved nothing. */
static void step(weir_node *node, weir_err plan)
{
    static const struct timespec pause = {.tv_nsec = 100000};
    uint64_t next_ns = 0;
    weir_err moved = weir_node_step(node, wt_now_ns(), &next_ns);
    if (moved == WEIR_AGAIN && plan == WEIR_AGAIN) {
        (void)nanosleep(&pause, NULL);
    }
}

/* Node `other` may yet need what this one has to send. */
static void query_by_steps(struct wt_proc *p, weir_node *node, uint32_t q,
                           uint32_t other)
{
    const struct wt_team *t = p->shared;
    struct weir_error err = {0};
    struct wt_plan plan;
    weir_err rc = wt_plan_open(&plan, node, q + 1, NULL, 0, ROWS, &err);
    while (rc == WEIR_OK || rc == WEIR_AGAIN) {
        step(node, rc);
        rc = wt_plan_step(&plan);
    }
    if (rc != WEIR_DONE && plan.query != NULL) {
        (void)weir_query_status(plan.query, &err);
    }
    wt_team_report(p, q, &plan, rc, &err);
    wt_plan_close(&plan);
    const volatile weir_err *word = &t->outcome[other][q].code;
    while (*word == 0) {
        step(node, WEIR_AGAIN);
    }
}

static void survivor(struct wt_proc *p)
{
    weir_node *node = wt_team_open(
        p, (struct weir_node_params){.transport = p->arg, .manual = 1});
    wt_proc_await(p);
    join(p, node, VICTIM);
    query_by_steps(p, node, BEFORE, VICTIM);
    wt_proc_say(p, 'q');
    wt_proc_await(p);
    query_by_steps(p, node, AFTER, SPARE);
    weir_node_close(node);
}

/* ---- the other one ------------------------------------------------------- */

static void victim(struct wt_proc *p)
{
    weir_node *node =
        wt_team_open(p, (struct weir_node_params){.transport = p->arg});
    wt_proc_await(p);
    join(p, node, VICTIM);
    wt_team_query(p, node, BEFORE, NULL, 0, ROWS);
    wt_proc_say(p, 'q');
    wt_proc_await(p); /* is killed here */
}

static void spare(struct wt_proc *p)
{
    struct wt_team *t = p->shared;
    struct weir_error err = {0};
    weir_node *node = NULL;
    wt_proc_say(p, 'o');
    wt_proc_await(p);
    const struct weir_node_params params = {
        .name = t->name[VICTIM],
        .listen = strchr(t->address[VICTIM], ':') + 1,
        .transport = p->arg};
    weir_err rc = weir_node_open(&params, &node, &err);
    wt_proc_check(p, rc == WEIR_OK, "open: %s", err.message);
    (void)snprintf(t->address[SPARE], sizeof(t->address[0]), "%s",
                   weir_node_address(node));
    join(p, node, SPARE);
    wt_proc_say(p, 's');
    wt_team_query(p, node, AFTER, NULL, 0, ROWS);
    weir_node_close(node);
}

static void child(struct wt_proc *p)
{
    static void (*const roles[])(struct wt_proc *) = {survivor, victim, spare};
    roles[p->self](p);
}

/* ---- the parent ---------------------------------------------------------- */

static void play(char *transport)
{
    static const uint32_t before[] = {0, VICTIM};
    static const uint32_t after[] = {0, SPARE};
    struct wt_procs *ps = wt_team_start(3, child, transport);
    wt_procs_expect_all(ps, 'o');
    for (uint32_t k = 0; k < SPARE; k++) {
        wt_procs_go(ps, k);
    }
    for (uint32_t k = 0; k < SPARE; k++) {
        wt_procs_expect(ps, k, 'q');
    }
    wt_team_exact(ps, BEFORE, before, 2);
    wt_team_strike(ps, VICTIM, SIGKILL);
    cr_assert(WIFSIGNALED(wt_procs_end(ps, VICTIM)));
    wt_procs_go(ps, SPARE);
    wt_procs_expect(ps, SPARE, 's');
    wt_procs_go(ps, 0);
    wt_procs_end_well(ps, 0);
    wt_procs_end_well(ps, SPARE);
    wt_team_exact(ps, AFTER, after, 2);
    wt_procs_close(ps);
}

Test(fault_unseen, tcp, .timeout = 60)
{
    char transport[] = "tcp";
    play(transport);
}

Test(fault_unseen, shm, .timeout = 60)
{
    char transport[] = "shm";
    play(transport);
}
