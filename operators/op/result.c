/* SPDX-License-Identifier: Apache-2.0 */
/* Result: hands the answer's rows to the program. */
#include <stdlib.h>

#include "operators/base/arrow.h"
#include "operators/base/fail.h"
#include "operators/op/ops.h"

struct result {
    struct wi_op op;
    const struct wi_result_params *p;
    struct wi_arrow_out *arrow;
};

static enum wi_state hand_over(struct result *r, const struct ArrowArray *batch)
{
    struct wi_op *op = &r->op;
    struct weir_error err = {.message = "the program refused rows"};
    weir_err rc = r->p->fn(r->p->arg, batch, &err);
    if (rc < 0) {
        (void)wi_exec_fail(&op->ctx->err, rc, "%s", err.message);
        return wi_op_failed(op);
    }
    op->stats.rows += (uint64_t)batch->length;
    op->stats.chunks++;
    if (rc == WEIR_DONE) {
        wi_op_stop(op->input[0]);
        return WI_DONE;
    }
    return WI_MOVED;
}

static enum wi_state step(struct wi_op *op, struct wi_chunk *out)
{
    struct result *r = (struct result *)op;
    const struct ArrowArray *batch;
    struct wi_chunk in;
    (void)out;
    enum wi_state state = wi_op_step(op->input[0], &in);
    if (in.n == 0) {
        return state;
    }
    if (wi_arrow_out_put(r->arrow, &in, &batch, &op->ctx->err) != WEIR_OK) {
        return wi_op_failed(op);
    }
    return hand_over(r, batch);
}

static void close(struct wi_op *op)
{
    struct result *r = (struct result *)op;
    wi_arrow_out_close(r->arrow);
    free(r);
}

static const struct wi_op_ops ops = {"result", step, wi_op_ignore_stop, close};

weir_err wi_result_open(struct wi_ctx *ctx, const struct wi_result_params *p,
                        struct wi_op *input, struct wi_op **out)
{
    struct result *r = wi_op_new(ctx, &ops, sizeof(*r), input);
    if (r == NULL) {
        return ctx->err.code;
    }
    r->p = p;
    weir_err rc =
        wi_arrow_out_open(p->columns, &r->op.mem, &r->arrow, &ctx->err);
    return wi_op_opened(&r->op, rc, out);
}
