/* SPDX-License-Identifier: Apache-2.0 */
/* Slots, and which function computes a node. */
#include "operators/expr/eval.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/expr/like.h"
#include "operators/expr/set.h"

static const size_t sel_bytes = WI_CHUNK_ROWS * sizeof(uint32_t);

/* ---- slots --------------------------------------------------------------- */

static uint32_t count_sels(const struct wi_node *node)
{
    switch (node->op) {
    case WI_OP_CASE:
    case WI_OP_COALESCE:
        return 2;
    case WI_OP_AND:
    case WI_OP_OR:
        return 1;
    default:
        return 0;
    }
}

static bool has_values(const struct wi_node *node)
{
    if (node->op == WI_OP_CAST) {
        return !wi_cast_is_free(&node->arg[0]->type, &node->type);
    }
    return node->op != WI_OP_COLUMN && node->op != WI_OP_WITH;
}

static weir_err open_slot(struct wi_eval *e, const struct wi_node *node,
                          struct weir_error *err)
{
    struct wi_slot *slot = &e->slots[node->slot];
    weir_err code = WEIR_OK;
    if (has_values(node)) {
        code = wi_vec_init(&slot->own, wi_type_rep(&node->type), e->mem, err);
    }
    if (code == WEIR_OK && wi_node_is_const(node)) {
        slot->now = slot->own;
        wi_value_fill(&node->value, &slot->now, WI_CHUNK_ROWS);
    }
    for (uint32_t i = 0; code == WEIR_OK && i < count_sels(node); i++) {
        void *at = NULL;
        code = wi_mem_take(e->mem, sel_bytes, &at, err);
        slot->sel[i] = at;
    }
    return code;
}

static weir_err open_slots(struct wi_eval *e, const struct wi_node *node,
                           struct weir_error *err)
{
    if (node->op == WI_OP_REF) {
        return WEIR_OK;
    }
    weir_err code = open_slot(e, node, err);
    for (uint32_t i = 0; code == WEIR_OK && i < node->n_args; i++) {
        code = open_slots(e, node->arg[i], err);
    }
    return code;
}

weir_err wi_eval_open(const struct wi_expr *expr, struct wi_op_mem *mem,
                      struct wi_eval **out, struct weir_error *err)
{
    struct wi_eval *e = calloc(1, sizeof(*e));
    struct wi_slot *slots = calloc(expr->n_slots, sizeof(*slots));
    if (e == NULL || slots == NULL) {
        free(e);
        free(slots);
        return wi_exec_no_memory(err, expr->n_slots * sizeof(*slots));
    }
    e->expr = expr;
    e->mem = mem;
    e->slots = slots;
    weir_err code = open_slots(e, expr->root, err);
    if (code != WEIR_OK) {
        wi_eval_close(e);
        return code;
    }
    *out = e;
    return WEIR_OK;
}

void wi_eval_close(struct wi_eval *eval)
{
    if (eval == NULL) {
        return;
    }
    for (uint32_t i = 0; i < eval->expr->n_slots; i++) {
        struct wi_slot *slot = &eval->slots[i];
        wi_vec_fini(&slot->own, eval->mem);
        wi_mem_put(eval->mem, slot->sel[0], sel_bytes);
        wi_mem_put(eval->mem, slot->sel[1], sel_bytes);
    }
    wi_eval_text_fini(eval);
    free(eval->slots);
    free(eval);
}

/* ---- one node ------------------------------------------------------------ */

/* Null where x or y is; `own` is used only if both have nulls. */
static uint8_t *join_nulls(uint8_t *x, uint8_t *y, struct wi_sel_rows rows,
                           uint8_t *own)
{
    if (x == NULL || y == NULL) {
        return x == NULL ? y : x;
    }
    WI_EACH(rows, own[p] = x[p] | y[p];);
    return own;
}

/* Compute the arguments; the result is null where one of them is. */
static weir_err open_call(struct wi_call *c)
{
    struct wi_slot *slot = &c->eval->slots[c->node->slot];
    uint8_t *null = NULL;
    for (uint32_t i = 0; i < c->node->n_args; i++) {
        weir_err code =
            wi_eval_node(c->eval, c->node->arg[i], c->rows, &c->arg[i]);
        if (code != WEIR_OK) {
            return code;
        }
        null = join_nulls(null, c->arg[i].null, c->rows, slot->own.null);
    }
    *c->out = slot->own;
    c->out->null = null;
    return WEIR_OK;
}

static weir_err run_in(struct wi_call *c)
{
    const struct wi_set *set = c->node->set;
    uint8_t *out = c->out->values;
    wi_set_look_up(set, &c->arg[0], c->rows, out);
    if (!wi_set_has_null(set)) {
        return WEIR_OK;
    }
    /* A value not in the list may equal the null: the result is null. */
    const uint8_t *null = c->out->null;
    uint8_t *own = c->eval->slots[c->node->slot].own.null;
    WI_EACH(c->rows, own[p] = (uint8_t)(wi_is_null(null, p) | !out[p]););
    c->out->null = own;
    return WEIR_OK;
}

static weir_err run_like(struct wi_call *c)
{
    uint8_t *out = c->out->values;
    wi_like_match(c->node->like, wi_vec_str(&c->arg[0]), c->rows, out);
    if (c->node->negated) {
        WI_EACH(c->rows, out[p] ^= 1;);
    }
    return WEIR_OK;
}

static weir_err run_not(struct wi_call *c)
{
    const uint8_t *x = wi_vec_bool(&c->arg[0]);
    uint8_t *out = c->out->values;
    WI_EACH(c->rows, out[p] = x[p] ^ 1;);
    return WEIR_OK;
}

static weir_err run_is_null(struct wi_call *c)
{
    const uint8_t *null = c->out->null;
    uint8_t *out = c->out->values;
    uint8_t negated = c->node->negated;
    if (null == NULL) {
        WI_EACH(c->rows, out[p] = negated;);
    } else {
        WI_EACH(c->rows, out[p] = null[p] ^ negated;);
    }
    c->out->null = NULL;
    return WEIR_OK;
}

static weir_err run_cast(struct wi_call *c)
{
    const struct wi_type *from = &c->node->arg[0]->type;
    const struct wi_type *to = &c->node->type;
    if (wi_cast_is_free(from, to)) {
        c->out->values = c->arg[0].values;
        c->out->rep = c->arg[0].rep;
        return WEIR_OK;
    }
    bool text = wi_type_rep(from) == WI_STR || wi_type_rep(to) == WI_STR;
    return text ? wi_kernel_cast_text(c) : wi_kernel_cast(c);
}

static weir_err run_call(struct wi_call *c)
{
    switch (c->node->op) {
    case WI_OP_CAST:
        return run_cast(c);
    case WI_OP_ADD:
    case WI_OP_SUB:
    case WI_OP_MUL:
    case WI_OP_DIV:
    case WI_OP_MOD:
        return wi_kernel_arith(c);
    case WI_OP_NEG:
    case WI_OP_ABS:
        return wi_kernel_sign(c);
    case WI_OP_NOT:
        return run_not(c);
    case WI_OP_IS_NULL:
        return run_is_null(c);
    case WI_OP_IN:
        return run_in(c);
    case WI_OP_LIKE:
        return run_like(c);
    case WI_OP_EXTRACT:
        return wi_kernel_extract(c);
    case WI_OP_EQ:
    case WI_OP_NE:
    case WI_OP_LT:
    case WI_OP_LE:
    case WI_OP_GT:
    case WI_OP_GE:
        wi_kernel_compare(c);
        return WEIR_OK;
    default:
        return wi_kernel_string(c);
    }
}

static weir_err eval_with(struct wi_eval *e, const struct wi_node *node,
                          struct wi_sel_rows rows, struct wi_vec *out)
{
    struct wi_vec *once = &e->slots[node->arg[0]->slot].now;
    weir_err code = wi_eval_node(e, node->arg[0], rows, once);
    return code != WEIR_OK ? code : wi_eval_node(e, node->arg[1], rows, out);
}

weir_err wi_eval_node(struct wi_eval *e, const struct wi_node *node,
                      struct wi_sel_rows rows, struct wi_vec *out)
{
    switch (node->op) {
    case WI_OP_COLUMN:
        *out = e->chunk->col[node->column];
        return WEIR_OK;
    case WI_OP_CONST:
        *out = e->slots[node->slot].now;
        return WEIR_OK;
    case WI_OP_REF:
        *out = e->slots[node->arg[0]->slot].now;
        return WEIR_OK;
    case WI_OP_WITH:
        return eval_with(e, node, rows, out);
    case WI_OP_AND:
    case WI_OP_OR:
        return wi_eval_junction(e, node, rows, out);
    case WI_OP_CASE:
    case WI_OP_COALESCE:
        return wi_eval_choice(e, node, rows, out);
    default:
        break;
    }
    struct wi_call c = {.eval = e, .node = node, .rows = rows, .out = out};
    weir_err code = open_call(&c);
    return code != WEIR_OK ? code : run_call(&c);
}

/* ---- rows where it is true ----------------------------------------------- */

static weir_err true_of_all(struct wi_eval *e, const struct wi_node *node,
                            struct wi_sel_rows rows, uint32_t *to,
                            uint32_t *n_out)
{
    for (uint32_t i = 0; i < node->n_args && rows.n > 0; i++) {
        weir_err code = wi_eval_true(e, node->arg[i], rows, to, &rows.n);
        if (code != WEIR_OK) {
            return code;
        }
        rows.sel = to;
    }
    *n_out = rows.n;
    return WEIR_OK;
}

static uint32_t true_of_values(const struct wi_vec *vec,
                               struct wi_sel_rows rows, uint32_t *to)
{
    const uint8_t *value = wi_vec_bool(vec);
    const uint8_t *null = vec->null;
    uint32_t k = 0;
    if (null == NULL) {
        WI_EACH(rows, to[k] = p; k += value[p];);
    } else {
        WI_EACH(rows, to[k] = p; k += value[p] & (null[p] ^ 1););
    }
    return k;
}

static weir_err true_of_compare(struct wi_eval *e, const struct wi_node *node,
                                struct wi_sel_rows rows, uint32_t *to,
                                uint32_t *n_out)
{
    struct wi_vec out;
    struct wi_call c = {.eval = e, .node = node, .rows = rows, .out = &out};
    weir_err code = open_call(&c);
    if (code == WEIR_OK) {
        *n_out = wi_kernel_compare_select(&c, to);
    }
    return code;
}

weir_err wi_eval_true(struct wi_eval *e, const struct wi_node *node,
                      struct wi_sel_rows rows, uint32_t *to, uint32_t *n_out)
{
    if (node->op == WI_OP_AND) {
        return true_of_all(e, node, rows, to, n_out);
    }
    if (node->op >= WI_OP_EQ && node->op <= WI_OP_GE) {
        return true_of_compare(e, node, rows, to, n_out);
    }
    struct wi_vec out;
    if (node->op == WI_OP_WITH) {
        struct wi_vec *once = &e->slots[node->arg[0]->slot].now;
        weir_err code = wi_eval_node(e, node->arg[0], rows, once);
        return code != WEIR_OK ? code
                               : wi_eval_true(e, node->arg[1], rows, to, n_out);
    }
    weir_err code = wi_eval_node(e, node, rows, &out);
    if (code == WEIR_OK) {
        *n_out = true_of_values(&out, rows, to);
    }
    return code;
}

/* ---- a chunk ------------------------------------------------------------- */

static struct wi_sel_rows begin(struct wi_eval *eval,
                                const struct wi_chunk *chunk,
                                struct weir_error *err)
{
    eval->chunk = chunk;
    eval->err = err;
    wi_eval_text_reset(eval);
    return (struct wi_sel_rows){chunk->sel, chunk->n};
}

weir_err wi_eval_run(struct wi_eval *eval, const struct wi_chunk *chunk,
                     struct wi_vec *out, struct weir_error *err)
{
    struct wi_sel_rows rows = begin(eval, chunk, err);
    struct wi_vec result;
    weir_err code = wi_eval_node(eval, eval->expr->root, rows, &result);
    if (code == WEIR_OK) {
        *out = result;
    }
    return code;
}

weir_err wi_eval_select(struct wi_eval *eval, const struct wi_chunk *chunk,
                        uint32_t *sel_out, uint32_t *n_out,
                        struct weir_error *err)
{
    struct wi_sel_rows rows = begin(eval, chunk, err);
    return wi_eval_true(eval, eval->expr->root, rows, sel_out, n_out);
}
