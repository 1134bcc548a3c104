/* SPDX-License-Identifier: Apache-2.0 */
/* Text to an expression, and questions about it. */
#include "operators/expr/expr.h"

#include <stdlib.h>
#include <string.h>

#include "operators/base/utf8.h"
#include "operators/expr/check.h"
#include "operators/expr/parse.h"
#include "operators/expr/value.h"

static weir_err check_text(const char *text, size_t n_bytes,
                           struct weir_error *err)
{
    if (n_bytes > WI_EXPR_TEXT_BYTES) {
        return wi_exec_fail(err, WEIR_ERR_ARG,
                            "an expression may have %u bytes; this one has "
                            "%zu",
                            WI_EXPR_TEXT_BYTES, n_bytes);
    }
    if (!wi_utf8_check(text, n_bytes)) {
        return wi_exec_fail(err, WEIR_ERR_ARG,
                            "the expression's text is not UTF-8");
    }
    return WEIR_OK;
}

/* The tree of b->expr->text. */
static struct wi_node *build(struct wi_expr_build *b)
{
    struct wi_node *root = wi_parse_text(b);
    if (root == NULL) {
        return NULL;
    }
    b->deepest = UINT32_MAX; /* check may add levels */
    root = wi_check(b, root);
    if (root != NULL && wi_node_is_const(root) && root->untyped) {
        return wi_build_fail(b, root->at,
                             "null has no type here: write cast(null as type)");
    }
    return root;
}

weir_err wi_expr_open(const char *text, const struct wi_columns *columns,
                      struct wi_expr **out, struct weir_error *err)
{
    size_t n_bytes = strlen(text);
    weir_err code = check_text(text, n_bytes, err);
    if (code != WEIR_OK) {
        return code;
    }
    struct wi_expr *expr = calloc(1, sizeof(*expr));
    if (expr == NULL) {
        return wi_exec_no_memory(err, sizeof(*expr));
    }
    expr->text = strdup(text);
    if (expr->text == NULL) {
        wi_expr_close(expr);
        return wi_exec_no_memory(err, n_bytes);
    }
    expr->text_bytes = (uint32_t)n_bytes;
    struct wi_expr_build b = {
        .expr = expr, .columns = columns, .deepest = WI_EXPR_DEPTH, .err = err};
    expr->root = build(&b);
    if (expr->root == NULL) {
        wi_expr_close(expr);
        return b.code;
    }
    expr->n_slots = wi_node_number(expr->root);
    *out = expr;
    return WEIR_OK;
}

void wi_expr_close(struct wi_expr *expr)
{
    if (expr == NULL) {
        return;
    }
    wi_build_free(expr);
    free(expr->text);
    free(expr);
}

const struct wi_type *wi_expr_type(const struct wi_expr *expr)
{
    return &expr->root->type;
}

int wi_expr_column(const struct wi_expr *expr)
{
    return expr->root->op == WI_OP_COLUMN ? (int)expr->root->column : -1;
}

static bool reads(const struct wi_node *node, uint32_t column)
{
    if (node->op == WI_OP_COLUMN) {
        return node->column == column;
    }
    for (uint32_t i = 0; i < node->n_args && node->op != WI_OP_REF; i++) {
        if (reads(node->arg[i], column)) {
            return true;
        }
    }
    return false;
}

bool wi_expr_reads(const struct wi_expr *expr, uint32_t column)
{
    return reads(expr->root, column);
}
