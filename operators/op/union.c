/* SPDX-License-Identifier: Apache-2.0 */
/* Union all: chunks of whichever input has some, each input in its turn. */
#include <stdlib.h>

#include "operators/base/fail.h"
#include "operators/op/ops.h"

struct all {
    struct wi_op op;
    struct wi_op **inputs; /* owned */
    uint32_t n;
    uint32_t next; /* whose turn it is */
};

static enum wi_state step(struct wi_op *op, struct wi_chunk *out)
{
    struct all *u = (struct all *)op;
    enum wi_state state = WI_DONE;
    for (uint32_t i = 0; i < u->n; i++) {
        struct wi_op *input = u->inputs[u->next];
        enum wi_state one = wi_op_step(input, out);
        if (one == WI_FAILED) {
            return one;
        }
        u->next = u->next + 1 == u->n ? 0 : u->next + 1;
        if (out->n != 0) {
            return WI_MOVED;
        }
        if (one == WI_MOVED || state == WI_DONE) {
            state = one;
        }
    }
    return state;
}

static void stop(struct wi_op *op)
{
    struct all *u = (struct all *)op;
    for (uint32_t i = 0; i < u->n; i++) {
        wi_op_stop(u->inputs[i]);
    }
}

static void close(struct wi_op *op)
{
    struct all *u = (struct all *)op;
    for (uint32_t i = 0; i < u->n; i++) {
        wi_op_close(u->inputs[i]);
    }
    free(u->inputs);
    free(u);
}

static const struct wi_op_ops ops = {"union", step, stop, close};

weir_err wi_union_open(struct wi_ctx *ctx, const struct wi_union_params *p,
                       struct wi_op *const *inputs, struct wi_op **out)
{
    struct all *u = calloc(1, sizeof(*u));
    struct wi_op **mine = calloc((size_t)p->n_inputs + 1, sizeof(*mine));
    if (u == NULL || mine == NULL) {
        for (uint32_t i = 0; i < p->n_inputs; i++) {
            wi_op_close(inputs[i]);
        }
        free(u);
        free(mine);
        return wi_exec_no_memory(&ctx->err, sizeof(*u));
    }
    wi_op_init(&u->op, &ops, ctx, NULL, NULL);
    u->inputs = mine;
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        if (inputs[i] != NULL) {
            mine[u->n++] = inputs[i];
        }
    }
    *out = &u->op;
    return WEIR_OK;
}
