/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of runs: whatever goes wrong on one member, all report the same code
 * and message, and nothing is left running.
 */
#include "test/support/sketch.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "test/support/team.h"

static const struct wt_place places[] = {{.transport = "shm"},
                                         {.transport = "tcp"},
                                         {.transport = "sim", .sim = true}};
enum { PLACES = 3, NOBODY = UINT32_MAX };

static void sketch_chain(struct wt_sketch *s, const struct wt_table *table)
{
    wt_sketch_init(s, &(struct wt_rows){0});
    uint32_t op = wt_sketch_scan(s, table);
    op = wt_sketch_shuffle(s, op, WEIR_HASH, 1);
    wt_sketch_result(s, wt_sketch_shuffle(s, op, WEIR_HASH, 2));
}

/* After a fault the nodes are as good as before. */
static void run_again(struct wt_cluster *c)
{
    const struct wt_table table = {.n_rows = 1000};
    const struct weir_run_params params = {.query_id = 4711};
    struct wt_sketch s;
    struct wt_trial t = {0};
    c->why[0] = '\0';
    sketch_chain(&s, &table);
    wt_trial_open(&t, c, &s, &params);
    bool ran = wt_cluster_run(c);
    cr_assert(ran, "%s", c->why);
    wt_trial_exact(&t, 1);
    wt_trial_close(&t);
    wt_sketch_fini(&s);
}

struct fault {
    struct wt_table table;
    struct weir_run_params params;
    uint64_t fail_after; /* rows that the program takes */
    weir_err (*step)(void *arg);
    weir_err code;
    const char *text;
};

static void fail_on(const struct wt_place *place, const struct fault *f)
{
    const struct wt_cluster_params cluster = {.nodes = 3, .workers = 2};
    struct wt_cluster c;
    struct wt_sketch s;
    struct wt_trial t = {.fail_after = f->fail_after};
    sketch_chain(&s, &f->table);
    wt_cluster_open(&c, place, &cluster);
    wt_trial_open(&t, &c, &s, &f->params);
    if (f->step != NULL) {
        (void)wt_task(&c, 1, 0, f->step, &t);
    }
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s: %s", place->transport, c.why);
    wt_trial_failed(&t, f->code, f->text, NOBODY);
    wt_trial_close(&t);
    run_again(&c);
    wt_cluster_close(&c);
    wt_sketch_fini(&s);
}

static void fail_everywhere(const struct fault *f)
{
    for (uint32_t i = 0; i < PLACES; i++) {
        fail_on(&places[i], f);
    }
}

/* ---- before there is a run ----------------------------------------------- */

struct absent {
    weir_node *node;
    struct weir_error err;
    weir_err rc;
};

static void *fail_run(void *arg)
{
    struct absent *a = arg;
    const struct weir_error cause = {WEIR_ERR_SYSTEM, "no such file"};
    a->rc = weir_run_fail(a->node, 1, &cause, &a->err);
    return NULL;
}

/* Member `absent` cannot make its plan, before or after the others open. */
static void fail_without_run(const struct wt_place *place, uint32_t absent,
                             bool first)
{
    const struct wt_cluster_params cluster = {.nodes = 3, .workers = 2};
    const struct wt_table table = {.n_rows = 1000};
    struct wt_cluster c;
    struct wt_sketch s;
    struct wt_trial t = {.absent = absent + 1};
    pthread_t thread;
    sketch_chain(&s, &table);
    wt_cluster_open(&c, place, &cluster);
    struct absent a = {.node = c.node[absent]};
    if (!first) {
        wt_trial_open(&t, &c, &s, NULL);
    }
    cr_assert_eq(pthread_create(&thread, NULL, fail_run, &a), 0);
    if (first) {
        (void)pthread_join(thread, NULL);
        wt_trial_open(&t, &c, &s, NULL);
    }
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s: %s", place->transport, c.why);
    if (!first) {
        (void)pthread_join(thread, NULL);
    }
    wt_trial_failed(&t, WEIR_ERR_QUERY_DATA, "no such file", absent);
    wt_trial_failed(&t, WEIR_ERR_QUERY_DATA, a.err.message, absent);
    cr_assert_eq(a.rc, WEIR_ERR_QUERY_DATA);
    wt_trial_close(&t);
    wt_cluster_close(&c);
    wt_sketch_fini(&s);
}

Test(run_faults, member_that_cannot_make_its_plan, .timeout = 100)
{
    for (uint32_t i = 0; i < 12; i++) {
        fail_without_run(&places[i / 6], i % 3, i / 3 % 2 != 0);
    }
}

/* ---- of operators -------------------------------------------------------- */

Test(run_faults, table_that_cannot_be_opened_on_one_node, .timeout = 100)
{
    for (uint32_t part = 0; part < 6; part += 5) {
        const struct fault f = {
            .table = {.n_rows = 5000, .faulty = true, .faulty_part = part},
            .code = WEIR_ERR_QUERY_DATA,
            .text = "operator scan0: " WT_TABLE_FAULT};
        fail_everywhere(&f);
    }
}

Test(run_faults, fault_in_the_midst_of_one_part, .timeout = 100)
{
    for (uint32_t part = 0; part < 6; part += 5) {
        const struct fault f = {.table = {.n_rows = 60000,
                                          .faulty = true,
                                          .faulty_part = part,
                                          .faulty_after = 7000},
                                .code = WEIR_ERR_QUERY_DATA,
                                .text = "operator scan0: " WT_TABLE_FAULT};
        fail_everywhere(&f);
    }
}

/* Each worker of each node finds a fault of its own; all report one of them. */
Test(run_faults, faults_everywhere_are_told_as_one, .timeout = 100)
{
    for (uint64_t after = 0; after <= 5000; after += 5000) {
        const struct fault f = {.table = {.n_rows = 60000,
                                          .faulty = true,
                                          .faulty_part = WT_ALL_PARTS,
                                          .faulty_after = after},
                                .code = WEIR_ERR_QUERY_DATA,
                                .text = "operator scan0: " WT_TABLE_FAULT};
        fail_everywhere(&f);
    }
}

Test(run_faults, program_that_refuses_rows, .timeout = 100)
{
    const struct fault f = {.table = {.n_rows = 60000},
                            .fail_after = 5000,
                            .code = WEIR_ERR_QUERY_DATA,
                            .text = "operator result: pipe is broken"};
    fail_everywhere(&f);
}

Test(run_faults, too_little_memory_says_how_much_is_needed, .timeout = 100)
{
    const struct fault f = {.table = {.n_rows = 1000},
                            .params = {.memory_bytes = 1000},
                            .code = WEIR_ERR_QUERY_MEMORY,
                            .text = "raise it to "};
    fail_everywhere(&f);
}

/* ---- from outside -------------------------------------------------------- */

static weir_err cancel(void *arg)
{
    const struct wt_trial *t = arg;
    weir_run_cancel(t->run[1], "changed my mind");
    return WEIR_DONE;
}

Test(run_faults, cancelled_by_one_member, .timeout = 100)
{
    const struct fault f = {.table = {.n_rows = 40000000},
                            .step = cancel,
                            .code = WEIR_ERR_CANCELLED,
                            .text = "changed my mind"};
    fail_everywhere(&f);
}

Test(run_faults, deadline_that_passes, .timeout = 100)
{
    const struct fault f = {.table = {.n_rows = 400000000},
                            .params = {.deadline_ns = 20000000},
                            .code = WEIR_ERR_DEADLINE,
                            .text = "deadline"};
    fail_on(&places[0], &f);
    fail_on(&places[1], &f);
}

Test(run_faults, too_few_shuffles_are_told_to_all, .timeout = 100)
{
    const struct wt_cluster_params cluster = {.nodes = 3,
                                              .node = {.max_shuffles = 3}};
    const struct wt_table table = {.n_rows = 100};
    struct wt_sketch s;
    sketch_chain(&s, &table);
    cr_assert_eq(weir_run_shuffles(&s.plan), 4);
    for (uint32_t i = 0; i < PLACES; i++) {
        struct wt_cluster c;
        struct wt_trial t = {0};
        wt_cluster_open(&c, &places[i], &cluster);
        wt_trial_open(&t, &c, &s, NULL);
        bool ran = wt_cluster_run(&c);
        cr_assert(ran, "%s: %s", places[i].transport, c.why);
        wt_trial_failed(&t, WEIR_ERR_QUERY_MEMORY, "max_shuffles", NOBODY);
        wt_trial_close(&t);
        wt_cluster_close(&c);
    }
    wt_sketch_fini(&s);
}

/* ---- bad options --------------------------------------------------------- */

static weir_err rows_of_nobody(void *arg, const struct ArrowArray *batch,
                               struct weir_error *err)
{
    (void)arg;
    (void)batch;
    (void)err;
    return WEIR_OK;
}

static void refuse(weir_node *node, const struct weir_plan *plan,
                   const struct weir_run_params *params, weir_err code,
                   const char *text)
{
    struct weir_error err = {0};
    weir_run *run = NULL;
    cr_assert_eq(weir_run_open(node, plan, params, &run, &err), code, "%s",
                 err.message);
    cr_assert_null(run);
    cr_assert_not_null(strstr(err.message, text), "no \"%s\" in: %s", text,
                       err.message);
}

Test(run_faults, bad_options_are_named, .timeout = 100)
{
    const struct wt_cluster_params cluster = {.apart = true};
    const struct wt_table table = {.n_rows = 100};
    struct weir_run_params good = {.query_id = 1, .rows = rows_of_nobody};
    struct weir_run_params bad = good;
    struct wt_cluster c;
    struct wt_sketch s;
    sketch_chain(&s, &table);
    wt_cluster_open(&c, &places[0], &cluster);
    refuse(c.node[0], &s.plan, &good, WEIR_ERR_STATE, "not joined");
    wt_cluster_join(&c);
    bad.rows = NULL;
    refuse(c.node[0], &s.plan, &bad, WEIR_ERR_ARG, "params.rows");
    bad = good;
    bad.reserved[3] = 1;
    refuse(c.node[0], &s.plan, &bad, WEIR_ERR_ARG, "reserved[3]");
    bad = good;
    bad.query_id = 0;
    refuse(c.node[0], &s.plan, &bad, WEIR_ERR_ARG, "id");
    s.plan.result = WI_PLAN_NO_RESULT;
    refuse(c.node[0], &s.plan, &good, WEIR_ERR_STATE, "weir_plan_result");
    wt_cluster_close(&c);
    wt_sketch_fini(&s);
}

/* ---- a node is lost ------------------------------------------------------ */

static bool crash(const struct wt_sketch *s, uint32_t node, uint64_t at_ns)
{
    const struct wt_cluster_params cluster = {
        .nodes = 3, .workers = 2, .node = {.detect_ns = 100000000}};
    struct wt_cluster c;
    struct wt_trial t = {0};
    wt_cluster_open(&c, &places[2], &cluster);
    wt_trial_open(&t, &c, s, NULL);
    weir_sim_crash(c.sim, node, at_ns);
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "node %u at %llu: %s", node, (unsigned long long)at_ns,
              c.why);
    uint32_t lives = node == 0 ? 1 : 0;
    bool lost = weir_run_status(t.run[lives], NULL) != WEIR_OK;
    if (lost) {
        wt_trial_failed(&t, WEIR_ERR_PEER_LOST, c.name[node], node);
    } else { /* it had sent everything before */
        weir_run_close(t.run[node]);
        t.run[node] = NULL;
        wt_trial_exact(&t, 1);
    }
    wt_trial_close(&t);
    wt_cluster_close(&c);
    return lost;
}

static uint64_t span(const struct wt_sketch *s)
{
    const struct wt_cluster_params cluster = {.nodes = 3, .workers = 2};
    struct wt_cluster c;
    struct wt_trial t = {0};
    wt_cluster_open(&c, &places[2], &cluster);
    wt_trial_open(&t, &c, s, NULL);
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    wt_trial_exact(&t, 1);
    uint64_t end = weir_sim_now(c.sim);
    wt_trial_close(&t);
    wt_cluster_close(&c);
    return end;
}

Test(run_faults, node_that_crashes_at_any_time, .timeout = 100)
{
    const struct wt_table table = {.n_rows = 20000};
    struct wt_sketch s;
    sketch_chain(&s, &table);
    uint64_t end = span(&s);
    uint32_t lost = 0;
    for (uint64_t i = 0; i < 24; i++) {
        lost += crash(&s, (uint32_t)(i % 3), end * (i * 2 + 1) / 60);
    }
    cr_assert_gt(lost, 12, "most crashes come before the end");
    wt_sketch_fini(&s);
}

/* ---- processes ----------------------------------------------------------- */

enum { VICTIM = 2 };

static weir_err take_no_rows(void *arg, const struct ArrowArray *batch,
                             struct weir_error *err)
{
    static bool said;
    struct wt_proc *p = arg;
    (void)batch;
    (void)err;
    if (!said) {
        said = true;
        wt_proc_say(p, 'r'); /* rows flow on every node */
        wt_proc_await(p);
    }
    return WEIR_OK;
}

static void report(struct wt_proc *p, weir_run *run, weir_err rc)
{
    struct wt_team *team = p->shared;
    struct wt_outcome *out = &team->outcome[p->self][0];
    struct weir_error err = {0};
    (void)weir_run_status(run, &err);
    (void)snprintf(out->message, sizeof(out->message), "%s", err.message);
    out->end_ns = wt_now_ns();
    out->code = rc;
}

/* A table without end; member 0 takes its first rows, says so, and waits until
 * the parent has killed the victim. */
static void member(struct wt_proc *p)
{
    const struct weir_node_params params = {.transport = p->arg};
    const struct wt_table table = {.n_rows = UINT64_MAX / 64};
    struct wt_sketch s;
    struct weir_error err = {0};
    weir_run *run;
    weir_node *node = wt_team_open(p, params);
    wt_proc_await(p);
    wt_team_join(p, node);
    sketch_chain(&s, &table);
    const struct weir_run_params run_params = {
        .query_id = 1, .rows = take_no_rows, .rows_arg = p};
    weir_err rc = weir_run_open(node, &s.plan, &run_params, &run, &err);
    wt_proc_check(p, rc == WEIR_OK, "open: %s", err.message);
    rc = weir_run_wait(run, &err);
    report(p, run, rc);
    weir_run_close(run);
    weir_node_close(node);
    wt_sketch_fini(&s);
}

static void kill_one(const char *transport)
{
    static char name[8];
    (void)snprintf(name, sizeof(name), "%s", transport);
    struct wt_procs *ps = wt_team_start(3, member, name);
    wt_team_meet(ps, 3);
    wt_procs_expect(ps, 0, 'r');
    wt_team_strike(ps, VICTIM, SIGKILL);
    (void)wt_procs_end(ps, VICTIM);
    wt_procs_go(ps, 0);
    wt_procs_end_well(ps, 0);
    wt_procs_end_well(ps, 1);
    wt_team_failed(ps, 0, 0, WEIR_ERR_PEER_LOST, VICTIM, 20000000000u);
    wt_team_failed(ps, 0, 1, WEIR_ERR_PEER_LOST, VICTIM, 20000000000u);

    wt_procs_close(ps);
}

Test(run_faults, process_that_is_killed_over_shm, .timeout = 100)
{
    kill_one("shm");
}

Test(run_faults, process_that_is_killed_over_tcp, .timeout = 100)
{
    kill_one("tcp");
}
