/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one worker's operators, inputs first, in the plan's order. */
#include "operators/plan/tree.h"

#include <stdlib.h>

#include "operators/base/fail.h"
#include "operators/plan/kind.h"
#include "operators/table/table.h"

/* Operator i, for its consumer to own; NULL: not on this worker. */
static struct wi_op *take(struct wi_tree *t, uint32_t i)
{
    struct wi_op *op = t->loose[i];
    t->loose[i] = NULL;
    return op;
}

/* ---- one operator -------------------------------------------------------- */

static weir_err make_one(struct wi_tree *t, const struct wi_plan_op *op,
                         struct wi_op **out)
{
    struct wi_op **inputs = calloc((size_t)op->n_inputs + 1, sizeof(*inputs));
    if (inputs == NULL) {
        return wi_exec_no_memory(&t->ctx.err, op->n_inputs * sizeof(*inputs));
    }
    for (uint32_t k = 0; k < op->n_inputs; k++) {
        inputs[k] = take(t, op->inputs[k]);
    }
    weir_err rc = wi_kind_of(op)->make(&t->ctx, op, inputs, out);
    free(inputs);
    return rc;
}

static weir_err make_send(struct wi_tree *t, const struct wi_layout *l,
                          uint32_t i)
{
    struct wi_ctx *ctx = &t->ctx;
    const struct wi_exchange *x = &l->exchange[i];
    weir_writer *writer;
    weir_err rc = weir_writer_open(x->shuffle, ctx->worker, &writer, &ctx->err);
    if (rc != WEIR_OK) {
        return rc;
    }
    return wi_send_open(ctx, &x->send, writer,
                        take(t, l->plan->ops[i]->inputs[0]), &t->send[i]);
}

static weir_err make_receive(struct wi_tree *t, const struct wi_layout *l,
                             uint32_t i, struct wi_op **out)
{
    struct wi_ctx *ctx = &t->ctx;
    const struct wi_exchange *x = &l->exchange[i];
    weir_reader *reader;
    weir_err rc = weir_reader_open(x->shuffle, ctx->worker, &reader, &ctx->err);
    if (rc != WEIR_OK) {
        return rc;
    }
    return x->merge.n_keys != 0
               ? wi_merge_open(ctx, &x->merge, reader, out)
               : wi_receive_open(ctx, &x->receive, reader, out);
}

/* The join on this worker learns through which receivers it tells senders. */
static void aim(struct wi_tree *t, const struct wi_plan_op *join, uint32_t i)
{
    for (uint32_t k = 0; k < join->p.join.n_targets; k++) {
        wi_join_aim(t->op[i], k, t->op[join->p.join.target[k].shuffle]);
    }
}

/* ---- the tree ------------------------------------------------------------ */

static weir_err make(struct wi_tree *t, const struct wi_layout *l, uint32_t i)
{
    const struct wi_plan_op *op = l->plan->ops[i];
    bool shuffle = wi_kind_of(op)->cuts;
    t->making = i;
    uint32_t worker = t->ctx.worker;
    weir_err rc = WEIR_OK;
    if (shuffle && wi_layout_present(l, op->inputs[0], worker)) {
        rc = make_send(t, l, i);
    }
    if (rc == WEIR_OK && wi_layout_present(l, i, worker)) {
        rc = shuffle ? make_receive(t, l, i, &t->op[i])
                     : make_one(t, op, &t->op[i]);
    }
    if (t->send[i] != NULL) {
        t->send[i]->id = i;
    }
    if (t->op[i] != NULL) {
        t->op[i]->id = i;
        t->loose[i] = t->op[i];
        if (op->kind == WI_PLAN_JOIN) {
            aim(t, op, i);
        }
    }
    return rc;
}

/* Is everything below a scan, so that holding it up holds up nobody else? */
static bool only_scans(const struct weir_plan *plan, uint32_t i)
{
    const struct wi_plan_op *op = plan->ops[i];
    bool only = !wi_kind_of(op)->cuts;
    for (uint32_t k = 0; only && k < op->n_inputs; k++) {
        only = only_scans(plan, op->inputs[k]);
    }
    return only;
}

/* Does the join filter shuffle i as soon as it has its right side? */
static bool filters_at_once(const struct wi_plan_op *op, uint32_t i)
{
    bool is_target = false;
    for (uint32_t k = 0; op->kind == WI_PLAN_JOIN && k < op->p.join.n_targets;
         k++) {
        is_target |= op->p.join.target[k].shuffle == i;
    }
    return is_target && !op->p.join.tries_first;
}

/* The join on this worker that filters what shuffle i sends, and for which its
 * fragment waits; NULL: none. Where several do, it is the lowest: those above
 * it take their right sides before it does. */
static const struct wi_op *find_join(const struct wi_tree *t,
                                     const struct weir_plan *plan, uint32_t i)
{
    uint32_t k = i + 1;
    while (k < plan->n_ops && !filters_at_once(plan->ops[k], i)) {
        k++;
    }
    return k < plan->n_ops && only_scans(plan, plan->ops[i]->inputs[0])
               ? t->op[k]
               : NULL;
}

/* Roots of the fragments, downstream first. */
static weir_err make_sched(struct wi_tree *t, const struct wi_layout *l)
{
    t->sched.root = calloc((size_t)l->n_cuts + 1, sizeof(struct wi_op *));
    t->sched.join = calloc((size_t)l->n_cuts + 1, sizeof(struct wi_op *));
    if (t->sched.root == NULL || t->sched.join == NULL) {
        return wi_exec_no_memory(&t->ctx.err,
                                 l->n_cuts * sizeof(struct wi_op *));
    }
    if (t->result != NULL) {
        t->sched.root[t->sched.n++] = t->result;
    }
    for (uint32_t k = 0; k < l->n_cuts; k++) {
        if (t->send[l->cut[k]] != NULL) {
            t->sched.join[t->sched.n] = find_join(t, l->plan, l->cut[k]);
            t->sched.root[t->sched.n++] = t->send[l->cut[k]];
        }
    }
    return WEIR_OK;
}

static weir_err open_end(struct wi_tree *t, const struct wi_layout *l)
{
    struct wi_ctx *ctx = &t->ctx;
    if (l->end == NULL || ctx->worker != 0) {
        return WEIR_OK;
    }
    return l->self == 0
               ? weir_writer_open(l->end, 0, &t->end_writer, &ctx->err)
               : weir_reader_open(l->end, 0, &t->end_reader, &ctx->err);
}

static weir_err make_all(struct wi_tree *t, const struct wi_layout *l,
                         const struct wi_result_params *result)
{
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; i < t->n_ops && rc == WEIR_OK; i++) {
        if (l->live[i]) {
            rc = make(t, l, i);
        }
    }
    if (rc == WEIR_OK && wi_layout_present(l, l->plan->result, t->ctx.worker)) {
        rc = wi_result_open(&t->ctx, result, take(t, l->plan->result),
                            &t->result);
    }
    if (rc == WEIR_OK && t->result != NULL) {
        t->result->id = t->n_ops;
    }
    rc = rc == WEIR_OK ? make_sched(t, l) : rc;
    return rc == WEIR_OK ? open_end(t, l) : rc;
}

weir_err wi_tree_init(struct wi_tree *tree, const struct wi_layout *layout,
                      const struct wi_ctx *ctx,
                      const struct wi_result_params *result)
{
    size_t n = (size_t)layout->plan->n_ops + 1;
    *tree = (struct wi_tree){.ctx = *ctx, .n_ops = layout->plan->n_ops};
    tree->op = calloc(n, sizeof(struct wi_op *));
    tree->send = calloc(n, sizeof(struct wi_op *));
    tree->loose = calloc(n, sizeof(struct wi_op *));
    if (tree->op == NULL || tree->send == NULL || tree->loose == NULL) {
        return wi_exec_no_memory(&tree->ctx.err, n * sizeof(struct wi_op *));
    }
    return make_all(tree, layout, result);
}

/* ---- what opening takes -------------------------------------------------- */

static weir_err open_nothing(void *arg, const struct weir_table_part *part,
                             void **part_out, struct weir_error *err)
{
    (void)arg;
    (void)part;
    (void)err;
    *part_out = NULL;
    return WEIR_OK;
}

/* In place of any table, so that measuring reads no file. */
static weir_table no_table = {.ops = {.open = open_nothing}};

/* Close what was opened alone; how much did it take? */
static weir_err measure(weir_err rc, struct wi_op *const *op, uint64_t *sum)
{
    if (rc == WEIR_OK) {
        *sum += (*op)->mem.held_bytes;
        wi_op_close(*op);
    }
    return rc;
}

static weir_err measure_shuffle(struct wi_ctx *ctx, const struct wi_exchange *x,
                                uint64_t *sum)
{
    struct wi_op *op;
    weir_err rc = wi_send_open(ctx, &x->send, NULL, NULL, &op);
    rc = measure(rc, &op, sum);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = x->merge.n_keys != 0 ? wi_merge_open(ctx, &x->merge, NULL, &op)
                              : wi_receive_open(ctx, &x->receive, NULL, &op);
    return measure(rc, &op, sum);
}

static weir_err measure_one(struct wi_tree *t, const struct wi_layout *l,
                            uint32_t i, uint64_t *sum)
{
    const struct wi_plan_op *plan_op = l->plan->ops[i];
    struct wi_op *op;
    if (wi_kind_of(plan_op)->cuts) {
        return measure_shuffle(&t->ctx, &l->exchange[i], sum);
    }
    if (plan_op->kind == WI_PLAN_SCAN) {
        struct wi_scan_params p = plan_op->p.scan;
        p.table = &no_table;
        return measure(wi_scan_open(&t->ctx, &p, &op), &op, sum);
    }
    return measure(make_one(t, plan_op, &op), &op, sum);
}

weir_err wi_tree_least(const struct wi_layout *layout,
                       const struct wi_result_params *result,
                       uint64_t *bytes_out, struct weir_error *err)
{
    const uint32_t n = layout->plan->n_ops;
    struct wi_tree t = {.n_ops = n};
    struct wi_op *op;
    uint64_t sum = 0;
    t.loose = calloc((size_t)n + 1, sizeof(struct wi_op *)); /* no inputs */
    if (t.loose == NULL) {
        return wi_exec_no_memory(err, n * sizeof(struct wi_op *));
    }
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; i < n && rc == WEIR_OK; i++) {
        rc = layout->live[i] ? measure_one(&t, layout, i, &sum) : WEIR_OK;
    }
    if (rc == WEIR_OK) {
        rc = measure(wi_result_open(&t.ctx, result, NULL, &op), &op, &sum);
    }
    free(t.loose);
    if (rc != WEIR_OK) {
        *err = t.ctx.err;
        return rc;
    }
    *bytes_out = sum;
    return WEIR_OK;
}

void wi_tree_fini(struct wi_tree *tree)
{
    wi_op_close(tree->result);
    for (uint32_t i = 0; tree->send != NULL && i < tree->n_ops; i++) {
        wi_op_close(tree->send[i]);
    }
    for (uint32_t i = 0; tree->loose != NULL && i < tree->n_ops; i++) {
        wi_op_close(tree->loose[i]);
    }
    free(tree->sched.root);
    free(tree->sched.join);
    free(tree->op);
    free(tree->send);
    free(tree->loose);
    weir_writer_close(tree->end_writer);
    weir_reader_close(tree->end_reader);
}

uint64_t wi_tree_rows(const struct wi_tree *tree)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < tree->sched.n; i++) {
        rows += tree->sched.root[i]->stats.rows;
    }
    return rows;
}
