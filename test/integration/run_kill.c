/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node is killed in each stage of the paper's join: as soon as it has rows of
 * the k-th of its eight shuffles, over shm and tcp, the first member and
 * others.
 *
 *   members 0..3: open, read the plan, join; run it, step by step
 *   victim:       between two steps: rows of shuffle k? --> SIGKILL to itself
 *   survivors:    the run has failed: 'e'; (go) a query among themselves; close
 *
 * All survivors report the same, with the name of the victim, and are as good
 * as before; nothing is left of any of them.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <weir/run.h>

#include "chbench/chbench.h"
#include "test/support/team.h"

#define PLAN WEIR_SOURCE_DIR "/bench/plans/join.json"
enum { NODES = 4, STAGES = 8, FIRST = 0, LAST_STAGE = STAGES - 1 };
enum { JOIN = 0, NEXT = 1, NEXT_ROWS = 20000 };

static const uint64_t known_within_ns = 20000000000u;

struct scene {
    const char *transport;
    uint32_t stage;
    uint32_t victim;
};

static weir_plan *read_plan(struct wt_proc *p)
{
    static char text[1 << 16];
    struct weir_error err = {0};
    weir_plan *plan = NULL;
    FILE *f = fopen(PLAN, "re");
    wt_proc_check(p, f != NULL, "no %s", PLAN);
    size_t n = fread(text, 1, sizeof(text), f);
    (void)fclose(f);
    wt_proc_check(p, n < sizeof(text), "%s is too long", PLAN);
    weir_err rc = weir_plan_read(text, n, &ch_params, &plan, &err);
    wt_proc_check(p, rc == WEIR_OK, "plan: %s", err.message);
    return plan;
}

/* ---- the one that dies --------------------------------------------------- */

/* Statistics of the k-th shuffle of the plan. */
static struct weir_op_stats shuffle_stats(struct wt_proc *p,
                                          const weir_run *run, uint32_t k)
{
    struct weir_op_stats s = {0};
    uint32_t found = 0;
    for (uint32_t i = 0; weir_run_stats(run, i, &s) == WEIR_OK; i++) {
        bool shuffle =
            strcmp(s.what, "shuffle") == 0 || strcmp(s.what, "merge") == 0;
        if (shuffle && found++ == k) {
            return s;
        }
    }
    wt_proc_die(p, "the plan has %u shuffles, not %u", found, STAGES);
}

/* It got rows, and sent some, unless it only takes the answer. */
static bool is_there(struct wt_proc *p, const weir_run *run)
{
    const struct scene *scene = p->arg;
    struct weir_op_stats s = shuffle_stats(p, run, scene->stage);
    return s.rows_most > 0 && (s.rows > 0 || scene->stage == LAST_STAGE);
}

static void die(struct wt_proc *p)
{
    struct wt_team *team = p->shared;
    team->struck_ns = wt_now_ns();
    (void)raise(SIGKILL);
}

/* ---- members ------------------------------------------------------------- */

static weir_err take_rows(void *arg, const struct ArrowArray *batch,
                          struct weir_error *err)
{
    (void)arg;
    (void)batch;
    (void)err;
    return WEIR_OK;
}

static weir_err step_to_the_end(struct wt_proc *p, weir_node *node,
                                weir_run *run)
{
    const struct scene *s = p->arg;
    weir_err rc;
    while ((rc = weir_run_step(run, 0)) == WEIR_OK || rc == WEIR_AGAIN) {
        if (p->self == s->victim && is_there(p, run)) {
            die(p);
        }
        if (rc == WEIR_AGAIN) {
            (void)weir_worker_wait(node, 0, WEIR_FOREVER);
        }
    }
    return rc;
}

static void run_join(struct wt_proc *p, weir_node *node, const weir_plan *plan)
{
    struct wt_team *team = p->shared;
    struct wt_outcome *out = &team->outcome[p->self][JOIN];
    const struct weir_run_params params = {.query_id = JOIN + 1,
                                           .rows = take_rows};
    struct weir_error err = {0};
    weir_run *run = NULL;
    weir_err rc = weir_run_open(node, plan, &params, &run, &err);
    wt_proc_check(p, rc == WEIR_OK, "run: %s", err.message);
    out->code = step_to_the_end(p, node, run);
    out->end_ns = wt_now_ns();
    (void)weir_run_status(run, &err);
    (void)snprintf(out->message, sizeof(out->message), "%s", err.message);
    weir_run_close(run);
}

static void run_next(struct wt_proc *p, weir_node *node)
{
    const struct scene *s = p->arg;
    uint32_t members[NODES];
    uint32_t n = 0;
    for (uint32_t k = 0; k < NODES; k++) {
        members[n] = k;
        n += k != s->victim;
    }
    wt_team_query(p, node, NEXT, members, n, NEXT_ROWS);
}

static void member(struct wt_proc *p)
{
    const struct scene *s = p->arg;
    weir_plan *plan = read_plan(p);
    const struct weir_node_params params = {
        .transport = s->transport, .max_shuffles = weir_run_shuffles(plan)};
    weir_node *node = wt_team_open(p, params);
    wt_proc_await(p);
    wt_team_join(p, node);
    run_join(p, node, plan);
    wt_proc_say(p, 'e');
    wt_proc_await(p);
    run_next(p, node);
    weir_node_close(node);
    weir_plan_close(plan);
}

/* ---- the parent ---------------------------------------------------------- */

static void survivors_end(struct wt_procs *ps, uint32_t victim)
{
    uint32_t members[NODES];
    uint32_t n = 0;
    for (uint32_t k = 0; k < NODES; k++) {
        if (k != victim) {
            wt_procs_expect(ps, k, 'e');
            members[n++] = k;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        wt_team_failed(ps, JOIN, members[i], WEIR_ERR_PEER_LOST, victim,
                       known_within_ns);
        wt_procs_go(ps, members[i]);
    }
    wt_team_same(ps, JOIN, members, n);
    for (uint32_t i = 0; i < n; i++) {
        wt_procs_end_well(ps, members[i]);
    }
    wt_team_exact(ps, NEXT, members, n);
}

static void play(struct scene s)
{
    struct wt_procs *ps = wt_team_start(NODES, member, &s);
    wt_team_meet(ps, NODES);
    int status = wt_procs_end(ps, s.victim);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
              "stage %u never had rows on member %u", s.stage, s.victim);
    survivors_end(ps, s.victim);
    wt_team_left_nothing(ps);
    wt_procs_close(ps);
}

/* The answer goes to the first member only. */
static void kill_in_each_stage(const char *transport)
{
    for (uint32_t k = 0; k < STAGES; k++) {
        play((struct scene){transport, k, FIRST});
        if (k != LAST_STAGE) {
            play((struct scene){transport, k, 1 + k % (NODES - 1)});
        }
    }
}

Test(run_kill, in_each_stage_of_the_join_over_shm, .timeout = 280)
{
    kill_in_each_stage("shm");
}

Test(run_kill, in_each_stage_of_the_join_over_tcp, .timeout = 280)
{
    kill_in_each_stage("tcp");
}
