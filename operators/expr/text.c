/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of computed strings, in blocks that are used again for the next chunk,
 * and messages about values. */
#include <stdio.h>
#include <string.h>

#include "operators/expr/eval.h"
#include "operators/expr/value.h"

enum { BLOCK_BYTES = 64 * 1024 };

struct wi_eval_text_block {
    struct wi_eval_text_block *next;
    size_t used;
    size_t room;
    char at[];
};

static weir_err add_block(struct wi_eval *e, size_t n_bytes)
{
    size_t room = n_bytes > BLOCK_BYTES ? n_bytes : BLOCK_BYTES;
    void *at = NULL;
    weir_err code = wi_mem_take(
        e->mem, sizeof(struct wi_eval_text_block) + room, &at, e->err);
    if (code != WEIR_OK) {
        return code;
    }
    struct wi_eval_text_block *block = at;
    *block = (struct wi_eval_text_block){.room = room};
    if (e->text.now == NULL) {
        block->next = e->text.first;
        e->text.first = block;
    } else {
        block->next = e->text.now->next;
        e->text.now->next = block;
    }
    e->text.now = block;
    return WEIR_OK;
}

weir_err wi_eval_text_take(struct wi_eval *e, uint64_t n_bytes, char **out)
{
    struct wi_eval_text_block *block = e->text.now;
    while (block != NULL && block->room - block->used < n_bytes) {
        block = block->next;
    }
    if (block != NULL) {
        e->text.now = block;
    } else {
        weir_err code = add_block(e, n_bytes);
        if (code != WEIR_OK) {
            return code;
        }
        block = e->text.now;
    }
    *out = block->at + block->used;
    block->used += n_bytes;
    return WEIR_OK;
}

void wi_eval_text_reset(struct wi_eval *e)
{
    for (struct wi_eval_text_block *b = e->text.first; b != NULL; b = b->next) {
        b->used = 0;
    }
    e->text.now = e->text.first;
}

void wi_eval_text_fini(struct wi_eval *e)
{
    for (struct wi_eval_text_block *b = e->text.first; b != NULL;) {
        struct wi_eval_text_block *next = b->next;
        wi_mem_put(e->mem, b, sizeof(*b) + b->room);
        b = next;
    }
}

/* ---- messages ------------------------------------------------------------ */

static bool is_zero(const struct wi_type *type, const struct wi_value *v)
{
    switch (wi_type_rep(type)) {
    case WI_I64:
        return v->i == 0;
    case WI_I128:
        return v->w == 0;
    default:
        return v->f == 0.0;
    }
}

static const char *reason(const struct wi_call *c, const struct wi_value *args,
                          char text[2 * WI_TYPE_TEXT_BYTES])
{
    char type[WI_TYPE_TEXT_BYTES];
    const struct wi_node *node = c->node;
    if ((node->op == WI_OP_DIV || node->op == WI_OP_MOD) &&
        is_zero(&node->arg[1]->type, &args[1])) {
        return "division by zero";
    }
    if (node->op == WI_OP_SUBSTRING) {
        return "a length of 0 or more was expected";
    }
    if (node->op == WI_OP_CONCAT) {
        return "strings have at most 4294967295 bytes";
    }
    if (node->op == WI_OP_CAST && node->arg[0]->type.kind == WI_TYPE_UTF8) {
        (void)snprintf(text, 2 * WI_TYPE_TEXT_BYTES,
                       "expected %s that fits the type",
                       wi_value_form(&node->type));
        return text;
    }
    if (node->op == WI_OP_CAST) {
        return "it does not fit";
    }
    (void)snprintf(text, 2 * WI_TYPE_TEXT_BYTES, "overflow of %s",
                   wi_expr_type_text(&node->type, type));
    return text;
}

weir_err wi_eval_blame(const struct wi_call *c, uint32_t pos)
{
    const struct wi_node *node = c->node;
    const struct wi_expr *expr = c->eval->expr;
    char text[3][WI_VALUE_TEXT_BYTES] = {"", "", ""};
    char why[2 * WI_TYPE_TEXT_BYTES];
    char what[4 * WI_VALUE_TEXT_BYTES];
    char type[WI_TYPE_TEXT_BYTES];
    struct wi_value args[3];
    const char *name = wi_expr_op_text(node->op);
    for (uint32_t i = 0; i < node->n_args; i++) {
        args[i] = wi_value_at(&c->arg[i], pos);
        (void)wi_value_show(&node->arg[i]->type, &args[i], text[i]);
    }
    if (node->op == WI_OP_CAST) {
        (void)snprintf(what, sizeof(what), "cast(%s as %s)", text[0],
                       wi_expr_type_text(&node->type, type));
    } else if (node->n_args == 2 && node->op != WI_OP_SUBSTRING) {
        (void)snprintf(what, sizeof(what), "%s %s %s", text[0], name, text[1]);
    } else {
        (void)snprintf(what, sizeof(what), "%s(%s%s%s%s%s)", name, text[0],
                       node->n_args > 1 ? ", " : "", text[1],
                       node->n_args > 2 ? ", " : "", text[2]);
    }
    int most = expr->text_bytes < 160 ? (int)expr->text_bytes : 160;
    return wi_exec_fail(c->eval->err, WEIR_ERR_QUERY_DATA,
                        "%s: %s, in `%.*s`%s", what, reason(c, args, why), most,
                        expr->text == NULL ? "" : expr->text,
                        most < (int)expr->text_bytes ? "..." : "");
}
