/* SPDX-License-Identifier: Apache-2.0 */
/* Receive: the consuming end of a shuffle. Holds one batch at a time, whose
 * columns stay in the ring, and gives it out in chunks. */
#include <stdlib.h>

#include "operators/base/arrow.h"
#include "operators/op/ops.h"

struct receive {
    struct wi_op op;
    weir_reader *reader;
    struct wi_arrow_in *arrow;
    struct ArrowArray batch; /* release is NULL: none is held */
    int64_t at;              /* rows of it given out */
};

static void release(struct receive *r)
{
    if (r->batch.release != NULL) {
        r->batch.release(&r->batch);
    }
}

static enum wi_state take(struct receive *r)
{
    release(r);
    r->at = 0;
    weir_err rc = weir_reader_next(r->reader, &r->batch);
    if (rc < 0) {
        struct weir_error said;
        (void)weir_reader_error(r->reader, &said);
        return wi_op_core_failed(&r->op, &said, "receive");
    }
    if (rc == WEIR_OK) {
        return WI_MOVED;
    }
    return rc == WEIR_DONE ? WI_DONE : WI_WAIT_INPUT;
}

static enum wi_state step(struct wi_op *op, struct wi_chunk *out)
{
    struct receive *r = (struct receive *)op;
    if (r->batch.release == NULL || r->at == r->batch.length) {
        enum wi_state state = take(r);
        if (state != WI_MOVED) {
            return state;
        }
    }
    int64_t left = r->batch.length - r->at;
    uint32_t n = left < WI_CHUNK_ROWS ? (uint32_t)left : WI_CHUNK_ROWS;
    wi_arrow_in_slice(r->arrow, &r->batch, r->at, n, out);
    r->at += n;
    return WI_MOVED;
}

static void stop(struct wi_op *op)
{
    weir_reader_stop(((struct receive *)op)->reader);
}

static void close(struct wi_op *op)
{
    struct receive *r = (struct receive *)op;
    release(r);
    weir_reader_close(r->reader);
    wi_arrow_in_close(r->arrow);
    free(r);
}

static const struct wi_op_ops ops = {"receive", step, stop, close};

weir_err wi_receive_open(struct wi_ctx *ctx, const struct wi_receive_params *p,
                         weir_reader *reader, struct wi_op **out)
{
    struct receive *r = wi_op_new(ctx, &ops, sizeof(*r), NULL);
    if (r == NULL) {
        weir_reader_close(reader);
        return ctx->err.code;
    }
    r->reader = reader;
    weir_err rc =
        wi_arrow_in_open(p->columns, &r->op.mem, &r->arrow, &ctx->err);
    return wi_op_opened(&r->op, rc, out);
}

weir_reader *wi_receive_reader(const struct wi_op *op)
{
    return ((const struct receive *)op)->reader;
}
