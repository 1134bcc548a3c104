/* SPDX-License-Identifier: Apache-2.0 */
/* Project: vectors that expressions compute, at the positions of the input's
 * chunk. An expression that is a column only passes it on. */
#include <stdlib.h>

#include "operators/base/fail.h"
#include "operators/op/ops.h"

struct project {
    struct wi_op op;
    const struct wi_project_params *p;
    struct wi_eval **evals; /* NULL: a column only */
    struct wi_vec *col;
};

static enum wi_state step(struct wi_op *op, struct wi_chunk *out)
{
    struct project *pr = (struct project *)op;
    struct wi_chunk in;
    enum wi_state state = wi_op_step(op->input[0], &in);
    if (in.n == 0) {
        return state;
    }
    for (uint32_t i = 0; i < pr->p->columns->n; i++) {
        if (pr->evals[i] == NULL) {
            pr->col[i] = in.col[wi_expr_column(pr->p->exprs[i])];
        } else if (wi_eval_run(pr->evals[i], &in, &pr->col[i], &op->ctx->err) !=
                   WEIR_OK) {
            return wi_op_failed(op);
        }
    }
    *out = in;
    out->n_cols = pr->p->columns->n;
    out->col = pr->col;
    return WI_MOVED;
}

static void close(struct wi_op *op)
{
    struct project *pr = (struct project *)op;
    for (uint32_t i = 0; pr->evals != NULL && i < pr->p->columns->n; i++) {
        wi_eval_close(pr->evals[i]);
    }
    free(pr->evals);
    free(pr->col);
    free(pr);
}

static const struct wi_op_ops ops = {"project", step, wi_op_ignore_stop, close};

static weir_err open_evals(struct project *pr)
{
    struct weir_error *err = &pr->op.ctx->err;
    uint32_t n = pr->p->columns->n;
    pr->evals = calloc((size_t)n + 1, sizeof(struct wi_eval *));
    pr->col = calloc((size_t)n + 1, sizeof(*pr->col));
    if (pr->evals == NULL || pr->col == NULL) {
        return wi_exec_no_memory(err, n * sizeof(*pr->col));
    }
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; i < n && rc == WEIR_OK; i++) {
        if (wi_expr_column(pr->p->exprs[i]) < 0) {
            rc = wi_eval_open(pr->p->exprs[i], &pr->op.mem, &pr->evals[i], err);
        }
    }
    return rc;
}

weir_err wi_project_open(struct wi_ctx *ctx, const struct wi_project_params *p,
                         struct wi_op *input, struct wi_op **out)
{
    struct project *pr = wi_op_new(ctx, &ops, sizeof(*pr), input);
    if (pr == NULL) {
        return ctx->err.code;
    }
    pr->p = p;
    weir_err rc = open_evals(pr);
    return wi_op_opened(&pr->op, rc, out);
}
