/* SPDX-License-Identifier: Apache-2.0 */
/* Hash join. Where each left row matches at most once, left chunks are passed
 * on without a copy, with a selection. Otherwise pairs of rows are gathered, at
 * most a chunk of them per step; the next step goes on where they ended.
 *
 * With a condition, each left chunk is paired; the pairs that fail it are
 * dropped, and once all were looked at, REST gives out the left rows that the
 * kind of the join makes of those with and without a match. */
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/op/join_filter.h"
#include "operators/op/join_table.h"

enum phase { TAKE_RIGHT, BUILD, TELL, LOOK_UP, PAIRS, REST, ENDED };

/* Left rows before a join that tries first makes up its mind. */
enum { TRIAL_ROWS = 8192 };

struct join {
    struct wi_op op; /* first */
    const struct wi_join_params *p;
    enum phase phase;
    struct wi_join_table table;
    struct wi_join_filter *filter; /* being made, or NULL */
    weir_reader *aim[WI_JOIN_TARGETS];
    uint32_t told;       /* targets that know, or will not */
    uint64_t n_tried;    /* left rows, if it tries first */
    uint64_t n_matching; /* of these */
    uint32_t n_left;
    struct wi_chunk left;
    struct wi_vec *left_vecs;  /* [n_left] of PAIRS; NULL until needed */
    struct wi_vec *right_vecs; /* [n_right_out] */
    struct wi_vec *cols;       /* what is given out */
    /* PAIRS: the left row under way, and its next match if begun */
    uint32_t row;
    uint32_t match;
    bool begun;
    uint32_t head[WI_CHUNK_ROWS];
    uint32_t pos[WI_CHUNK_ROWS];
    uint32_t right[WI_CHUNK_ROWS];
    /* of a condition */
    struct wi_eval *where;            /* NULL: there is none */
    uint32_t left_row[WI_CHUNK_ROWS]; /* of each pair */
    uint32_t passed[WI_CHUNK_ROWS];   /* pairs that fulfil it */
    uint8_t has_match[WI_CHUNK_ROWS]; /* of each left row */
};

static enum wi_state end(struct join *j)
{
    j->phase = ENDED;
    wi_join_table_fini(&j->table);
    return WI_DONE;
}

/* ---- right --------------------------------------------------------------- */

static enum wi_state take_right(struct join *j)
{
    struct wi_chunk chunk = {0};
    enum wi_state state = wi_op_step(j->op.input[1], &chunk);
    if (state == WI_DONE) {
        j->phase = BUILD;
        return WI_MOVED;
    }
    if (state != WI_MOVED || chunk.n == 0) {
        return state;
    }
    weir_err code = wi_join_table_add(&j->table, &chunk, &j->op.ctx->err);
    return code == WEIR_OK ? WI_MOVED : wi_op_failed(&j->op);
}

static enum wi_state build(struct join *j)
{
    weir_err code = wi_join_table_build(&j->table, &j->op.ctx->err);
    if (code != WEIR_OK) {
        return wi_op_failed(&j->op);
    }
    if (j->table.n_built < j->table.store.n) {
        return WI_MOVED;
    }
    bool needs_match =
        j->p->kind == WEIR_JOIN_INNER || j->p->kind == WEIR_JOIN_SEMI;
    if (j->table.store.n == 0 && needs_match) {
        wi_op_stop(j->op.input[0]);
        return end(j);
    }
    j->phase = j->p->tries_first ? LOOK_UP : TELL;
    return WI_MOVED;
}

/* The senders of a shuffle below learn which keys there are. */
static void tell_one(struct join *j)
{
    weir_reader *reader = j->aim[j->told];
    if (j->filter == NULL && reader != NULL) {
        j->filter =
            wi_join_filter_open(&j->table, &j->p->target[j->told], reader);
    }
    if (j->filter == NULL || wi_join_filter_step(j->filter)) {
        wi_join_filter_close(j->filter);
        j->filter = NULL;
        j->told++;
    }
}

static enum wi_state tell(struct join *j)
{
    if (j->told < j->p->n_targets) {
        tell_one(j);
    } else {
        j->phase = LOOK_UP;
    }
    return WI_MOVED;
}

void wi_join_aim(struct wi_op *op, uint32_t i, const struct wi_op *receive)
{
    ((struct join *)op)->aim[i] = wi_receive_reader(receive);
}

bool wi_join_is_building(const struct wi_op *op)
{
    return op->stats.state != WI_DONE && op->stats.state != WI_FAILED &&
           ((const struct join *)op)->phase < LOOK_UP;
}

/* ---- each left row once at most ------------------------------------------ */

/* Positions of the left rows that have a match, and the matches; or positions
 * of the left rows that have none. */
static uint32_t select_rows(struct join *j, bool matched)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->left.n; i++) {
        uint32_t head = j->head[i];
        j->pos[n] = wi_chunk_pos(&j->left, i);
        j->right[n] = head;
        n += (head != WI_NOWHERE) == matched;
    }
    return n;
}

static void give_left(struct join *j, struct wi_chunk *out)
{
    memcpy(j->cols, j->left.col, j->n_left * sizeof(*j->cols));
    *out = j->left;
    out->col = j->cols;
    out->n_cols = j->p->columns->n;
    if (j->p->kind == WEIR_JOIN_LEFT) {
        return;
    }
    uint32_t n = select_rows(j, j->p->kind != WEIR_JOIN_ANTI);
    if (n < j->left.n) {
        out->n = n;
        out->sel = j->pos;
    }
}

static void give_right(struct join *j, const uint32_t *rows,
                       struct wi_chunk *out)
{
    for (uint32_t c = 0; out->n > 0 && c < j->p->n_right_out; c++) {
        struct wi_vec *vec = &j->cols[j->n_left + c];
        *vec = j->right_vecs[c];
        wi_store_gather_at(&j->table.store, j->p->n_keys + c, rows, out->n,
                           out->sel, vec);
    }
}

/* ---- any number of matches ----------------------------------------------- */

/* The next pairs of a left position and a right row (WI_NOWHERE for a left row
 * without one). Returns how many; j->row is left.n at the end. */
static uint32_t next_pairs(struct join *j)
{
    const uint32_t *next = j->table.next;
    uint32_t n = 0;
    while (j->row < j->left.n && n < WI_CHUNK_ROWS) {
        uint32_t pos = wi_chunk_pos(&j->left, j->row);
        uint32_t match = j->begun ? j->match : j->head[j->row];
        if (match == WI_NOWHERE && j->p->kind == WEIR_JOIN_LEFT &&
            j->where == NULL) {
            j->pos[n] = pos;
            j->right[n++] = WI_NOWHERE;
        }
        while (match != WI_NOWHERE && n < WI_CHUNK_ROWS) {
            j->pos[n] = pos;
            j->left_row[n] = j->row;
            j->right[n++] = match;
            match = next == NULL ? WI_NOWHERE : next[match];
        }
        j->match = match;
        j->begun = match != WI_NOWHERE;
        j->row += !j->begun;
    }
    return n;
}

static bool is_for_left_rows(const struct join *j)
{
    return j->p->kind == WEIR_JOIN_SEMI || j->p->kind == WEIR_JOIN_ANTI;
}

/* Semi and anti joins give out no pairs: only the condition reads them. */
static bool needs_left(const struct join *j, uint32_t c)
{
    return !is_for_left_rows(j) || wi_expr_reads(j->p->where, c);
}

/* Drop the pairs that do not fulfil the condition. */
static bool judge(struct join *j, struct wi_chunk *out)
{
    uint32_t n = 0;
    if (wi_eval_select(j->where, out, j->passed, &n, &j->op.ctx->err) !=
        WEIR_OK) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        j->has_match[j->left_row[j->passed[i]]] = 1;
    }
    out->n = is_for_left_rows(j) ? 0 : n;
    out->sel = j->passed;
    out->n_cols = j->p->columns->n;
    return true;
}

/* The left rows of SEMI with a match, of ANTI and LEFT those without one. */
static enum wi_state give_rest(struct join *j, struct wi_chunk *out)
{
    const uint8_t wanted = j->p->kind == WEIR_JOIN_SEMI;
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->left.n; i++) {
        j->pos[n] = wi_chunk_pos(&j->left, i);
        j->right[n] = WI_NOWHERE;
        n += j->has_match[i] == wanted;
    }
    memcpy(j->cols, j->left.col, j->n_left * sizeof(*j->cols));
    *out = (struct wi_chunk){n, j->p->columns->n, j->pos, j->cols};
    if (!is_for_left_rows(j)) {
        give_right(j, j->right, out);
    }
    j->phase = LOOK_UP;
    return WI_MOVED;
}

static enum wi_state give_pairs(struct join *j, struct wi_chunk *out)
{
    uint32_t n = next_pairs(j);
    *out = (struct wi_chunk){n, j->n_left + j->p->n_right_out, NULL, j->cols};
    for (uint32_t c = 0; n > 0 && c < j->n_left; c++) {
        const struct wi_vec *from = &j->left.col[c];
        if (!needs_left(j, c)) {
            continue;
        }
        j->cols[c] = j->left_vecs[c];
        wi_vec_gather(from, j->pos, n, &j->cols[c]);
        if (from->null == NULL) {
            j->cols[c].null = NULL;
        }
    }
    give_right(j, j->right, out);
    if (j->where != NULL && n > 0 && !judge(j, out)) {
        return wi_op_failed(&j->op);
    }
    if (j->row == j->left.n) {
        bool rest = j->where != NULL && j->p->kind != WEIR_JOIN_INNER;
        j->phase = rest ? REST : LOOK_UP;
    }
    return WI_MOVED;
}

/* ---- operator ------------------------------------------------------------ */

static bool is_trying(const struct join *j)
{
    return j->p->tries_first && j->told < j->p->n_targets;
}

static void count_matches(struct join *j)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->left.n; i++) {
        n += j->head[i] != WI_NOWHERE;
    }
    j->n_tried += j->left.n;
    j->n_matching += n;
}

/* Where the plan does not say that rows will be useless, the first ones show
 * it. A key costs about as much in a filter as a row does here, so there have
 * to be as many rows. */
static bool is_time_to_tell(const struct join *j)
{
    return is_trying(j) && j->n_tried >= TRIAL_ROWS &&
           j->n_tried >= j->table.store.n && j->n_matching < j->n_tried / 2;
}

static enum wi_state look_up(struct join *j, struct wi_chunk *out)
{
    if (is_time_to_tell(j)) {
        j->phase = TELL;
        return WI_MOVED;
    }
    enum wi_state state = wi_op_step(j->op.input[0], &j->left);
    if (state == WI_DONE) {
        return end(j);
    }
    if (state != WI_MOVED || j->left.n == 0) {
        return state;
    }
    wi_join_table_find(&j->table, &j->left, j->head);
    if (is_trying(j)) {
        count_matches(j);
    }
    if (j->table.next == NULL && j->where == NULL) {
        give_left(j, out);
        give_right(j, j->p->kind == WEIR_JOIN_LEFT ? j->head : j->right, out);
        return WI_MOVED;
    }
    if (j->left_vecs == NULL &&
        wi_vecs_open(j->p->left, &j->op.mem, &j->left_vecs, &j->op.ctx->err) !=
            WEIR_OK) {
        return wi_op_failed(&j->op);
    }
    if (j->where != NULL) {
        memset(j->has_match, 0, j->left.n);
    }
    j->phase = PAIRS;
    j->row = 0;
    j->begun = false;
    return give_pairs(j, out);
}

static enum wi_state step_join(struct wi_op *op, struct wi_chunk *out)
{
    struct join *j = (struct join *)op;
    switch (j->phase) {
    case TAKE_RIGHT:
        return take_right(j);
    case BUILD:
        return build(j);
    case TELL:
        return tell(j);
    case LOOK_UP:
        return look_up(j, out);
    case PAIRS:
        return give_pairs(j, out);
    case REST:
        return give_rest(j, out);
    case ENDED:
        break;
    }
    return WI_DONE;
}

static void close_join(struct wi_op *op)
{
    struct join *j = (struct join *)op;
    wi_join_filter_close(j->filter);
    wi_join_table_fini(&j->table);
    wi_eval_close(j->where);
    wi_vecs_close(j->left_vecs, j->n_left, &op->mem);
    wi_vecs_close(j->right_vecs, j->p->n_right_out, &op->mem);
    free(j->cols);
    free(j);
}

static const struct wi_op_ops join_ops = {
    .name = "join",
    .step = step_join,
    .stop = wi_op_ignore_stop,
    .close = close_join,
};

static weir_err open_parts(struct join *j, struct weir_error *err)
{
    const struct wi_join_params *p = j->p;
    const struct wi_columns *all = p->where != NULL ? p->pairs : p->columns;
    j->cols = calloc(all->n + 1, sizeof(*j->cols));
    if (j->cols == NULL) {
        return wi_exec_no_memory(err, all->n * sizeof(*j->cols));
    }
    struct wi_columns right = {all->at + j->n_left, p->n_right_out};
    weir_err code = wi_vecs_open(&right, &j->op.mem, &j->right_vecs, err);
    if (code == WEIR_OK && p->where != NULL) {
        code = wi_eval_open(p->where, &j->op.mem, &j->where, err);
    }
    if (code != WEIR_OK) {
        return code;
    }
    return wi_join_table_init(&j->table, p, &j->op.mem, err);
}

weir_err wi_join_open(struct wi_ctx *ctx, const struct wi_join_params *p,
                      struct wi_op *left, struct wi_op *right,
                      struct wi_op **out)
{
    struct join *j = wi_op_new(ctx, &join_ops, sizeof(*j), left);
    if (j == NULL) {
        wi_op_close(right);
        return ctx->err.code;
    }
    j->op.input[1] = right;
    j->p = p;
    j->n_left = p->left->n;
    weir_err code = open_parts(j, &ctx->err);
    return wi_op_opened(&j->op, code, out);
}
