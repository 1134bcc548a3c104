/* SPDX-License-Identifier: Apache-2.0 */
/* Scan: the worker's part of a table, cut into chunks. */
#include <stdlib.h>

#include "operators/base/arrow.h"
#include "operators/op/kept_scan.h"
#include "operators/op/ops.h"
#include "operators/table/table.h"

struct scan {
    struct wi_op op;
    const struct wi_scan_params *p;
    struct wi_arrow_in *in;
    void *part; /* of the table */
    struct ArrowArray batch;
    int64_t at;         /* next row of the batch */
    uint64_t n_batches; /* so far */
    bool failed;
    bool done;
};

static void drop_batch(struct scan *s)
{
    if (s->batch.release != NULL) {
        s->batch.release(&s->batch);
        s->batch.release = NULL;
    }
    s->batch.length = 0;
    s->at = 0;
}

static void stop(struct wi_op *op)
{
    struct scan *s = (struct scan *)op;
    s->done = true;
}

static enum wi_state next_batch(struct scan *s)
{
    struct wi_ctx *ctx = s->op.ctx;
    drop_batch(s);
    const struct weir_table *table = s->p->table;
    weir_err rc = table->ops.next(s->part, &s->batch, &ctx->err);
    bool taken = rc == WEIR_OK;
    if (taken && table->foreign) {
        rc = wi_arrow_check(s->p->columns, s->n_batches, &s->batch, &ctx->err);
    }
    if (rc == WEIR_OK) {
        s->n_batches++;
        return WI_MOVED;
    }
    if (taken) {
        drop_batch(s);
    }
    s->batch.release = NULL;
    s->batch.length = 0;
    if (rc == WEIR_DONE) {
        s->done = true;
        return WI_DONE;
    }
    s->failed = true;
    ctx->err.code = rc; /* a table of the program's may have left it out */
    return wi_op_failed(&s->op);
}

static enum wi_state step(struct wi_op *op, struct wi_chunk *out)
{
    struct scan *s = (struct scan *)op;
    *out = (struct wi_chunk){0};
    if (s->failed) {
        return WI_FAILED;
    }
    if (s->done) {
        return WI_DONE;
    }
    if (s->at == s->batch.length) {
        enum wi_state state = next_batch(s);
        if (state != WI_MOVED || s->batch.length == 0) {
            return state;
        }
    }
    int64_t left = s->batch.length - s->at;
    uint32_t n = left < WI_CHUNK_ROWS ? (uint32_t)left : WI_CHUNK_ROWS;
    wi_arrow_in_slice(s->in, &s->batch, s->at, n, out);
    s->at += n;
    return WI_MOVED;
}

static void close_scan(struct wi_op *op)
{
    struct scan *s = (struct scan *)op;
    drop_batch(s);
    if (s->part != NULL) {
        s->p->table->ops.close(s->part);
    }
    wi_arrow_in_close(s->in);
    free(s);
}

static const struct wi_op_ops ops = {
    .name = "scan", .step = step, .stop = stop, .close = close_scan};

static weir_err open_plain(struct wi_ctx *ctx, const struct wi_scan_params *p,
                           struct wi_op **out)
{
    const struct weir_table_part part = {.part = ctx->part,
                                         .n_parts = ctx->n_parts,
                                         .worker = ctx->worker,
                                         .n_workers = ctx->workers,
                                         .columns = p->table_cols,
                                         .n_columns = p->columns->n};
    struct scan *s = wi_op_new(ctx, &ops, sizeof(*s), NULL);
    if (s == NULL) {
        return ctx->err.code;
    }
    s->p = p;
    weir_err rc = wi_arrow_in_open(p->columns, &s->op.mem, &s->in, &ctx->err);
    if (rc == WEIR_OK) {
        rc = p->table->ops.open(p->table->arg, &part, &s->part, &ctx->err);
    }
    if (rc != WEIR_OK) {
        ctx->err.code = rc;
        close_scan(&s->op);
        return rc;
    }
    *out = &s->op;
    return WEIR_OK;
}

weir_err wi_scan_open(struct wi_ctx *ctx, const struct wi_scan_params *p,
                      struct wi_op **out)
{
    struct wi_kept *kept = p->table->kept;
    struct wi_kept_part *part =
        kept == NULL ? NULL : wi_kept_part(kept, ctx->part);
    struct wi_op *plain = NULL;
    if (part != NULL &&
        wi_kept_has(part, ctx->n_parts, p->table_cols, p->columns->n)) {
        return wi_kept_scan_open(ctx, p, part, NULL, out);
    }
    weir_err rc = open_plain(ctx, p, &plain);
    if (rc != WEIR_OK || part == NULL || part->state == WI_KEPT_FILLING ||
        part->n_readers > 0) {
        *out = plain;
        return rc;
    }
    rc =
        wi_kept_begin(part, ctx->n_parts, p->table_cols, p->columns, &ctx->err);
    if (rc != WEIR_OK) {
        wi_op_close(plain);
        return rc;
    }
    return wi_kept_scan_open(ctx, p, part, plain, out);
}
