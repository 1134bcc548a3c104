/* SPDX-License-Identifier: Apache-2.0 */
/* The join of bench/plans with a limit on top, run and reported as `weir run
 * --analyze` does. */
#include "bench/commands/demo_query.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lib/embedded.h"
#include "chbench/chbench.h"
#include "cli/fail.h"
#include "cli/run_job.h"
#include "cli/run_report.h"
#include "launch/clock.h"

enum { ROWS = 5 };

/* The first rows of what the plan gives. */
static char *plan_text(void)
{
    json_t *plan = json_loads(wb_embedded("plans/join.json"), 0, NULL);
    const char *result = json_string_value(json_object_get(plan, "result"));
    json_t *first = json_pack("{sssssssi}", "name", "first", "op", "limit",
                              "input", result, "rows", ROWS);
    char *text = NULL;
    if (json_array_append_new(json_object_get(plan, "operators"), first) == 0 &&
        json_object_set_new(plan, "result", json_string("first")) == 0) {
        text = json_dumps(plan, JSON_COMPACT);
    }
    json_decref(plan);
    return text;
}

static weir_err read_plan(weir_plan **out, struct weir_error *err)
{
    char *text = plan_text();
    if (text == NULL) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a plan");
    }
    weir_err rc = weir_plan_read(text, strlen(text), &ch_params, out, err);
    free(text);
    return rc;
}

static void print_begin(FILE *to, uint32_t nodes)
{
    (void)fprintf(to,
                  "\nA whole query on %u processes: four tables, three hash "
                  "joins, sums per order,\n8 exchanges. Its first %d rows:\n\n",
                  nodes, (int)ROWS);
}

static weir_err run(const struct run_job *job, struct weir_error *err)
{
    struct run_op *ops =
        calloc(run_job_operators(job->plan), sizeof(struct run_op));
    if (ops == NULL) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a run");
    }
    print_begin(job->to, job->nodes);
    (void)fflush(job->to);
    uint64_t begin_ns = wl_now_ns();
    weir_err rc = run_job_run(job, ops, err);
    if (rc == WEIR_OK) {
        (void)fprintf(job->to,
                      "\nIt took %.2f s, tables computed on the way. What "
                      "each operator did:\n\n",
                      (double)(wl_now_ns() - begin_ns) * 1e-9);
        rc = run_report(job->to, job, ops, err);
    }
    if (rc == WEIR_OK) {
        (void)fprintf(job->to, "\nPlans of your own: weir run PLAN.json "
                               "(docs/plan.md)\n");
    }
    free(ops);
    return rc;
}

weir_err demo_query(FILE *to, uint32_t nodes, struct weir_error *err)
{
    weir_plan *plan = NULL;
    weir_err rc = read_plan(&plan, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    const struct run_job job = {.plan = plan,
                                .nodes = nodes,
                                .workers = 1,
                                .transport = "shm",
                                .format = ROWS_TABLE,
                                .to = to,
                                .timed = true};
    rc = run(&job, err);
    weir_plan_close(plan);
    return rc;
}
