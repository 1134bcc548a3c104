/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of a run: sums over its workers. */
#include "operators/plan/run.h"

#include <stdio.h>

#include "operators/plan/kind.h"

/* Index of the operator with statistics number idx; n_ops: "result",
 * UINT32_MAX: none. */
static uint32_t find(const struct weir_run *run, uint32_t idx)
{
    const struct weir_plan *plan = run->plan;
    for (uint32_t i = 0; i < plan->n_ops && run->layout.live != NULL; i++) {
        if (run->layout.live[i] && idx-- == 0) {
            return i;
        }
    }
    return idx == 0 ? plan->n_ops : UINT32_MAX;
}

uint32_t weir_run_operators(const weir_run *run)
{
    uint32_t n = 1;
    if (run == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < run->plan->n_ops && run->layout.live != NULL;
         i++) {
        n += run->layout.live[i];
    }
    return n;
}

static struct weir_edge_stats all_edges(const struct wi_op *send)
{
    struct weir_edge_stats edge;
    struct weir_edge_stats sum = {0};
    for (uint32_t d = 0; wi_send_stats(send, d, &edge) == WEIR_OK; d++) {
        sum.bytes += edge.bytes;
        sum.filtered += edge.filtered;
    }
    return sum;
}

/* The producing end. add_worker takes the time of its input off busy_ns. */
static void add_send(struct weir_op_stats *sum, const struct wi_op *send)
{
    const struct wi_op_stats *s = &send->stats;
    const struct weir_edge_stats edges = all_edges(send);
    /* A batch under way, or whose rest nobody wanted, is not in s->rows. */
    sum->rows += s->rows > edges.filtered ? s->rows - edges.filtered : 0;
    sum->batches += s->chunks;
    sum->bytes += edges.bytes;
    sum->filtered += edges.filtered;
    sum->busy_ns += s->busy_ns;
    sum->wait_output_ns += s->wait_output_ns;
    sum->memory_bytes += send->mem.peak_bytes;
}

/* What gives out the rows. */
static void add_op(struct weir_op_stats *sum, const struct wi_op *op,
                   bool shuffle)
{
    const struct wi_op_stats *s = &op->stats;
    if (!shuffle) {
        sum->rows += s->rows;
        sum->batches += s->chunks;
        sum->wait_output_ns += s->wait_output_ns;
    }
    sum->busy_ns += s->busy_ns;
    sum->wait_input_ns += s->wait_input_ns;
    sum->memory_bytes += op->mem.peak_bytes;
    sum->rows_least = s->rows < sum->rows_least ? s->rows : sum->rows_least;
    sum->rows_most = s->rows > sum->rows_most ? s->rows : sum->rows_most;
}

/* Time that a worker's operator spent in its inputs. */
static uint64_t inputs_ns(const struct wi_tree *t, const struct wi_plan_op *op)
{
    uint64_t ns = 0;
    for (uint32_t k = 0; k < op->n_inputs; k++) {
        const struct wi_op *input = t->op[op->inputs[k]];
        ns += input != NULL ? input->stats.busy_ns : 0;
    }
    return ns;
}

static void add_worker(struct weir_op_stats *sum, const struct wi_tree *t,
                       const struct weir_plan *plan, uint32_t i)
{
    const struct wi_plan_op *op = plan->ops[i];
    if (t->send[i] != NULL) {
        add_send(sum, t->send[i]);
    }
    if (t->op[i] != NULL) {
        add_op(sum, t->op[i], wi_kind_of(op)->cuts);
    }
    if (t->send[i] != NULL || t->op[i] != NULL) {
        sum->busy_ns -= inputs_ns(t, op);
    }
}

static void add_result(struct weir_op_stats *sum, const struct wi_tree *t,
                       const struct weir_plan *plan)
{
    if (t->result != NULL) {
        add_op(sum, t->result, false);
        sum->busy_ns -= t->op[plan->result]->stats.busy_ns;
    }
}

weir_err weir_run_stats(const weir_run *run, uint32_t idx,
                        struct weir_op_stats *stats_out)
{
    if (run == NULL || stats_out == NULL) {
        return WEIR_ERR_ARG;
    }
    const struct weir_plan *plan = run->plan;
    uint32_t i = find(run, idx);
    if (i == UINT32_MAX) {
        return WEIR_ERR_NOT_FOUND;
    }
    bool result = i == plan->n_ops;
    struct weir_op_stats sum = {.rows_least = UINT64_MAX};
    (void)snprintf(sum.name, sizeof(sum.name), "%s",
                   result ? "result" : plan->ops[i]->name);
    (void)snprintf(sum.what, sizeof(sum.what), "%s",
                   result ? "result" : wi_kind_of(plan->ops[i])->name);
    for (uint32_t w = 0; w < run->n_workers && !run->broken; w++) {
        const struct wi_tree *t = &run->workers[w].tree;
        if (result) {
            add_result(&sum, t, plan);
        } else {
            add_worker(&sum, t, plan, i);
        }
    }
    if (sum.rows_least == UINT64_MAX) {
        sum.rows_least = 0; /* it is on no worker of this node */
    }
    *stats_out = sum;
    return WEIR_OK;
}

weir_err weir_run_edge(const weir_run *run, uint32_t idx, uint32_t worker,
                       uint32_t dest, struct weir_edge_stats *stats_out)
{
    if (run == NULL || stats_out == NULL) {
        return WEIR_ERR_ARG;
    }
    uint32_t i = find(run, idx);
    if (i >= run->plan->n_ops || worker >= run->n_workers || run->broken) {
        return WEIR_ERR_NOT_FOUND;
    }
    const struct wi_op *send = run->workers[worker].tree.send[i];
    if (send == NULL || wi_send_stats(send, dest, stats_out) != WEIR_OK) {
        return WEIR_ERR_NOT_FOUND;
    }
    return WEIR_OK;
}
