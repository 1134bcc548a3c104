/* SPDX-License-Identifier: Apache-2.0 */
/* Scan of a table that keeps its rows: fills the store as rows of a plain scan
 * pass by, or reads the store. */
#include "operators/op/kept_scan.h"

#include <stdlib.h>

#include "operators/base/fail.h"

struct kept_scan {
    struct wi_op op; /* input 0: the plain scan, while filling */
    struct wi_kept_part *part;
    struct wi_vec *col; /* of the slice given out */
    uint64_t at;
    bool reads; /* memory */
    bool done;
};

static enum wi_state give_slice(struct kept_scan *s, struct wi_chunk *out)
{
    uint64_t left = s->part->store.n - s->at;
    uint32_t n = left < WI_CHUNK_ROWS ? (uint32_t)left : WI_CHUNK_ROWS;
    if (n == 0) {
        s->done = true;
        return WI_DONE;
    }
    wi_store_slice(&s->part->store, s->at, n, s->col, out);
    s->at += n;
    return WI_MOVED;
}

static enum wi_state pass_chunk(struct kept_scan *s, struct wi_chunk *out)
{
    enum wi_state state = wi_op_step(s->op.input[0], out);
    if (state == WI_MOVED && out->n > 0 &&
        wi_store_append(&s->part->store, out, &s->op.ctx->err) != WEIR_OK) {
        return wi_op_failed(&s->op);
    }
    if (state == WI_DONE) {
        s->part->state = WI_KEPT_WHOLE;
        s->done = true;
    }
    return state;
}

static enum wi_state step(struct wi_op *op, struct wi_chunk *out)
{
    struct kept_scan *s = (struct kept_scan *)op;
    *out = (struct wi_chunk){0};
    if (s->done) {
        return WI_DONE;
    }
    return s->reads ? give_slice(s, out) : pass_chunk(s, out);
}

static void stop(struct wi_op *op)
{
    struct kept_scan *s = (struct kept_scan *)op;
    s->done = true;
    if (op->input[0] != NULL) {
        wi_op_stop(op->input[0]);
    }
}

static void close_scan(struct wi_op *op)
{
    struct kept_scan *s = (struct kept_scan *)op;
    if (s->reads) {
        s->part->n_readers--;
    } else if (s->part->state == WI_KEPT_FILLING) {
        wi_kept_drop(s->part); /* stopped, or failed */
    }
    free(s->col);
    free(s);
}

static const struct wi_op_ops ops = {
    .name = "scan", .step = step, .stop = stop, .close = close_scan};

weir_err wi_kept_scan_open(struct wi_ctx *ctx, const struct wi_scan_params *p,
                           struct wi_kept_part *part, struct wi_op *plain,
                           struct wi_op **out)
{
    struct kept_scan *s = calloc(1, sizeof(*s));
    struct wi_vec *col = calloc(p->columns->n + 1, sizeof(*col));
    if (s == NULL || col == NULL) {
        free(s);
        free(col);
        wi_op_close(plain);
        return wi_exec_no_memory(&ctx->err, p->columns->n * sizeof(*col));
    }
    wi_op_init(&s->op, &ops, ctx, plain, NULL);
    s->part = part;
    s->col = col;
    s->reads = plain == NULL;
    part->n_readers += s->reads;
    *out = &s->op;
    return WEIR_OK;
}
