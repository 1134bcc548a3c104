/* SPDX-License-Identifier: Apache-2.0 */
/* Limit: drops the first rows, passes the next ones, then stops its input. */
#include <stdlib.h>

#include "operators/op/ops.h"

struct limit {
    struct wi_op op;
    uint64_t skip; /* rows still to be dropped */
    uint64_t left; /* rows still to be passed */
    uint32_t sel[WI_CHUNK_ROWS];
};

/* The chunk without its first rows. */
static void drop_front(struct limit *l, struct wi_chunk *c, uint32_t rows)
{
    c->n -= rows;
    if (c->sel != NULL) {
        c->sel += rows;
        return;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        l->sel[i] = rows + i;
    }
    c->sel = l->sel;
}

static enum wi_state step(struct wi_op *op, struct wi_chunk *out)
{
    struct limit *l = (struct limit *)op;
    if (l->left == 0) {
        wi_op_stop(op->input[0]);
        return WI_DONE;
    }
    enum wi_state state = wi_op_step(op->input[0], out);
    if (out->n == 0) {
        return state;
    }
    if (l->skip >= out->n) {
        l->skip -= out->n;
        out->n = 0;
        return WI_MOVED;
    }
    if (l->skip != 0) {
        drop_front(l, out, (uint32_t)l->skip);
        l->skip = 0;
    }
    if (l->left < out->n) {
        out->n = (uint32_t)l->left;
    }
    l->left -= out->n;
    return WI_MOVED;
}

static void close(struct wi_op *op)
{
    free(op);
}

static const struct wi_op_ops ops = {"limit", step, wi_op_ignore_stop, close};

weir_err wi_limit_open(struct wi_ctx *ctx, const struct wi_limit_params *p,
                       struct wi_op *input, struct wi_op **out)
{
    struct limit *l = wi_op_new(ctx, &ops, sizeof(*l), input);
    if (l == NULL) {
        return ctx->err.code;
    }
    l->skip = p->offset;
    l->left = p->rows;
    *out = &l->op;
    return WEIR_OK;
}
