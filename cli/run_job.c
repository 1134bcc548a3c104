/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process per node, forked after the plan was read and before any node is
 * opened. They meet when all addresses are known, and when all runs have ended,
 * so that no node leaves while another needs it.
 */
#define _GNU_SOURCE 1
#include "cli/run_job.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/fail.h"
#include "launch/group.h"
#include "launch/nodes.h"

/* No outcome may depend on these times: the parent sees a process die whatever
 * they are. */
#define PATIENCE_NS UINT64_C(60000000000)
#define LINK_IDLE_NS UINT64_C(86400000000000)
#define NO_TIMEOUT_NS (UINT64_MAX / 4)
#define GRACE_MS 10000
#define COUNT_MS 100

/* The parent's, and a copy in each process. */
struct job {
    const struct run_job *params;
    struct wl_group *group;
    struct wl_nodes nodes;
    struct run_op *ops; /* shared; [nodes][n_ops] */
    uint32_t n_ops;
    uint32_t self;
    weir_run *run;
    struct ArrowSchema schema;
    struct rows_out *out; /* member 0 */
};

/* ---- what runs ----------------------------------------------------------- */

/* Inputs have lower numbers than what reads them. */
uint32_t run_job_operators(const weir_plan *plan)
{
    const uint32_t n = weir_plan_operators(plan);
    const uint32_t root = weir_plan_root(plan);
    bool *live = calloc(n + 1u, sizeof(*live));
    uint32_t count = 1; /* the result */
    for (uint32_t i = n; live != NULL && i-- > 0;) {
        struct weir_operator op;
        (void)weir_plan_operator(plan, i, &op);
        live[i] |= i == root;
        count += live[i];
        for (uint32_t k = 0; live[i] && k < op.n_inputs; k++) {
            live[op.inputs[k]] = true;
        }
    }
    free(live);
    return count;
}

/* ---- progress ------------------------------------------------------------ */

/* A thread that copies the run's count, until `stop` is readable. */
struct counting {
    const weir_run *run;
    struct wl_counter *counter;
    int stop[2];
    pthread_t id;
};

static void *count(void *arg)
{
    const struct counting *c = arg;
    struct pollfd fd = {.fd = c->stop[0], .events = POLLIN};
    do {
        c->counter->rows = weir_run_progress(c->run);
    } while (poll(&fd, 1, COUNT_MS) == 0);
    return NULL;
}

static weir_err wait_counting(struct job *j, struct weir_error *err)
{
    struct counting c = {.run = j->run};
    c.counter = &progress_counters(j->params->progress)[j->self];
    if (pipe(c.stop) != 0) {
        return tool_fail_errno(err, "pipe");
    }
    const int started = pthread_create(&c.id, NULL, count, &c);
    weir_err rc = weir_run_wait(j->run, err);
    (void)close(c.stop[1]);
    if (started == 0) {
        (void)pthread_join(c.id, NULL);
    }
    (void)close(c.stop[0]);
    return rc;
}

/* ---- statistics ---------------------------------------------------------- */

static void add_edges(const struct job *j, uint32_t idx, struct run_op *op)
{
    struct weir_edge_stats e;
    op->edge_least_bytes = UINT64_MAX;
    for (uint32_t w = 0; w < j->params->workers; w++) {
        for (uint32_t d = 0; weir_run_edge(j->run, idx, w, d, &e) == WEIR_OK;
             d++) {
            op->edges++;
            if (e.bytes < op->edge_least_bytes) {
                op->edge_least_bytes = e.bytes;
            }
            if (e.bytes > op->edge_most_bytes) {
                op->edge_most_bytes = e.bytes;
            }
        }
    }
}

static void leave_stats(const struct job *j)
{
    for (uint32_t i = 0; i < j->n_ops; i++) {
        struct run_op *op = &j->ops[j->self * j->n_ops + i];
        (void)weir_run_stats(j->run, i, &op->stats);
        add_edges(j, i, op);
    }
}

static void add_op(struct run_op *sum, const struct run_op *op)
{
    struct weir_op_stats *s = &sum->stats;
    const struct weir_op_stats *o = &op->stats;
    s->rows += o->rows;
    s->batches += o->batches;
    s->bytes += o->bytes;
    s->busy_ns += o->busy_ns;
    s->wait_input_ns += o->wait_input_ns;
    s->wait_output_ns += o->wait_output_ns;
    s->filtered += o->filtered;
    s->memory_bytes =
        o->memory_bytes > s->memory_bytes ? o->memory_bytes : s->memory_bytes;
    s->rows_least =
        o->rows_least < s->rows_least ? o->rows_least : s->rows_least;
    s->rows_most = o->rows_most > s->rows_most ? o->rows_most : s->rows_most;
    sum->edges += op->edges;
    sum->edge_least_bytes = op->edge_least_bytes < sum->edge_least_bytes
                                ? op->edge_least_bytes
                                : sum->edge_least_bytes;
    sum->edge_most_bytes = op->edge_most_bytes > sum->edge_most_bytes
                               ? op->edge_most_bytes
                               : sum->edge_most_bytes;
}

static void sum_stats(const struct job *j, struct run_op *ops_out)
{
    for (uint32_t i = 0; i < j->n_ops; i++) {
        ops_out[i] = j->ops[i];
        for (uint32_t node = 1; node < j->params->nodes; node++) {
            add_op(&ops_out[i], &j->ops[node * j->n_ops + i]);
        }
    }
}

/* ---- one process --------------------------------------------------------- */

/* A lost peer is another process of this run: how that ended says more than
 * that it is lost. The parent soon knows, and ends this process. */
static void let_cause_speak(const struct weir_error *err)
{
    if (weir_err_scope(err->code) == WEIR_SCOPE_PEER) {
        (void)poll(NULL, 0, GRACE_MS);
    }
}

/* If the answer cannot be written, the whole group ends. It is not reported as
 * a failure of the query: then all causes would look alike. */
static void check_output(const struct job *j, weir_err rc,
                         struct weir_error *err)
{
    if (rc != WEIR_OK) {
        err->code = rc;
        wl_group_end(j->group, err);
    }
}

/* Several processes may find bad rows at the same time. Which one is first says
 * nothing about the rows, and the message must be the same in every run: it
 * names no process. Which process has no memory left is worth knowing. */
static void end_query(const struct job *j, const struct weir_error *err)
    __attribute__((noreturn));

static void end_query(const struct job *j, const struct weir_error *err)
{
    struct weir_error shown = *err;
    if (err->code == WEIR_ERR_QUERY_DATA) {
        (void)tool_fail(&shown, err->code, "%s",
                        wl_nodes_cause(&j->nodes, err->message));
    }
    wl_group_end(j->group, &shown);
}

static weir_err take_rows(void *arg, const struct ArrowArray *batch,
                          struct weir_error *err)
{
    struct job *j = arg;
    const struct run_job *p = j->params;
    if (p->rows != NULL) {
        return p->rows(p->rows_arg, batch, err);
    }
    check_output(j, rows_out_put(j->out, batch, err), err);
    return WEIR_OK;
}

static weir_err open_out(struct job *j, struct weir_error *err)
{
    if (j->self != 0 || j->params->rows != NULL) {
        return WEIR_OK;
    }
    weir_err rc = weir_plan_schema(j->params->plan, NULL, &j->schema, err);
    return rc == WEIR_OK ? rows_out_open(j->params->to, j->params->format,
                                         &j->schema, &j->out, err)
                         : rc;
}

static void close_out(struct job *j, struct weir_error *err)
{
    if (j->out != NULL) {
        check_output(j, rows_out_end(j->out, err), err);
    }
    rows_out_close(j->out);
    if (j->schema.release != NULL) {
        j->schema.release(&j->schema);
    }
}

static weir_err run(struct job *j, weir_node *node, struct weir_error *err)
{
    const struct weir_run_params params = {
        .query_id = 1,
        .memory_bytes = j->params->memory_bytes,
        .deadline_ns = j->params->timeout_ns,
        .timed = j->params->timed,
        .rows = take_rows,
        .rows_arg = j,
    };
    weir_err rc = weir_run_open(node, j->params->plan, &params, &j->run, err);
    if (rc == WEIR_OK) {
        rc = j->params->progress == NULL ? weir_run_wait(j->run, err)
                                         : wait_counting(j, err);
    }
    if (rc != WEIR_OK) {
        /* Before anything is closed: closing would abort the query, and others
         * would report that. */
        let_cause_speak(err);
        if (weir_err_scope(rc) == WEIR_SCOPE_QUERY) { /* all members have it */
            end_query(j, err);
        }
        return rc;
    }
    leave_stats(j);
    return WEIR_OK;
}

static weir_err member(struct wl_group *group, uint32_t self, void *arg,
                       struct weir_error *err)
{
    struct job *j = arg;
    weir_node *node;
    j->self = self;
    (void)signal(SIGPIPE, SIG_IGN); /* rows_out tells */
    weir_err rc = wl_nodes_open(&j->nodes, self, &node, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    wl_group_meet(group);
    rc = wl_nodes_join(&j->nodes, node, err);
    if (rc == WEIR_OK) {
        rc = open_out(j, err);
    }
    if (rc == WEIR_OK) {
        rc = run(j, node, err);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    close_out(j, err);
    wl_group_meet(group);
    weir_run_close(j->run);
    wl_group_meet(group);
    wl_nodes_close(node);
    return WEIR_OK;
}

/* ---- the parent ---------------------------------------------------------- */

static void fill_nodes(struct job *j, size_t stats_bytes)
{
    const struct run_job *p = j->params;
    j->ops = wl_group_shared(j->group);
    j->nodes = (struct wl_nodes){
        .kind = "run",
        .n = p->nodes,
        .address = (void *)((char *)wl_group_shared(j->group) + stats_bytes),
        .params =
            {
                .transport = p->transport,
                .workers = p->workers,
                .memory_bytes = p->ring_bytes,
                .max_shuffles = weir_run_shuffles(p->plan),
                .detect_ns = PATIENCE_NS,
                .connect_ns = PATIENCE_NS,
                .idle_close_ns = LINK_IDLE_NS,
            },
    };
    identity_use(&p->identity, &j->nodes.params);
}

weir_err run_job_run(const struct run_job *params, struct run_op *ops_out,
                     struct weir_error *err)
{
    struct job j = {.params = params, .n_ops = run_job_operators(params->plan)};
    const size_t stats_bytes = params->nodes * j.n_ops * sizeof(struct run_op);
    const struct wl_group_params group = {
        .members = params->nodes,
        .shared_bytes = stats_bytes + params->nodes * (size_t)WL_ADDRESS_BYTES,
        .timeout_ns = NO_TIMEOUT_NS,
        .stopped_ns = params->stopped_ns,
    };
    weir_err rc = wl_group_open(&group, &j.group, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    fill_nodes(&j, stats_bytes);
    rc = wl_group_run(j.group, member, &j, err);
    if (rc == WEIR_OK) {
        sum_stats(&j, ops_out);
    }
    wl_group_close(j.group);
    return rc;
}
