/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node is killed while a query runs, and replaced, over shm and tcp.
 *
 * Three nodes run query A, in the midst of which the third one is killed: A
 * fails on the other two with its name. Then a fourth process, which nobody
 * knew of, takes its place, and query B runs over the two, which were not
 * started again, and the new one. It comes
 *
 *   under the name and number of the dead one, at the same address or another
 *   under a name of its own, with a new number; the dead one is removed
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "test/support/team.h"

enum { VICTIM = 2, SPARE = 3, A = 0, B = 1, ROWS = 60000 };

static const uint64_t detect_ns = 5000000000u;

enum coming { SAME_NAME, SAME_ADDRESS, NEW_NUMBER };

struct scene {
    const char *transport;
    const char *listen; /* NULL: as the transport likes */
    enum coming coming;
};

static const struct scene *scene_of(const struct wt_proc *p)
{
    return p->arg;
}

static uint32_t number_of_spare(const struct scene *s)
{
    return s->coming == NEW_NUMBER ? SPARE : VICTIM;
}

static struct weir_node_params params_of(const struct scene *s)
{
    return (struct weir_node_params){.transport = s->transport,
                                     .listen = s->listen,
                                     .max_members = 4,
                                     .detect_ns = detect_ns,
                                     .connect_ns = 4 * detect_ns};
}

static struct weir_member entry(const struct wt_team *t, uint32_t k)
{
    return (struct weir_member){
        .name = t->name[k], .address = t->address[k], .workers = 1};
}

static void join(struct wt_proc *p, weir_node *node,
                 const struct weir_member *members, uint32_t n)
{
    struct weir_error err = {0};
    wt_proc_check(p, weir_node_join(node, members, n, &err) == WEIR_OK,
                  "join: %s", err.message);
}

/* ---- those that stay, and the one that is killed ------------------------- */

/* The dead one is replaced by what is in its, or the spare's, place now. */
static void replace(struct wt_proc *p, weir_node *node)
{
    const struct scene *s = scene_of(p);
    struct wt_team *t = p->shared;
    struct weir_error err = {0};
    struct weir_member m = entry(t, SPARE);
    if (s->coming == NEW_NUMBER) {
        weir_err rc = weir_node_remove_member(node, VICTIM, &err);
        wt_proc_check(p, rc == WEIR_OK, "remove: %s", err.message);
    }
    weir_err rc = weir_node_add_member(node, number_of_spare(s), &m, &err);
    wt_proc_check(p, rc == WEIR_OK, "add: %s", err.message);
}

static void fail_a(struct wt_proc *p, weir_node *node)
{
    struct weir_error err = {0};
    struct wt_plan a;
    weir_err rc = wt_plan_open(&a, node, A + 1, NULL, 0, WT_PLAN_ENDLESS, &err);
    wt_proc_check(p, rc == WEIR_OK, "A: %s", err.message);
    bool told = false;
    while ((rc = wt_plan_step(&a)) == WEIR_OK || rc == WEIR_AGAIN) {
        if (!told && a.sums.got_rows > 0) {
            told = true;
            wt_proc_say(p, 'h');
        }
        if (rc == WEIR_AGAIN) {
            (void)weir_worker_wait(node, 0, WEIR_FOREVER);
        }
    }
    (void)weir_query_status(a.query, &err);
    wt_team_report(p, A, &a, rc, &err);
    wt_plan_close(&a);
}

static void member(struct wt_proc *p)
{
    struct weir_member members[3];
    struct wt_team *t = p->shared;
    weir_node *node = wt_team_open(p, params_of(scene_of(p)));
    wt_proc_await(p);
    for (uint32_t k = 0; k < 3; k++) {
        members[k] = entry(t, k);
    }
    join(p, node, members, 3);
    fail_a(p, node); /* the third one does not come back from here */
    wt_proc_say(p, 'd');
    wt_proc_await(p);
    replace(p, node);
    wt_team_query(p, node, B, NULL, 0, ROWS);
    weir_node_close(node);
}

/* ---- the replacement ----------------------------------------------------- */

static weir_node *open_spare(struct wt_proc *p)
{
    const struct scene *s = scene_of(p);
    struct wt_team *t = p->shared;
    struct weir_node_params params = params_of(s);
    struct weir_error err = {0};
    char listen[256];
    weir_node *node = NULL;
    if (s->coming == SAME_ADDRESS) {
        const char *colon = strchr(t->address[VICTIM], ':');
        (void)snprintf(listen, sizeof(listen), "%s", colon + 1);
        params.listen = listen;
    } else if (strcmp(s->transport, "shm") == 0) {
        (void)snprintf(listen, sizeof(listen), "%s-spare", t->name[VICTIM]);
        params.listen = listen;
    }
    (void)snprintf(t->name[SPARE], sizeof(t->name[0]), "%.40s%s",
                   t->name[VICTIM], s->coming == NEW_NUMBER ? "-spare" : "");
    params.name = t->name[SPARE];
    weir_err rc = weir_node_open(&params, &node, &err);
    wt_proc_check(p, rc == WEIR_OK, "open: %s", err.message);
    (void)snprintf(t->address[SPARE], sizeof(t->address[0]), "%s",
                   weir_node_address(node));
    return node;
}

static void spare(struct wt_proc *p)
{
    struct wt_team *t = p->shared;
    struct weir_member members[4] = {{0}};
    uint32_t own = number_of_spare(scene_of(p));
    wt_proc_say(p, 'o');
    wt_proc_await(p);
    weir_node *node = open_spare(p);
    wt_proc_say(p, 's');
    members[0] = entry(t, 0);
    members[1] = entry(t, 1);
    members[own] = entry(t, SPARE); /* a removed one has left a hole */
    join(p, node, members, own + 1);
    wt_team_query(p, node, B, NULL, 0, ROWS);
    weir_node_close(node);
}

static void child(struct wt_proc *p)
{
    if (p->self == SPARE) {
        spare(p);
    } else {
        member(p);
    }
}

/* ---- the parent ---------------------------------------------------------- */

static void kill_one(struct wt_procs *ps)
{
    for (uint32_t k = 0; k < SPARE; k++) {
        wt_procs_expect(ps, k, 'h');
    }
    wt_team_strike(ps, VICTIM, SIGKILL);
    int status = wt_procs_end(ps, VICTIM);
    cr_assert(WIFSIGNALED(status));
    for (uint32_t k = 0; k < VICTIM; k++) {
        wt_procs_expect(ps, k, 'd');
        wt_team_failed(ps, A, k, WEIR_ERR_PEER_LOST, VICTIM, detect_ns);
    }
}

static const char *listen_at; /* by fault_replace_verbs.c */

static void play(struct scene scene)
{
    static const uint32_t those[] = {0, 1, SPARE};
    scene.listen = listen_at;
    struct wt_procs *ps = wt_team_start(4, child, &scene);
    for (uint32_t k = 0; k < 4; k++) {
        wt_procs_expect(ps, k, 'o');
    }
    for (uint32_t k = 0; k < SPARE; k++) {
        wt_procs_go(ps, k);
    }
    kill_one(ps);
    wt_procs_go(ps, SPARE);
    wt_procs_expect(ps, SPARE, 's');
    wt_procs_go(ps, 0);
    wt_procs_go(ps, 1);
    for (uint32_t i = 0; i < 3; i++) {
        wt_procs_end_well(ps, those[i]);
    }
    wt_team_exact(ps, B, those, 3);
    wt_team_left_nothing(ps);
    wt_procs_close(ps);
}

#define REPLACE_TESTS(transport)                                               \
    REPLACE_TEST(transport, under_its_name, SAME_NAME)                         \
    REPLACE_TEST(transport, at_its_address, SAME_ADDRESS)                      \
    REPLACE_TEST(transport, by_a_new_member, NEW_NUMBER)

#define REPLACE_TEST(where, name, how)                                         \
    Test(fault_replace, where##_##name, .timeout = 100)                        \
    {                                                                          \
        play((struct scene){.transport = #where, .coming = (how)});            \
    }

#ifndef REPLACE_ON_VERBS
REPLACE_TESTS(shm)
REPLACE_TESTS(tcp)
#endif
