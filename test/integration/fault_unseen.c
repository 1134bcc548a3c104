/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A member dies at rest and comes back at its address before anybody has looked
 * at the connection to it: the next query finds its end, and makes a new one.
 *
 * Node 0 makes its steps by itself, so it makes none between the end of the
 * first query and the open of the next one.
 */
#include <criterion/criterion.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/cc.h"
#include "core/link/engine.h"
#include "core/link/lock.h"
#include "core/transport.h"
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

/* Sleep until the node has something to do, or the parent says go. */
static void rest(const struct wt_proc *p, weir_node *node, uint64_t next_ns)
{
    struct wi_engine *e = &node->engine;
    uint64_t now = wt_now_ns();
    uint64_t ms = next_ns > now ? (next_ns - now) / 1000000 + 1 : 0;
    struct pollfd fds[] = {
        {.fd = weir_worker_fd(node, 0), .events = POLLIN},
        {.fd = e->ops->fd(e->transport), .events = POLLIN},
        {.fd = p->go_fd, .events = POLLIN},
    };
    if (weir_worker_arm(node, 0) == WEIR_OK &&
        e->ops->arm(e->transport) == WEIR_OK) {
        (void)poll(fds, 3, (int)wi_min_u64(ms, INT_MAX));
    }
}

static void step(const struct wt_proc *p, weir_node *node, weir_err plan)
{
    uint64_t next_ns = 0;
    if (weir_node_step(node, wt_now_ns(), &next_ns) == WEIR_AGAIN &&
        plan == WEIR_AGAIN) {
        rest(p, node, next_ns);
    }
}

static bool may_go(const struct wt_proc *p)
{
    struct pollfd fd = {.fd = p->go_fd, .events = POLLIN};
    return poll(&fd, 1, 0) != 0;
}

/* Until the parent says go: the other one may need what this one has to send
 * after its own end. */
static void query_by_steps(struct wt_proc *p, weir_node *node, uint32_t q)
{
    struct weir_error err = {0};
    struct wt_plan plan;
    weir_err rc = wt_plan_open(&plan, node, q + 1, NULL, 0, ROWS, &err);
    while (rc == WEIR_OK || rc == WEIR_AGAIN) {
        step(p, node, rc);
        rc = wt_plan_step(&plan);
    }
    if (rc != WEIR_DONE && plan.query != NULL) {
        (void)weir_query_status(plan.query, &err);
    }
    wt_team_report(p, q, &plan, rc, &err);
    wt_plan_close(&plan);
    wt_proc_say(p, 'q');
    while (!may_go(p)) {
        step(p, node, WEIR_AGAIN);
    }
    wt_proc_await(p);
}

static void survivor(struct wt_proc *p)
{
    weir_node *node = wt_team_open(
        p, (struct weir_node_params){.transport = p->arg, .manual = 1});
    wt_proc_await(p);
    join(p, node, VICTIM);
    query_by_steps(p, node, BEFORE);
    wt_proc_say(p, 'r'); /* makes no step from here */
    wt_proc_await(p);
    query_by_steps(p, node, AFTER);
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
    wt_procs_go(ps, 0);
    wt_procs_expect(ps, 0, 'r');
    wt_team_strike(ps, VICTIM, SIGKILL);
    cr_assert(WIFSIGNALED(wt_procs_end(ps, VICTIM)));
    wt_procs_go(ps, SPARE);
    wt_procs_expect(ps, SPARE, 's');
    wt_procs_go(ps, 0);
    wt_procs_expect(ps, 0, 'q');
    wt_procs_end_well(ps, SPARE);
    wt_procs_go(ps, 0);
    wt_procs_end_well(ps, 0);
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
