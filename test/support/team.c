/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/team.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- the parent ---------------------------------------------------------- */

struct wt_procs *wt_team_start(uint32_t n, wt_proc_fn fn, void *arg)
{
    cr_assert_leq(n, WT_TEAM);
    return wt_procs_open(n, sizeof(struct wt_team), fn, arg);
}

void wt_team_meet(struct wt_procs *ps, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        wt_procs_expect(ps, k, 'o');
    }
    wt_procs_go_all(ps);
}

void wt_team_strike(struct wt_procs *ps, uint32_t k, int signal_number)
{
    struct wt_team *t = wt_procs_shared(ps);
    t->struck_ns = wt_now_ns();
    wt_procs_signal(ps, k, signal_number);
}

void wt_team_exact(struct wt_procs *ps, uint32_t q, const uint32_t *members,
                   uint32_t n)
{
    struct wt_team *t = wt_procs_shared(ps);
    struct wt_sums all = {0};
    for (uint32_t i = 0; i < n; i++) {
        const struct wt_outcome *o = &t->outcome[members[i]][q];
        cr_assert_eq(o->code, WEIR_DONE, "query %u on member %u: %s (%s)", q,
                     members[i], weir_err_name(o->code), o->message);
        all.made_rows += o->sums.made_rows;
        all.made_sum += o->sums.made_sum;
        all.got_rows += o->sums.got_rows;
        all.got_sum += o->sums.got_sum;
    }
    cr_assert_gt(all.made_rows, 0);
    cr_assert_eq(all.got_rows, all.made_rows, "query %u: %llu rows of %llu", q,
                 (unsigned long long)all.got_rows,
                 (unsigned long long)all.made_rows);
    cr_assert_eq(all.got_sum, all.made_sum, "query %u: other rows", q);
}

void wt_team_failed(struct wt_procs *ps, uint32_t q, uint32_t k, weir_err code,
                    uint32_t lost, uint64_t ns)
{
    struct wt_team *t = wt_procs_shared(ps);
    const struct wt_outcome *o = &t->outcome[k][q];
    cr_assert_eq(o->code, code, "query %u on member %u: %s (%s)", q, k,
                 weir_err_name(o->code), o->message);
    cr_assert(strstr(o->message, t->name[lost]), "\"%s\" does not name %s",
              o->message, t->name[lost]);
    uint64_t took = o->end_ns - t->struck_ns;
    cr_assert(o->end_ns < t->struck_ns || took <= ns,
              "member %u knew after %.2f s", k, (double)took / 1e9);
}

void wt_team_same(struct wt_procs *ps, uint32_t q, const uint32_t *members,
                  uint32_t n)
{
    struct wt_team *t = wt_procs_shared(ps);
    const struct wt_outcome *first = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const struct wt_outcome *o = &t->outcome[members[i]][q];
        if (o->code >= 0) {
            continue;
        }
        first = first == NULL ? o : first;
        cr_assert_eq(o->code, first->code);
        cr_assert_str_eq(o->message, first->message, "query %u on member %u", q,
                         members[i]);
    }
}

/* Lines of a file that have this text. */
static uint32_t lines_with(const char *path, const char *text)
{
    char line[512];
    uint32_t n = 0;
    FILE *f = fopen(path, "re");
    cr_assert_neq(f, NULL, "%s", path);
    while (fgets(line, sizeof(line), f) != NULL) {
        n += strstr(line, text) != NULL;
    }
    (void)fclose(f);
    return n;
}

void wt_team_left_nothing(struct wt_procs *ps)
{
    const struct wt_team *t = wt_procs_shared(ps);
    cr_assert_eq(lines_with("/proc/net/unix", t->run), 0,
                 "sockets of %s are left", t->run);
    char shm[64];
    for (uint32_t k = 0; k < WT_TEAM; k++) {
        (void)snprintf(shm, sizeof(shm), "/dev/shm/%.40s", t->name[k]);
        cr_assert(t->name[k][0] == '\0' || access(shm, F_OK) != 0, "%s is left",
                  shm);
    }
}

/* ---- members ------------------------------------------------------------- */

weir_node *wt_team_open(struct wt_proc *p, struct weir_node_params params)
{
    struct wt_team *t = p->shared;
    struct weir_error err = {0};
    weir_node *node = NULL;
    char run[sizeof(t->run)];
    (void)snprintf(run, sizeof(run), "team-%ld-", (long)getppid());
    if (p->self == 0) {
        memcpy(t->run, run, sizeof(run));
    }
    (void)snprintf(t->name[p->self], sizeof(t->name[0]), "%s%u", run, p->self);
    params.name = t->name[p->self];
    if (params.max_members == 0) {
        params.max_members = p->n;
    }
    weir_err rc = weir_node_open(&params, &node, &err);
    wt_proc_check(p, rc == WEIR_OK, "open: %s", err.message);
    (void)snprintf(t->address[p->self], sizeof(t->address[0]), "%s",
                   weir_node_address(node));
    wt_proc_say(p, 'o');
    return node;
}

void wt_team_join(struct wt_proc *p, weir_node *node)
{
    struct wt_team *t = p->shared;
    struct weir_member members[WT_TEAM];
    struct weir_error err = {0};
    for (uint32_t k = 0; k < p->n; k++) {
        members[k] = (struct weir_member){
            .name = t->name[k], .address = t->address[k], .workers = 1};
    }
    wt_proc_check(p, weir_node_join(node, members, p->n, &err) == WEIR_OK,
                  "join: %s", err.message);
}

void wt_team_report(struct wt_proc *p, uint32_t q, const struct wt_plan *plan,
                    weir_err rc, const struct weir_error *err)
{
    struct wt_team *t = p->shared;
    struct wt_outcome *o = &t->outcome[p->self][q];
    o->code = rc;
    o->end_ns = wt_now_ns();
    o->sums = plan->sums;
    (void)snprintf(o->message, sizeof(o->message), "%s", err->message);
}

void wt_team_query(struct wt_proc *p, weir_node *node, uint32_t q,
                   const uint32_t *members, uint32_t n, uint64_t rows)
{
    struct wt_plan plan;
    struct weir_error err = {0};
    weir_err rc = wt_plan_open(&plan, node, q + 1, members, n, rows, &err);
    if (rc == WEIR_OK) {
        rc = wt_plan_run(&plan, &err);
    }
    wt_team_report(p, q, &plan, rc, &err);
    wt_plan_close(&plan);
}
