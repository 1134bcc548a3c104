/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wire is cut while nobody runs a query, and plugged in again, over tcp in
 * network namespaces: the next query finds new links, not one whose packets are
 * sent again after twice the time each time, nor one that the peer has given
 * up.
 */
#include <criterion/criterion.h>

#include "test/support/lacks.h"
#include "test/support/net.h"
#include "test/support/team.h"

enum { BEFORE = 0, AFTER = 1, ALONE = 9, ROWS = 20000 };

static const uint64_t detect_ns = 1000000000u;
static const uint32_t both[] = {0, 1};

/* Something is on its way to the peer when its wire is cut. */
static void say_something(struct wt_proc *p, weir_node *node)
{
    struct weir_error err = {0};
    struct wt_plan alone;
    weir_err rc = wt_plan_open(&alone, node, ALONE, NULL, 0, ROWS, &err);
    wt_proc_check(p, rc == WEIR_OK, "alone: %s", err.message);
    wt_plan_close(&alone);
}

static void member(struct wt_proc *p)
{
    char listen[32];
    wt_net_listen(p->self, listen, sizeof(listen));
    wt_proc_check(p, wt_net_enter(p->self), "no way into the namespace");
    weir_node *node =
        wt_team_open(p, (struct weir_node_params){.transport = "tcp",
                                                  .listen = listen,
                                                  .detect_ns = detect_ns,
                                                  .connect_ns = 4 * detect_ns});
    wt_proc_await(p);
    wt_team_join(p, node);
    wt_team_query(p, node, BEFORE, both, 2, ROWS);
    wt_proc_say(p, 'q');
    if (p->self == 0) {
        wt_proc_await(p); /* the wire is cut */
        say_something(p, node);
        wt_proc_say(p, 's');
    }
    wt_proc_await(p); /* it is plugged in */
    wt_team_query(p, node, AFTER, both, 2, ROWS);
    weir_node_close(node);
}

Test(fault_cut, next_query_finds_new_links, .timeout = 100)
{
    const char *why = wt_net_open(2);
    if (why != NULL) {
        WT_LACKS("%s", why);
    }
    struct wt_procs *ps = wt_team_start(2, member, NULL);
    wt_team_meet(ps, 2);
    wt_procs_expect_all(ps, 'q');
    cr_assert(wt_net_cut(1, true));
    wt_procs_go(ps, 0);
    wt_procs_expect(ps, 0, 's');
    /* The kernel counts in seconds: up to two and a quarter of detect_ns. */
    cr_assert_not(wt_procs_stirs(ps, 0, 4 * detect_ns), "member 0 has ended");
    cr_assert(wt_net_cut(1, false));
    wt_procs_go_all(ps);
    wt_procs_end_well(ps, 0);
    wt_procs_end_well(ps, 1);
    wt_team_exact(ps, BEFORE, both, 2);
    wt_team_exact(ps, AFTER, both, 2);
    wt_procs_close(ps);
}
