/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Send: the producing end of a shuffle.
 *
 *   input --chunk--> wi_arrow_out --batch--> weir_writer_push
 *     | no rows                     ^ WEIR_AGAIN: kept, and pushed again
 *     '----> weir_writer_poll
 */
#include <stdlib.h>

#include "operators/base/arrow.h"
#include "operators/op/ops.h"

struct send {
    struct wi_op op;
    weir_writer *writer;
    struct wi_arrow_out *arrow;
    const struct ArrowArray *batch; /* not taken yet, or NULL */
    bool ending;                    /* the input has no more */
};

static enum wi_state failed(struct send *s, const char *what)
{
    struct weir_error said;
    (void)weir_writer_error(s->writer, &said);
    return wi_op_core_failed(&s->op, &said, what);
}

/* Nobody wants rows any more. */
static void stop_input(struct send *s)
{
    wi_op_stop(s->op.input[0]);
    s->ending = true;
}

static enum wi_state push(struct send *s)
{
    struct wi_op *op = &s->op;
    weir_err rc = weir_writer_push(s->writer, s->batch);
    if (rc < 0) {
        return failed(s, "push");
    }
    if (rc == WEIR_AGAIN) {
        return WI_WAIT_OUTPUT;
    }
    if (rc == WEIR_OK) {
        op->stats.rows += (uint64_t)s->batch->length;
        op->stats.chunks++;
    } else {
        stop_input(s);
    }
    s->batch = NULL;
    return WI_MOVED;
}

/* The input gave no rows, and is in this state: does anybody want some? */
static enum wi_state poll(struct send *s, enum wi_state state)
{
    weir_err rc = weir_writer_poll(s->writer);
    if (rc < 0) {
        return failed(s, "poll");
    }
    if (rc == WEIR_DONE) {
        stop_input(s);
        return WI_MOVED;
    }
    return state;
}

static enum wi_state finish(struct send *s)
{
    weir_err rc = weir_writer_finish(s->writer);
    if (rc < 0) {
        return failed(s, "finish");
    }
    return rc == WEIR_AGAIN ? WI_WAIT_OUTPUT : WI_DONE;
}

static enum wi_state step(struct wi_op *op, struct wi_chunk *out)
{
    struct send *s = (struct send *)op;
    struct wi_chunk in;
    (void)out;
    if (s->batch != NULL) {
        return push(s);
    }
    if (s->ending) {
        return finish(s);
    }
    enum wi_state state = wi_op_step(op->input[0], &in);
    if (state == WI_DONE) {
        s->ending = true;
        return finish(s);
    }
    if (in.n == 0) {
        return state == WI_FAILED ? state : poll(s, state);
    }
    if (wi_arrow_out_put(s->arrow, &in, &s->batch, &op->ctx->err) != WEIR_OK) {
        return wi_op_failed(op);
    }
    return push(s);
}

static void close(struct wi_op *op)
{
    struct send *s = (struct send *)op;
    weir_writer_close(s->writer);
    wi_arrow_out_close(s->arrow);
    free(s);
}

static const struct wi_op_ops ops = {"send", step, wi_op_ignore_stop, close};

weir_err wi_send_open(struct wi_ctx *ctx, const struct wi_send_params *p,
                      weir_writer *writer, struct wi_op *input,
                      struct wi_op **out)
{
    struct send *s = wi_op_new(ctx, &ops, sizeof(*s), input);
    if (s == NULL) {
        return ctx->err.code;
    }
    weir_err rc =
        wi_arrow_out_open(p->columns, &s->op.mem, &s->arrow, &ctx->err);
    rc = wi_op_opened(&s->op, rc, out);
    if (rc == WEIR_OK) {
        s->writer = writer;
    }
    return rc;
}

weir_err wi_send_stats(const struct wi_op *op, uint32_t dest,
                       struct weir_edge_stats *stats_out)
{
    return weir_writer_stats(((const struct send *)op)->writer, dest,
                             stats_out);
}
