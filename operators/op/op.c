/* SPDX-License-Identifier: Apache-2.0 */
/* What all operators have in common: stepping and counting, stopping,
 * closing. */
#include "operators/op/op.h"

#include <stdlib.h>
#include <time.h>

#include "operators/base/fail.h"

void wi_op_init(struct wi_op *op, const struct wi_op_ops *ops,
                struct wi_ctx *ctx, struct wi_op *input0, struct wi_op *input1)
{
    *op = (struct wi_op){.ops = ops,
                         .ctx = ctx,
                         .input = {input0, input1},
                         .mem = {.above = &ctx->mem}};
}

void *wi_op_new(struct wi_ctx *ctx, const struct wi_op_ops *ops, size_t bytes,
                struct wi_op *input)
{
    struct wi_op *op = calloc(1, bytes);
    if (op == NULL) {
        wi_op_close(input);
        (void)wi_exec_no_memory(&ctx->err, bytes);
        return NULL;
    }
    wi_op_init(op, ops, ctx, input, NULL);
    return op;
}

weir_err wi_op_opened(struct wi_op *op, weir_err rc, struct wi_op **out)
{
    if (rc != WEIR_OK) {
        wi_op_close(op);
        return rc;
    }
    *out = op;
    return WEIR_OK;
}

static uint64_t now_ns(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

/* A wait lasts from the step that began it until the next one. */
static void count_wait(struct wi_op_stats *s, uint64_t now)
{
    if (s->since_ns != 0 && s->state == WI_WAIT_INPUT) {
        s->wait_input_ns += now - s->since_ns;
    } else if (s->since_ns != 0) {
        s->wait_output_ns += now - s->since_ns;
    }
    s->since_ns = 0;
}

static enum wi_state step_timed(struct wi_op *op, struct wi_chunk *out)
{
    struct wi_op_stats *s = &op->stats;
    uint64_t begin = now_ns();
    count_wait(s, begin);
    enum wi_state state = op->ops->step(op, out);
    uint64_t end = now_ns();
    s->busy_ns += end - begin;
    if (state == WI_WAIT_INPUT || state == WI_WAIT_OUTPUT) {
        s->since_ns = end;
    }
    return state;
}

enum wi_state wi_op_step(struct wi_op *op, struct wi_chunk *out)
{
    struct wi_op_stats *s = &op->stats;
    out->n = 0;
    if (s->state == WI_DONE || s->state == WI_FAILED) {
        return s->state;
    }
    s->state = op->ctx->timed ? step_timed(op, out) : op->ops->step(op, out);
    if (s->state == WI_MOVED) {
        s->rows += out->n;
        s->chunks += out->n != 0;
        return WI_MOVED;
    }
    out->n = 0;
    if (s->state == WI_FAILED && op->ctx->failed == NULL) {
        op->ctx->failed = op; /* the innermost returns first */
    }
    return s->state;
}

void wi_op_stop(struct wi_op *op)
{
    if (op == NULL) {
        return;
    }
    if (op->stats.state != WI_FAILED) {
        op->stats.state = WI_DONE;
    }
    op->ops->stop(op);
    for (uint32_t i = 0; i < WI_OP_INPUTS; i++) {
        wi_op_stop(op->input[i]);
    }
}

void wi_op_ignore_stop(struct wi_op *op)
{
    (void)op;
}

void wi_op_close(struct wi_op *op)
{
    if (op == NULL) {
        return;
    }
    struct wi_op *input[WI_OP_INPUTS];
    for (uint32_t i = 0; i < WI_OP_INPUTS; i++) {
        input[i] = op->input[i];
        op->input[i] = NULL;
    }
    op->ops->close(op);
    for (uint32_t i = 0; i < WI_OP_INPUTS; i++) {
        wi_op_close(input[i]);
    }
}

enum wi_state wi_op_failed(struct wi_op *op)
{
    (void)op;
    return WI_FAILED;
}

enum wi_state wi_op_core_failed(struct wi_op *op, const struct weir_error *said,
                                const char *what)
{
    struct wi_ctx *ctx = op->ctx;
    if (weir_query_status(ctx->query, &ctx->err) == WEIR_OK) {
        (void)wi_exec_fail(&ctx->err, said->code, "%s: %s", what,
                           said->message);
    }
    return WI_FAILED;
}
