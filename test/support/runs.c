/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/runs.h"

#include <criterion/criterion.h>
#include <string.h>

static weir_err take_rows(void *arg, const struct ArrowArray *batch,
                          struct weir_error *err)
{
    struct wt_runs *r = arg;
    (void)err;
    r->rows += (uint64_t)batch->length;
    return WEIR_OK;
}

static weir_err step_part(void *arg)
{
    const struct wt_run_part *p = arg;
    if (p->runs->c.sim != NULL) {
        weir_sim_busy(p->runs->c.sim, WT_RUNS_BUSY_NS);
    }
    return weir_run_step(p->run, p->worker);
}

static void open_run(struct wt_runs *r, uint32_t node)
{
    const struct weir_run_params params = {
        .query_id = 1, .rows = take_rows, .rows_arg = r};
    struct weir_error err = {0};
    cr_assert_eq(
        weir_run_open(r->c.node[node], r->plan, &params, &r->run[node], &err),
        WEIR_OK, "%s", err.message);
    for (uint32_t w = 0; w < r->c.n_workers; w++) {
        struct wt_run_part *p = &r->part[r->c.n_tasks];
        *p = (struct wt_run_part){r, r->run[node], w};
        (void)wt_task(&r->c, node, w, step_part, p);
    }
}

void wt_runs_open(struct wt_runs *r, const char *plan)
{
    struct weir_error err = {0};
    cr_assert_leq(r->c.n_workers, WT_RUNS_WORKERS);
    cr_assert_eq(weir_plan_read(plan, strlen(plan), NULL, &r->plan, &err),
                 WEIR_OK, "%s", err.message);
    for (uint32_t n = 0; n < r->c.n_nodes; n++) {
        open_run(r, n);
    }
}

void wt_runs_close(struct wt_runs *r)
{
    for (uint32_t n = 0; n < r->c.n_nodes; n++) {
        struct weir_error err = {0};
        cr_assert_eq(weir_run_status(r->run[n], &err), WEIR_OK, "%s",
                     err.message);
        weir_run_close(r->run[n]);
    }
    weir_plan_close(r->plan);
    wt_cluster_close(&r->c);
}
