/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write: the rows of each worker become a CSV file.
 *
 *   input --chunk--> text of each row --> buffer --> file
 *                                                      | the input has ended
 *                              one row: number, rows, bytes
 *
 * Whoever runs the plan decides where the files are, and what becomes of them
 * if the run fails: a worker cannot know that.
 */
#include <stdlib.h>
#include <unistd.h>

#include "operators/base/csv_out.h"
#include "operators/base/fail.h"
#include "operators/base/value_text.h"
#include "operators/op/ops.h"

struct write {
    struct wi_op op;
    const struct wi_write_params *p;
    struct wi_csv_out *out;
    struct wi_vec *vecs; /* of the row that is given out */
    struct wi_write_file file;
    uint64_t rows;
    bool opened;
    bool ended;
};

/* A file that cannot be written is no fault of the plan or of its data. */
static enum wi_state file_failed(struct write *w, const struct weir_error *said)
{
    (void)wi_exec_fail(&w->op.ctx->err, WEIR_ERR_ABORTED, "%s", said->message);
    return wi_op_failed(&w->op);
}

static enum wi_state open_file(struct write *w)
{
    struct weir_error said = {.message = "no file"};
    const struct wi_write_params *p = w->p;
    if (p->file(p->arg, w->op.ctx->part, &w->file, &said) != WEIR_OK) {
        return file_failed(w, &said);
    }
    w->opened = true;
    wi_csv_out_init(w->out, w->file.fd);
    for (uint32_t c = 0; c < p->in->n; c++) {
        wi_csv_out_field(w->out, p->header[c].data, p->header[c].n_bytes);
    }
    wi_csv_out_end(w->out);
    return WI_MOVED;
}

static void write_value(struct write *w, const struct wi_type *type,
                        const struct wi_vec *vec, uint32_t pos)
{
    char text[WI_VALUE_TEXT_BYTES];
    if (vec->null != NULL && vec->null[pos] != 0) {
        wi_csv_out_field(w->out, NULL, 0);
    } else if (vec->rep == WI_STR) {
        const struct wi_str s = wi_vec_str(vec)[pos];
        wi_csv_out_field(w->out, s.n_bytes == 0 ? "" : s.data, s.n_bytes);
    } else {
        const struct wi_value value = wi_value_at(vec, pos);
        wi_csv_out_field(w->out, text, wi_value_text(type, &value, text));
    }
}

static enum wi_state write_rows(struct write *w, const struct wi_chunk *in)
{
    for (uint32_t i = 0; i < in->n; i++) {
        for (uint32_t c = 0; c < in->n_cols; c++) {
            write_value(w, &w->p->in->at[c].type, &in->col[c],
                        wi_chunk_pos(in, i));
        }
        wi_csv_out_end(w->out);
    }
    w->rows += in->n;
    return wi_csv_out_failed(w->out) == 0 ? WI_MOVED : WI_DONE;
}

static enum wi_state end_file(struct write *w, struct wi_chunk *out)
{
    struct weir_error said;
    if (wi_csv_out_sync(w->out, w->file.name, &said) != WEIR_OK) {
        return file_failed(w, &said);
    }
    const int64_t row[WI_WRITE_COLUMNS] = {
        [WI_WRITE_PART] = w->op.ctx->part,
        [WI_WRITE_ROWS] = (int64_t)w->rows,
        [WI_WRITE_BYTES] = (int64_t)w->out->bytes,
    };
    for (uint32_t c = 0; c < WI_WRITE_COLUMNS; c++) {
        ((int64_t *)w->vecs[c].values)[0] = row[c];
    }
    *out =
        (struct wi_chunk){.n = 1, .n_cols = WI_WRITE_COLUMNS, .col = w->vecs};
    w->ended = true;
    return WI_MOVED;
}

static enum wi_state step(struct wi_op *op, struct wi_chunk *out)
{
    struct write *w = (struct write *)op;
    struct wi_chunk in;
    if (!w->opened) {
        return open_file(w);
    }
    if (w->ended) {
        return WI_DONE;
    }
    enum wi_state state = wi_op_step(op->input[0], &in);
    if (in.n > 0) {
        state = write_rows(w, &in);
    }
    return state == WI_DONE ? end_file(w, out) : state;
}

static void close_write(struct wi_op *op)
{
    struct write *w = (struct write *)op;
    if (w->opened) {
        (void)close(w->file.fd);
    }
    wi_vecs_close(w->vecs, WI_WRITE_COLUMNS, &op->mem);
    wi_mem_put(&op->mem, w->out, sizeof(*w->out));
    free(w);
}

static const struct wi_op_ops ops = {"write", step, wi_op_ignore_stop,
                                     close_write};

weir_err wi_write_open(struct wi_ctx *ctx, const struct wi_write_params *p,
                       struct wi_op *input, struct wi_op **out)
{
    struct write *w = wi_op_new(ctx, &ops, sizeof(*w), input);
    if (w == NULL) {
        return ctx->err.code;
    }
    void *buffer = NULL;
    w->p = p;
    weir_err rc = wi_mem_take(&w->op.mem, sizeof(*w->out), &buffer, &ctx->err);
    w->out = buffer;
    if (rc == WEIR_OK) {
        rc = wi_vecs_open(p->columns, &w->op.mem, &w->vecs, &ctx->err);
    }
    return wi_op_opened(&w->op, rc, out);
}
