/* SPDX-License-Identifier: Apache-2.0 */
/* Hash aggregate. A partial one that has many groups gives them out and starts
 * again: its table stays in the caches, and rows that share few groups pass
 * through without filling the memory. It also does so before a sum could be
 * larger than its state. */
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/op/agg_value.h"
#include "operators/op/groups.h"

enum {
    PARTIAL_GROUPS = 1 << 16, /* a partial aggregate with more gives out, */
    PARTIAL_SHARE = 4,        /* and one with over 1/4 of the memory */
};

enum phase { TAKE, GIVE, ENDED };

struct agg {
    struct wi_op op; /* first */
    const struct wi_agg_params *p;
    enum phase phase;
    bool input_done;
    uint64_t taken; /* rows, since taking began */
    struct wi_groups groups;
    uint64_t given;        /* groups, since giving began */
    struct wi_cell *cells; /* [n_cells] by aggregate */
    uint32_t n_cells;
    struct wi_vec *vecs; /* of the columns that are not groups */
    struct wi_vec *cols; /* what is given out */
    uint32_t group[WI_CHUNK_ROWS];
};

static uint64_t n_groups(const struct agg *a)
{
    return a->p->n_groups == 0 ? 1 : a->groups.store.n;
}

/* Columns that are not groups. */
static uint32_t n_values(const struct agg *a)
{
    return a->p->columns->n - a->p->n_groups;
}

/* ---- take ---------------------------------------------------------------- */

static weir_err reserve(struct agg *a, struct weir_error *err)
{
    weir_err code = WEIR_OK;
    for (uint32_t i = 0; i < a->n_cells && code == WEIR_OK; i++) {
        code = wi_cell_reserve(&a->cells[i], n_groups(a), err);
    }
    return code;
}

static weir_err take_chunk(struct agg *a, const struct wi_chunk *chunk,
                           struct weir_error *err)
{
    weir_err code = WEIR_OK;
    if (a->p->n_groups > 0) {
        code = wi_groups_find(&a->groups, chunk, a->group, err);
    }
    if (code == WEIR_OK) {
        code = reserve(a, err);
    }
    for (uint32_t i = 0; i < a->n_cells && code == WEIR_OK; i++) {
        code = wi_cell_update(&a->cells[i], chunk, a->group, err);
    }
    a->taken += chunk->n;
    return code;
}

static bool too_much_memory(const struct agg *a)
{
    uint64_t limit = a->op.ctx->mem.limit_bytes;
    return limit > 0 && a->op.mem.held_bytes > limit / PARTIAL_SHARE;
}

static bool is_full(const struct agg *a)
{
    if (a->p->mode != WEIR_AGGREGATE_PARTIAL) {
        return false;
    }
    return (a->p->state_rows > 0 && a->taken >= a->p->state_rows) ||
           (a->p->n_groups > 0 &&
            (n_groups(a) > PARTIAL_GROUPS || too_much_memory(a)));
}

static enum wi_state take(struct agg *a)
{
    struct wi_chunk chunk = {0};
    enum wi_state state = wi_op_step(a->op.input[0], &chunk);
    if (state == WI_DONE) {
        a->input_done = true;
        a->phase = GIVE;
        return WI_MOVED;
    }
    if (state != WI_MOVED || chunk.n == 0) {
        return state;
    }
    if (take_chunk(a, &chunk, &a->op.ctx->err) != WEIR_OK) {
        return wi_op_failed(&a->op);
    }
    if (is_full(a)) {
        a->phase = GIVE;
    }
    return WI_MOVED;
}

/* ---- give ---------------------------------------------------------------- */

/* The columns of a state: see wi_agg_state. */
static weir_err give_state(struct agg *a, const struct wi_agg *agg,
                           const struct wi_cell *cell, struct wi_agg_give *give,
                           struct wi_vec *vec)
{
    struct weir_error *err = &a->op.ctx->err;
    struct wi_agg_state state[WI_AGG_STATES];
    const uint32_t n = wi_agg_state(agg->fn, &agg->type, state);
    const uint32_t of_sum = agg->fn == WI_AGG_AVG ? n - 1 : n;
    weir_err code = WEIR_OK;
    if (of_sum == 2) {
        wi_agg_give_long(&cell[0], give, vec);
    } else {
        code = wi_agg_give_cell(&cell[0], give, vec, err);
    }
    if (code == WEIR_OK && n > of_sum) {
        code = wi_agg_give_cell(&cell[1], give, &vec[of_sum], err);
    }
    give->column += n;
    return code;
}

static weir_err give_value(struct agg *a, const struct wi_agg *agg,
                           const struct wi_cell *cell, struct wi_agg_give *give,
                           struct wi_vec *vec)
{
    struct weir_error *err = &a->op.ctx->err;
    weir_err code = agg->fn == WI_AGG_AVG
                        ? wi_agg_give_avg(cell, agg->type.scale, give, vec, err)
                        : wi_agg_give_cell(cell, give, vec, err);
    give->column++;
    return code;
}

static weir_err give_aggs(struct agg *a, uint64_t first, uint32_t n)
{
    const struct wi_agg_params *p = a->p;
    const struct wi_cell *cell = a->cells;
    struct wi_agg_give give = {first, n, &p->columns->at[p->n_groups]};
    for (uint32_t i = 0; i < p->n_aggs; i++) {
        struct wi_vec *vec = &a->cols[give.column - p->columns->at];
        weir_err code = p->mode == WEIR_AGGREGATE_PARTIAL
                            ? give_state(a, &p->aggs[i], cell, &give, vec)
                            : give_value(a, &p->aggs[i], cell, &give, vec);
        if (code != WEIR_OK) {
            return code;
        }
        cell += p->aggs[i].fn == WI_AGG_AVG ? 2 : 1;
    }
    return WEIR_OK;
}

static void start_again(struct agg *a)
{
    bool free_memory = too_much_memory(a);
    wi_groups_clear(&a->groups, free_memory);
    for (uint32_t i = 0; i < a->n_cells; i++) {
        wi_cell_clear(&a->cells[i], free_memory);
    }
    a->given = 0;
    a->taken = 0;
    a->phase = TAKE;
}

static void drop_groups(struct agg *a)
{
    for (uint32_t i = 0; i < a->n_cells; i++) {
        wi_cell_fini(&a->cells[i]);
    }
    wi_groups_fini(&a->groups);
}

static enum wi_state give(struct agg *a, struct wi_chunk *out)
{
    uint64_t left = n_groups(a) - a->given;
    uint32_t n = left < WI_CHUNK_ROWS ? (uint32_t)left : WI_CHUNK_ROWS;
    if (n == 0 && !a->input_done) {
        start_again(a);
        return WI_MOVED;
    }
    if (n == 0) {
        a->phase = ENDED;
        drop_groups(a);
        return WI_DONE;
    }
    memcpy(&a->cols[a->p->n_groups], a->vecs, n_values(a) * sizeof(*a->cols));
    if (a->p->n_groups > 0) {
        wi_store_slice(&a->groups.store, a->given, n, a->cols, out);
    }
    if (give_aggs(a, a->given, n) != WEIR_OK) {
        return wi_op_failed(&a->op);
    }
    *out = (struct wi_chunk){n, a->p->columns->n, NULL, a->cols};
    a->given += n;
    return WI_MOVED;
}

/* ---- operator ------------------------------------------------------------ */

static enum wi_state step_agg(struct wi_op *op, struct wi_chunk *out)
{
    struct agg *a = (struct agg *)op;
    switch (a->phase) {
    case TAKE:
        return take(a);
    case GIVE:
        return give(a, out);
    case ENDED:
        break;
    }
    return WI_DONE;
}

static void close_agg(struct wi_op *op)
{
    struct agg *a = (struct agg *)op;
    drop_groups(a);
    wi_vecs_close(a->vecs, n_values(a), &op->mem);
    free(a->cells);
    free(a->cols);
    free(a);
}

static const struct wi_op_ops agg_ops = {
    .name = "aggregate",
    .step = step_agg,
    .stop = wi_op_ignore_stop,
    .close = close_agg,
};

/* ---- open ---------------------------------------------------------------- */

static void add_cell(struct agg *a, enum wi_cell_kind kind, enum wi_rep rep,
                     uint32_t col)
{
    a->cells[a->n_cells++] = (struct wi_cell){
        .kind = kind,
        .rep = rep,
        .col = col,
        .mem = &a->op.mem,
        .text = {.mem = &a->op.mem},
    };
}

/* Of rows, or in FINAL of the columns of states. */
static void add_sum(struct agg *a, const struct wi_agg *agg)
{
    struct wi_agg_state state[WI_AGG_STATES];
    const uint32_t n = wi_agg_state(agg->fn, &agg->type, state);
    const bool avg = agg->fn == WI_AGG_AVG;
    if (a->p->mode != WEIR_AGGREGATE_FINAL) {
        add_cell(a, WI_CELL_SUM, wi_type_rep(&agg->type), agg->col);
        if (avg) {
            add_cell(a, WI_CELL_COUNT, WI_I64, agg->col);
        }
        return;
    }
    add_cell(a, WI_CELL_SUM, wi_type_rep(&state[0].type), agg->col);
    a->cells[a->n_cells - 1].has_high = n - avg == 2;
    if (avg) {
        add_cell(a, WI_CELL_ADD, WI_I64, agg->col + n - 1);
    }
}

static void add_cells(struct agg *a, const struct wi_agg *agg)
{
    const bool final = a->p->mode == WEIR_AGGREGATE_FINAL;
    switch (agg->fn) {
    case WI_AGG_COUNT_ROWS:
        add_cell(a, final ? WI_CELL_ADD : WI_CELL_ROWS, WI_I64, agg->col);
        break;
    case WI_AGG_COUNT:
        add_cell(a, final ? WI_CELL_ADD : WI_CELL_COUNT, WI_I64, agg->col);
        break;
    case WI_AGG_SUM:
    case WI_AGG_AVG:
        add_sum(a, agg);
        break;
    case WI_AGG_MIN:
    case WI_AGG_MAX:
        add_cell(a, agg->fn == WI_AGG_MIN ? WI_CELL_LEAST : WI_CELL_MOST,
                 wi_type_rep(&agg->type), agg->col);
        break;
    }
}

static weir_err open_parts(struct agg *a, struct weir_error *err)
{
    const struct wi_agg_params *p = a->p;
    a->cells = calloc(2 * (size_t)p->n_aggs + 1, sizeof(*a->cells));
    a->cols = calloc(p->columns->n + 1, sizeof(*a->cols));
    if (a->cells == NULL || a->cols == NULL) {
        return wi_exec_no_memory(err, 2 * p->n_aggs * sizeof(*a->cells));
    }
    const struct wi_columns values = {p->columns->at + p->n_groups,
                                      n_values(a)};
    weir_err code = wi_vecs_open(&values, &a->op.mem, &a->vecs, err);
    for (uint32_t i = 0; i < p->n_aggs; i++) {
        add_cells(a, &p->aggs[i]);
    }
    if (code == WEIR_OK && p->n_groups > 0) {
        return wi_groups_init(&a->groups, p->in, p->groups, p->n_groups,
                              &a->op.mem, err);
    }
    return code == WEIR_OK ? reserve(a, err) : code;
}

weir_err wi_agg_open(struct wi_ctx *ctx, const struct wi_agg_params *p,
                     struct wi_op *input, struct wi_op **out)
{
    struct agg *a = wi_op_new(ctx, &agg_ops, sizeof(*a), input);
    if (a == NULL) {
        return ctx->err.code;
    }
    a->p = p;
    weir_err code = open_parts(a, &ctx->err);
    return wi_op_opened(&a->op, code, out);
}
