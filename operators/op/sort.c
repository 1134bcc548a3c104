/* SPDX-License-Identifier: Apache-2.0 */
/* Sort and top-k. Whenever top-k has more than twice the rows that it needs, it
 * sorts them, keeps the first k, and from then on takes only rows that come
 * before the last of these. */
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/op/sort_rows.h"

enum phase { TAKE, ORDER, GIVE, ENDED };

struct sort {
    struct wi_op op; /* first */
    const struct wi_sort_params *p;
    enum phase phase;
    bool cut; /* the store begins with the first p->rows rows of a cut, in
                 order; rows that came later follow */
    uint64_t last_prefix; /* of the last row that the cut kept */
    struct wi_store store;
    struct wi_sorted sorted;
    uint64_t given; /* rows of sorted */
    struct wi_vec *vecs;
    struct wi_vec *cols;
    uint64_t prefix[WI_CHUNK_ROWS];
    uint32_t rows[WI_CHUNK_ROWS];
};

/* The next n sorted rows as a chunk. */
static void gather(struct sort *s, uint32_t n, struct wi_chunk *out)
{
    for (uint32_t i = 0; i < n; i++) {
        s->rows[i] = s->sorted.at[s->given + i].row;
    }
    for (uint32_t c = 0; c < s->store.n_cols; c++) {
        s->cols[c] = s->vecs[c];
        wi_store_gather(&s->store, c, s->rows, n, &s->cols[c]);
    }
    *out = (struct wi_chunk){n, s->store.n_cols, NULL, s->cols};
    s->given += n;
}

static uint32_t next_rows(const struct sort *s)
{
    uint64_t end = s->sorted.n;
    if (s->p->rows > 0 && s->p->rows < end) {
        end = s->p->rows;
    }
    uint64_t left = end - s->given;
    return left < WI_CHUNK_ROWS ? (uint32_t)left : WI_CHUNK_ROWS;
}

/* ---- top-k --------------------------------------------------------------- */

static bool is_full(const struct sort *s)
{
    return s->p->rows > 0 && s->store.n > WI_CHUNK_ROWS &&
           (s->store.n - WI_CHUNK_ROWS) / 2 >= s->p->rows;
}

/* Keep the first p->rows rows, in order. */
static weir_err cut(struct sort *s, struct weir_error *err)
{
    struct wi_store kept;
    weir_err code =
        wi_sorted_init(&s->sorted, &s->store, s->p->keys, s->p->n_keys, err);
    if (code != WEIR_OK) {
        return code;
    }
    code = wi_store_init(&kept, s->p->columns, &s->op.mem, err);
    s->given = 0;
    for (uint32_t n = next_rows(s); code == WEIR_OK && n > 0;
         n = next_rows(s)) {
        struct wi_chunk chunk;
        gather(s, n, &chunk);
        code = wi_store_append(&kept, &chunk, err);
    }
    if (code != WEIR_OK) {
        wi_store_fini(&kept);
        return code;
    }
    s->last_prefix = s->sorted.at[s->given - 1].prefix;
    s->given = 0;
    wi_sorted_fini(&s->sorted);
    wi_store_fini(&s->store);
    s->store = kept;
    s->cut = true;
    return WEIR_OK;
}

/* Leave out rows that do not come before the last of the first p->rows. */
static void select_rows(struct sort *s, struct wi_chunk *chunk)
{
    uint32_t last = (uint32_t)s->p->rows - 1;
    uint32_t n = 0;
    wi_order_prefix(&s->p->keys[0], chunk, s->prefix);
    for (uint32_t i = 0; i < chunk->n; i++) {
        uint32_t pos = wi_chunk_pos(chunk, i);
        s->rows[n] = pos;
        if (s->prefix[i] != s->last_prefix) {
            n += s->prefix[i] < s->last_prefix;
        } else {
            n += wi_order_rows(s->p->keys, s->p->n_keys, chunk->col, pos,
                               s->store.col, last) < 0;
        }
    }
    chunk->n = n;
    chunk->sel = s->rows;
}

/* ---- phases -------------------------------------------------------------- */

static weir_err keep(struct sort *s, struct wi_chunk *chunk,
                     struct weir_error *err)
{
    if (s->cut) {
        select_rows(s, chunk);
    }
    if (chunk->n == 0) {
        return WEIR_OK;
    }
    weir_err code = wi_store_append(&s->store, chunk, err);
    return code == WEIR_OK && is_full(s) ? cut(s, err) : code;
}

static enum wi_state take(struct sort *s)
{
    struct wi_chunk chunk = {0};
    enum wi_state state = wi_op_step(s->op.input[0], &chunk);
    if (state == WI_DONE) {
        s->phase = s->store.n > 0 ? ORDER : ENDED;
        return WI_MOVED;
    }
    if (state != WI_MOVED || chunk.n == 0) {
        return state;
    }
    return keep(s, &chunk, &s->op.ctx->err) == WEIR_OK ? WI_MOVED
                                                       : wi_op_failed(&s->op);
}

static enum wi_state order(struct sort *s)
{
    if (wi_sorted_init(&s->sorted, &s->store, s->p->keys, s->p->n_keys,
                       &s->op.ctx->err) != WEIR_OK) {
        return wi_op_failed(&s->op);
    }
    s->phase = GIVE;
    return WI_MOVED;
}

static enum wi_state give(struct sort *s, struct wi_chunk *out)
{
    uint32_t n = next_rows(s);
    if (n == 0) {
        s->phase = ENDED;
        wi_sorted_fini(&s->sorted);
        wi_store_fini(&s->store);
        return WI_DONE;
    }
    gather(s, n, out);
    return WI_MOVED;
}

static enum wi_state step_sort(struct wi_op *op, struct wi_chunk *out)
{
    struct sort *s = (struct sort *)op;
    switch (s->phase) {
    case TAKE:
        return take(s);
    case ORDER:
        return order(s);
    case GIVE:
        return give(s, out);
    case ENDED:
        break;
    }
    return WI_DONE;
}

static void close_sort(struct wi_op *op)
{
    struct sort *s = (struct sort *)op;
    wi_sorted_fini(&s->sorted);
    wi_store_fini(&s->store);
    wi_vecs_close(s->vecs, s->p->columns->n, &op->mem);
    free(s->cols);
    free(s);
}

static const struct wi_op_ops sort_ops = {
    .name = "sort",
    .step = step_sort,
    .stop = wi_op_ignore_stop,
    .close = close_sort,
};

static weir_err open_parts(struct sort *s, struct weir_error *err)
{
    s->cols = calloc(s->p->columns->n + 1, sizeof(*s->cols));
    if (s->cols == NULL) {
        return wi_exec_no_memory(err, s->p->columns->n * sizeof(*s->cols));
    }
    weir_err code = wi_vecs_open(s->p->columns, &s->op.mem, &s->vecs, err);
    if (code != WEIR_OK) {
        return code;
    }
    return wi_store_init(&s->store, s->p->columns, &s->op.mem, err);
}

weir_err wi_sort_open(struct wi_ctx *ctx, const struct wi_sort_params *p,
                      struct wi_op *input, struct wi_op **out)
{
    struct sort *s = wi_op_new(ctx, &sort_ops, sizeof(*s), input);
    if (s == NULL) {
        return ctx->err.code;
    }
    s->p = p;
    weir_err code = open_parts(s, &ctx->err);
    return wi_op_opened(&s->op, code, out);
}
