/* SPDX-License-Identifier: Apache-2.0 */
/* Filter: the input's chunk with fewer rows selected; nothing is moved. */
#include <stdlib.h>

#include "operators/op/ops.h"

struct filter {
    struct wi_op op;
    struct wi_eval *eval;
    uint32_t sel[WI_CHUNK_ROWS];
};

static enum wi_state step(struct wi_op *op, struct wi_chunk *out)
{
    struct filter *f = (struct filter *)op;
    struct wi_chunk in;
    uint32_t n;
    enum wi_state state = wi_op_step(op->input[0], &in);
    if (in.n == 0) {
        return state;
    }
    if (wi_eval_select(f->eval, &in, f->sel, &n, &op->ctx->err) != WEIR_OK) {
        return wi_op_failed(op);
    }
    *out = in;
    if (n != in.n) { /* else it stays dense if it was */
        out->n = n;
        out->sel = f->sel;
    }
    return WI_MOVED;
}

static void close(struct wi_op *op)
{
    struct filter *f = (struct filter *)op;
    wi_eval_close(f->eval);
    free(f);
}

static const struct wi_op_ops ops = {"filter", step, wi_op_ignore_stop, close};

weir_err wi_filter_open(struct wi_ctx *ctx, const struct wi_filter_params *p,
                        struct wi_op *input, struct wi_op **out)
{
    struct filter *f = wi_op_new(ctx, &ops, sizeof(*f), input);
    if (f == NULL) {
        return ctx->err.code;
    }
    weir_err rc = wi_eval_open(p->where, &f->op.mem, &f->eval, &ctx->err);
    return wi_op_opened(&f->op, rc, out);
}
