/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs: opening, stepping, and how a fault travels.
 *
 *   operator fails --> ctx.err --> weir_query_fail --> every member's query
 *                                                            |
 *   weir_run_step returns what weir_query_status says <------+
 *
 * So a worker that found a fault does not return it: it waits for the query to
 * fail, with this cause or with one that came before.
 */
#include "operators/plan/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/plan/kind.h"

#define DEFAULT_MEMORY_BYTES (1ull << 30)
#define PROGRESS_STEPS 64u /* between two updates of the progress */

/* ---- faults -------------------------------------------------------------- */

/* Codes of queries stay; others become the code of a query that fits. */
static weir_err query_code(weir_err code)
{
    switch (code) {
    case WEIR_ERR_NO_MEMORY:
    case WEIR_ERR_BUDGET:
        return WEIR_ERR_QUERY_MEMORY;
    default:
        return weir_err_scope(code) == WEIR_SCOPE_QUERY ? code
                                                        : WEIR_ERR_QUERY_DATA;
    }
}

/* @param where  the operator, or NULL */
static void report(weir_query *query, const struct weir_error *err,
                   const char *where)
{
    if (weir_query_status(query, NULL) != WEIR_OK) {
        return; /* that fault came first and may have caused err */
    }
    struct weir_error cause;
    if (where == NULL) {
        (void)wi_exec_fail(&cause, query_code(err->code), "%s", err->message);
    } else {
        (void)wi_exec_fail(&cause, query_code(err->code), "operator %s: %s",
                           where, err->message);
    }
    (void)weir_query_fail(query, &cause);
}

static const char *failed_name(const struct wi_run_worker *w)
{
    const struct weir_plan *plan = w->run->plan;
    const struct wi_op *op = w->tree.ctx.failed;
    if (op == NULL) {
        return NULL;
    }
    return op->id < plan->n_ops ? plan->ops[op->id]->name : "result";
}

/* ---- opening ------------------------------------------------------------- */

static weir_err check_params(const weir_node *node,
                             const struct weir_plan *plan,
                             const struct weir_run_params *params,
                             struct weir_error *err)
{
    if (plan->result == WI_PLAN_NO_RESULT) {
        return wi_exec_fail(err, WEIR_ERR_STATE,
                            "the plan has no result: call weir_plan_result");
    }
    if (weir_node_members(node) == 0) {
        return wi_exec_fail(err, WEIR_ERR_STATE,
                            "%s has not joined a cluster yet",
                            weir_node_name(node));
    }
    for (size_t i = 0;
         i < sizeof(params->reserved) / sizeof(params->reserved[0]); i++) {
        if (params->reserved[i] != 0) {
            return wi_exec_fail(err, WEIR_ERR_ARG, "reserved[%zu] is not zero",
                                i);
        }
    }
    if (params->rows == NULL && weir_node_self(node) == 0) {
        return wi_exec_fail(err, WEIR_ERR_ARG,
                            "member 0 gets the answer: set params.rows");
    }
    return WEIR_OK;
}

static weir_err open_workers(struct weir_run *run,
                             const struct weir_run_params *params,
                             struct weir_error *err)
{
    uint32_t n = run->layout.workers[run->layout.self];
    uint64_t memory =
        params->memory_bytes != 0 ? params->memory_bytes : DEFAULT_MEMORY_BYTES;
    uint64_t share = memory < n ? 1 : memory / n; /* 0 would be no limit */
    run->workers = calloc(n, sizeof(*run->workers));
    if (run->workers == NULL) {
        return wi_exec_no_memory(err, n * sizeof(*run->workers));
    }
    run->n_workers = n;
    for (uint32_t i = 0; i < n; i++) {
        struct wi_run_worker *w = &run->workers[i];
        w->run = run;
        w->end = WEIR_AGAIN;
        (void)pthread_mutex_init(&w->lock, NULL);
        w->tree.ctx =
            (struct wi_ctx){.node = run->node,
                            .worker = i,
                            .workers = n,
                            .part = run->layout.first_part + i,
                            .n_parts = run->layout.n_workers,
                            .timed = params->timed != 0,
                            .mem = {.limit_bytes = share, .sharers = n}};
    }
    return WEIR_OK;
}

/* Checks what worker 0 of member 0 needs: the same figure on every member. */
static weir_err check_memory(const struct weir_run *run, struct weir_error *err)
{
    uint64_t least;
    weir_err rc = wi_tree_least(&run->layout, &run->result, &least, err);
    return rc == WEIR_OK
               ? wi_mem_check(&run->workers[0].tree.ctx.mem, least, err)
               : rc;
}

/* Reports a fault itself: the operator is known here. */
static weir_err open_trees(struct weir_run *run)
{
    for (uint32_t i = 0; i < run->n_workers; i++) {
        struct wi_tree *tree = &run->workers[i].tree;
        struct wi_ctx ctx = tree->ctx;
        ctx.query = run->query;
        weir_err rc = wi_tree_init(tree, &run->layout, &ctx, &run->result);
        if (rc != WEIR_OK) {
            report(run->query, &tree->ctx.err,
                   run->plan->ops[tree->making]->name);
            return rc;
        }
    }
    return WEIR_OK;
}

static void free_run(struct weir_run *run)
{
    for (uint32_t i = 0; i < run->n_workers; i++) {
        wi_tree_fini(&run->workers[i].tree);
        (void)pthread_mutex_destroy(&run->workers[i].lock);
    }
    weir_query_close(run->query);
    wi_layout_fini(&run->layout);
    free(run->workers);
    free(run);
}

/* Opens all of a run but its shuffles and trees. */
static weir_err open_run(struct weir_run *run,
                         const struct weir_run_params *params,
                         struct weir_error *err)
{
    const struct weir_query_params query = {.id = params->query_id,
                                            .deadline_ns = params->deadline_ns};
    run->result = (struct wi_result_params){
        .columns = &run->plan->ops[run->plan->result]->columns,
        .fn = params->rows,
        .arg = params->rows_arg};
    weir_err rc = wi_layout_init(&run->layout, run->plan, run->node, err);
    rc = rc == WEIR_OK ? open_workers(run, params, err) : rc;
    return rc == WEIR_OK ? weir_query_open(run->node, &query, &run->query, err)
                         : rc;
}

weir_err weir_run_open(weir_node *node, const weir_plan *plan,
                       const struct weir_run_params *params, weir_run **run_out,
                       struct weir_error *err)
{
    weir_err given =
        wi_exec_check_args(err, WI_EXEC_ARG(node), WI_EXEC_ARG(plan),
                           WI_EXEC_ARG(params), WI_EXEC_ARG(run_out));
    if (given != WEIR_OK) {
        return given;
    }
    struct weir_error fault = {0};
    weir_err rc = check_params(node, plan, params, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct weir_run *run = calloc(1, sizeof(*run));
    if (run == NULL) {
        return wi_exec_no_memory(err, sizeof(*run));
    }
    run->node = node;
    run->plan = plan;
    rc = open_run(run, params, err);
    if (rc != WEIR_OK) {
        free_run(run);
        return rc;
    }
    if (wi_layout_shuffles(&run->layout, run->query, &fault) != WEIR_OK ||
        check_memory(run, &fault) != WEIR_OK) {
        run->broken = true;
        report(run->query, &fault, NULL);
    } else {
        run->broken = open_trees(run) != WEIR_OK;
    }
    *run_out = run;
    return WEIR_OK;
}

weir_err weir_run_fail(weir_node *node, uint64_t query_id,
                       const struct weir_error *cause, struct weir_error *err)
{
    weir_err given =
        wi_exec_check_args(err, WI_EXEC_ARG(node), WI_EXEC_ARG(cause));
    if (given != WEIR_OK) {
        return given;
    }
    const struct weir_query_params params = {.id = query_id};
    weir_query *query;
    weir_err rc = weir_query_open(node, &params, &query, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    report(query, cause, NULL);
    while ((rc = weir_query_status(query, err)) == WEIR_OK) {
        (void)weir_worker_wait(node, 0, WEIR_FOREVER);
    }
    weir_query_close(query);
    return rc;
}

uint32_t weir_run_shuffles(const weir_plan *plan)
{
    uint32_t n = 1; /* the one that ends the run */
    if (plan == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        n += wi_kind_of(plan->ops[i])->cuts;
    }
    return n;
}

/* ---- stepping ------------------------------------------------------------ */

static void update_progress(struct wi_run_worker *w)
{
    uint64_t rows = wi_tree_rows(&w->tree);
    (void)pthread_mutex_lock(&w->lock);
    w->rows = rows;
    (void)pthread_mutex_unlock(&w->lock);
}

/* In a child of the process that opened it: the query says so. Its workers are
 * the parent's threads, which may hold its locks. */
static bool is_inherited(const struct weir_run *run)
{
    return weir_query_status(run->query, NULL) == WEIR_ERR_STATE;
}

/* Its operators are done: tell the other members, or wait to be told. */
static weir_err step_end(const struct wi_run_worker *w)
{
    struct ArrowArray batch;
    if (w->tree.end_writer != NULL) {
        weir_err rc = weir_writer_finish(w->tree.end_writer);
        return rc == WEIR_OK ? WEIR_DONE : rc;
    }
    if (w->tree.end_reader == NULL) {
        return WEIR_DONE;
    }
    weir_err rc = weir_reader_next(w->tree.end_reader, &batch);
    if (rc == WEIR_OK) { /* only a faulty member sends rows here */
        batch.release(&batch);
    }
    return rc == WEIR_HELD ? WEIR_AGAIN : rc;
}

static weir_err step_operators(struct wi_run_worker *w)
{
    enum wi_state state = wi_sched_step(&w->tree.sched);
    if (state == WI_MOVED) {
        if (++w->steps % PROGRESS_STEPS == 0) {
            update_progress(w);
        }
        return WEIR_OK;
    }
    update_progress(w);
    if (state == WI_FAILED) {
        report(w->run->query, &w->tree.ctx.err, failed_name(w));
        w->reported = true;
        weir_err rc = weir_query_status(w->run->query, NULL);
        return rc == WEIR_OK ? WEIR_AGAIN : rc;
    }
    return state == WI_DONE ? step_end(w) : WEIR_AGAIN;
}

weir_err weir_run_step(weir_run *run, uint32_t worker)
{
    if (run == NULL || worker >= run->n_workers) {
        return WEIR_ERR_ARG;
    }
    struct wi_run_worker *w = &run->workers[worker];
    if (w->end != WEIR_AGAIN) {
        return w->end;
    }
    weir_err rc = weir_query_status(run->query, NULL);
    if (rc == WEIR_OK) {
        rc = run->broken || w->reported ? WEIR_AGAIN : step_operators(w);
    }
    if (rc != WEIR_OK && rc != WEIR_AGAIN) {
        w->end = rc;
    }
    return rc;
}

/* ---- to the end ---------------------------------------------------------- */

static void *work(void *arg)
{
    struct wi_run_worker *w = arg;
    uint32_t worker = (uint32_t)(w - w->run->workers);
    weir_err rc;
    while ((rc = weir_run_step(w->run, worker)) == WEIR_OK ||
           rc == WEIR_AGAIN) {
        if (rc == WEIR_AGAIN) {
            (void)weir_worker_wait(w->run->node, worker, WEIR_FOREVER);
        }
    }
    return NULL;
}

weir_err weir_run_wait(weir_run *run, struct weir_error *err)
{
    weir_err given = wi_exec_check_args(err, WI_EXEC_ARG(run));
    if (given != WEIR_OK) {
        return given;
    }
    if (is_inherited(run)) {
        return weir_query_status(run->query, err);
    }
    uint32_t started = 1;
    int why = 0;
    while (started < run->n_workers &&
           (why = pthread_create(&run->workers[started].thread, NULL, work,
                                 &run->workers[started])) == 0) {
        started++;
    }
    if (started < run->n_workers) {
        struct weir_error fault;
        /* No fault of the plan or of its data: not WEIR_ERR_QUERY_DATA. */
        (void)wi_exec_fail(&fault, WEIR_ERR_ABORTED,
                           "no thread for worker %u of %u: %s; raise \"ulimit "
                           "-u\", or pids.max of the control group",
                           started, run->n_workers, strerror(why));
        report(run->query, &fault, NULL);
    }
    (void)work(&run->workers[0]);
    for (uint32_t i = 1; i < started; i++) {
        (void)pthread_join(run->workers[i].thread, NULL);
    }
    return weir_query_status(run->query, err);
}

weir_err weir_run_status(weir_run *run, struct weir_error *err)
{
    weir_err given = wi_exec_check_args(err, WI_EXEC_ARG(run));
    if (given != WEIR_OK) {
        return given;
    }
    return weir_query_status(run->query, err);
}

void weir_run_cancel(weir_run *run, const char *reason)
{
    if (run != NULL) {
        weir_query_cancel(run->query, reason);
    }
}

uint64_t weir_run_progress(const weir_run *run)
{
    uint64_t rows = 0;
    if (run == NULL || is_inherited(run)) {
        return 0;
    }
    for (uint32_t i = 0; i < run->n_workers; i++) {
        struct wi_run_worker *w = &run->workers[i];
        (void)pthread_mutex_lock(&w->lock);
        rows += w->rows;
        (void)pthread_mutex_unlock(&w->lock);
    }
    return rows;
}

void weir_run_close(weir_run *run)
{
    if (run != NULL && !is_inherited(run)) {
        free_run(run);
    }
}
