/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is missing on one node only. Every process makes the plan on its own,
 * with relative paths in a directory of its own, as nodes on several machines
 * do; one of them has no such file, so it has no plan and takes part with
 * weir_run_fail. All report the same, with the name of the file and of the
 * node.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/run.h>

#include "test/support/team.h"

enum { NODES = 3, DIR_BYTES = 64, PATH_BYTES = 128, RUN = 0, ROWS = 1000 };

static const char plan_text[] =
    "{\"weir\": 1,"
    " \"tables\": {\"t\": {\"csv\": \"t.csv\", \"columns\": ["
    "  {\"name\": \"k\", \"type\": \"int64\"}]}},"
    " \"operators\": ["
    "  {\"name\": \"rows\", \"op\": \"scan\", \"table\": \"t\"},"
    "  {\"name\": \"by_k\", \"op\": \"shuffle\", \"input\": \"rows\","
    "   \"by\": \"hash\", \"keys\": [\"k\"]}],"
    " \"result\": \"by_k\"}";

struct scene {
    const char *transport;
    uint32_t without; /* member */
    char dir[DIR_BYTES];
};

static void own_dir(const struct scene *s, uint32_t k, char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "%s/%u", s->dir, k);
}

static void own_file(const struct scene *s, uint32_t k, char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "%s/%u/t.csv", s->dir, k);
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

static weir_err run(weir_node *node, const weir_plan *plan,
                    struct weir_error *err)
{
    const struct weir_run_params params = {.query_id = RUN + 1,
                                           .rows = take_rows};
    weir_run *run;
    weir_err rc = weir_run_open(node, plan, &params, &run, err);
    if (rc == WEIR_OK) {
        rc = weir_run_wait(run, err);
        weir_run_close(run);
    }
    return rc;
}

static void member(struct wt_proc *p)
{
    const struct scene *s = p->arg;
    struct wt_team *team = p->shared;
    struct wt_outcome *out = &team->outcome[p->self][RUN];
    char dir[PATH_BYTES];
    struct weir_error err = {0};
    weir_plan *plan = NULL;
    own_dir(s, p->self, dir);
    const struct weir_plan_read_params params = {.data_dir = dir};
    weir_node *node =
        wt_team_open(p, (struct weir_node_params){.transport = s->transport});
    wt_proc_await(p);
    wt_team_join(p, node);
    weir_err rc =
        weir_plan_read(plan_text, sizeof(plan_text) - 1, &params, &plan, &err);
    if (rc == WEIR_OK) {
        rc = run(node, plan, &err);
    } else {
        const struct weir_error cause = err;
        rc = weir_run_fail(node, RUN + 1, &cause, &err);
    }
    out->code = rc;
    out->end_ns = wt_now_ns();
    (void)snprintf(out->message, sizeof(out->message), "%s", err.message);
    wt_proc_say(p, 'e');
    wt_proc_await(p); /* all have heard of it */
    weir_node_close(node);
    weir_plan_close(plan);
}

/* ---- the parent ---------------------------------------------------------- */

static void make_files(struct scene *s)
{
    char path[PATH_BYTES];
    (void)snprintf(s->dir, sizeof(s->dir), "/tmp/weir-missing-XXXXXX");
    cr_assert_not_null(mkdtemp(s->dir));
    for (uint32_t k = 0; k < NODES; k++) {
        own_dir(s, k, path);
        cr_assert_eq(mkdir(path, 0700), 0);
        if (k == s->without) {
            continue;
        }
        own_file(s, k, path);
        FILE *f = fopen(path, "we");
        cr_assert_not_null(f);
        (void)fprintf(f, "k\n");
        for (uint32_t i = 0; i < ROWS; i++) {
            (void)fprintf(f, "%u\n", i);
        }
        cr_assert_eq(fclose(f), 0);
    }
}

static void remove_files(const struct scene *s)
{
    char path[PATH_BYTES];
    for (uint32_t k = 0; k < NODES; k++) {
        own_file(s, k, path);
        (void)unlink(path);
        own_dir(s, k, path);
        (void)rmdir(path);
    }
    (void)rmdir(s->dir);
}

static void check(struct wt_procs *ps, const struct scene *s)
{
    static const uint32_t all[NODES] = {0, 1, 2};
    const struct wt_team *team = wt_procs_shared(ps);
    const struct wt_outcome *o = &team->outcome[0][RUN];
    char path[PATH_BYTES];
    own_file(s, s->without, path);
    for (uint32_t k = 0; k < NODES; k++) {
        cr_assert_eq(team->outcome[k][RUN].code, WEIR_ERR_QUERY_DATA,
                     "member %u: %s", k, team->outcome[k][RUN].message);
    }
    wt_team_same(ps, RUN, all, NODES);
    const char *const says[] = {team->name[s->without], path,
                                "No such file or directory"};
    for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++) {
        cr_assert_not_null(strstr(o->message, says[i]), "no \"%s\" in: %s",
                           says[i], o->message);
    }
}

static void play(const char *transport, uint32_t without)
{
    struct scene s = {.transport = transport, .without = without};
    make_files(&s);
    struct wt_procs *ps = wt_team_start(NODES, member, &s);
    wt_team_meet(ps, NODES);
    wt_procs_expect_all(ps, 'e');
    remove_files(&s);
    wt_procs_go_all(ps);
    for (uint32_t k = 0; k < NODES; k++) {
        wt_procs_end_well(ps, k);
    }
    check(ps, &s);
    wt_team_left_nothing(ps);
    wt_procs_close(ps);
}

Test(run_missing, file_on_one_node_over_shm, .timeout = 100)
{
    for (uint32_t k = 0; k < NODES; k++) {
        play("shm", k);
    }
}

Test(run_missing, file_on_one_node_over_tcp, .timeout = 100)
{
    for (uint32_t k = 0; k < NODES; k++) {
        play("tcp", k);
    }
}
