/* SPDX-License-Identifier: Apache-2.0 */
/* Types, bottom up: of the arguments first, then of the operator's result. */
#include "operators/expr/check.h"

#include <stdio.h>
#include <string.h>

#include "operators/expr/hint.h"

static bool same_type(const struct wi_node *node, const struct wi_type *type)
{
    return !node->untyped && wi_type_same(&node->type, type);
}

struct wi_node *wi_check_finish(struct wi_expr_build *b, struct wi_node *node)
{
    if (node == NULL) {
        return NULL;
    }
    bool constant = node->n_args > 0;
    bool nullable = false;
    for (uint32_t i = 0; i < node->n_args; i++) {
        constant = constant && wi_node_is_const(node->arg[i]);
        nullable = nullable || node->arg[i]->type.nullable;
    }
    node->type.nullable = node->type.nullable || nullable;
    return constant ? wi_fold(b, node) : node;
}

struct wi_node *wi_check_convert(struct wi_expr_build *b, struct wi_node *node,
                                 const struct wi_type *type)
{
    if (node == NULL || same_type(node, type)) {
        return node;
    }
    if (node->untyped) {
        struct wi_value null = wi_value_null(type);
        return wi_node_const(b, node->at, type, &null);
    }
    struct wi_node *cast = wi_node_make(b, WI_OP_CAST, node->at, 1, &node);
    if (cast == NULL) {
        return NULL;
    }
    cast->type = *type;
    cast->type.nullable = node->type.nullable;
    return wi_check_finish(b, cast);
}

struct wi_node *wi_check_again(struct wi_expr_build *b, struct wi_node *x)
{
    if (wi_node_is_const(x) || x->op == WI_OP_COLUMN) {
        return wi_node_copy(b, x);
    }
    struct wi_node *ref = wi_node_make(b, WI_OP_REF, x->at, 1, &x);
    if (ref != NULL) {
        ref->type = x->type;
    }
    return ref;
}

struct wi_node *wi_check_with(struct wi_expr_build *b, struct wi_node *x,
                              struct wi_node *body)
{
    if (body == NULL || wi_node_is_const(x) || x->op == WI_OP_COLUMN) {
        return body;
    }
    struct wi_node *with = wi_node_pair(b, WI_OP_WITH, body->at, x, body);
    if (with != NULL) {
        with->type = body->type;
    }
    return with;
}

struct wi_node *wi_check_negate(struct wi_expr_build *b, struct wi_node *node,
                                bool negated)
{
    if (node == NULL || !negated) {
        return node;
    }
    struct wi_node *turned = wi_node_make(b, WI_OP_NOT, node->at, 1, &node);
    if (turned != NULL) {
        turned->type = wi_type_of(WI_TYPE_BOOL);
    }
    return wi_check_finish(b, turned);
}

void *wi_check_mismatch(struct wi_expr_build *b, const struct wi_node *node,
                        const char *expected)
{
    char left[WI_TYPE_TEXT_BYTES];
    char right[WI_TYPE_TEXT_BYTES];
    return wi_build_fail(
        b, node->at, "%s %s %s: %s",
        wi_expr_type_text(&node->arg[0]->type, left), wi_expr_op_text(node->op),
        wi_expr_type_text(&node->arg[1]->type, right), expected);
}

struct wi_node *wi_check_want(struct wi_expr_build *b,
                              const struct wi_node *call, struct wi_node *arg,
                              enum wi_type_kind kind)
{
    struct wi_type type = wi_type_of(kind);
    if (arg->untyped) {
        return wi_check_convert(b, arg, &type);
    }
    if (kind == WI_TYPE_INT64 && wi_type_is_integer(&arg->type) &&
        arg->type.kind != WI_TYPE_UINT64) {
        return wi_check_convert(b, arg, &type);
    }
    if (arg->type.kind == kind) {
        return arg;
    }
    char found[WI_TYPE_TEXT_BYTES];
    char wanted[WI_TYPE_TEXT_BYTES];
    return wi_build_fail(
        b, arg->at, "%s of %s: %s was expected", wi_expr_op_text(call->op),
        wi_expr_type_text(&arg->type, found), wi_expr_type_text(&type, wanted));
}

/* "qty, price, name", cut to fit. */
static void list_columns(const struct wi_columns *columns, char *text,
                         size_t room)
{
    size_t n = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < columns->n && n + 8 < room; i++) {
        n += (size_t)snprintf(text + n, room - n, "%s%s", i == 0 ? "" : ", ",
                              columns->at[i].name);
    }
    if (n + 8 >= room) {
        (void)strcpy(text + room - 8, "...");
    }
}

static struct wi_node *check_column(struct wi_expr_build *b,
                                    struct wi_node *node)
{
    for (uint32_t i = 0; i < b->columns->n; i++) {
        const char *name = b->columns->at[i].name;
        if (strlen(name) == node->name.n_bytes &&
            memcmp(name, node->name.data, node->name.n_bytes) == 0) {
            node->column = i;
            node->type = b->columns->at[i].type;
            return node;
        }
    }
    char all[300];
    list_columns(b->columns, all, sizeof(all));
    char hint[WI_HINT_BYTES];
    int most = node->name.n_bytes < 60 ? (int)node->name.n_bytes : 60;
    return wi_build_fail_as(
        b, WEIR_ERR_NOT_FOUND, node->at, "there is no column `%.*s`: %s%s%s",
        most, node->name.data,
        b->columns->n == 0 ? "none may be read here" : "there are ", all,
        wi_hint_column(b, node->at, node->name, hint));
}

static struct wi_node *check_logic(struct wi_expr_build *b,
                                   struct wi_node *node)
{
    for (uint32_t i = 0; i < node->n_args; i++) {
        node->arg[i] = wi_check_want(b, node, node->arg[i], WI_TYPE_BOOL);
        if (node->arg[i] == NULL) {
            return NULL;
        }
    }
    node->type = wi_type_of(WI_TYPE_BOOL);
    return wi_check_finish(b, node);
}

static struct wi_node *check_is_null(struct wi_expr_build *b,
                                     struct wi_node *node)
{
    struct wi_type type = wi_type_of(WI_TYPE_BOOL);
    if (node->arg[0]->untyped) {
        node->arg[0] = wi_check_convert(b, node->arg[0], &type);
        if (node->arg[0] == NULL) {
            return NULL;
        }
    }
    node->type = type;
    node = wi_check_finish(b, node);
    if (node != NULL) {
        node->type.nullable = false;
    }
    return node;
}

static struct wi_node *by_op(struct wi_expr_build *b, struct wi_node *node)
{
    switch (node->op) {
    case WI_OP_COLUMN:
        return check_column(b, node);
    case WI_OP_CAST:
        return wi_check_cast(b, node);
    case WI_OP_NEG:
    case WI_OP_ABS:
        return wi_check_sign(b, node);
    case WI_OP_ROUND:
        return wi_check_round(b, node);
    case WI_OP_ADD:
    case WI_OP_SUB:
    case WI_OP_MUL:
    case WI_OP_DIV:
    case WI_OP_MOD:
        return wi_check_arithmetic(b, node);
    case WI_OP_EQ:
    case WI_OP_NE:
    case WI_OP_LT:
    case WI_OP_LE:
    case WI_OP_GT:
    case WI_OP_GE:
        return wi_check_compare(b, node);
    case WI_OP_AND:
    case WI_OP_OR:
    case WI_OP_NOT:
        return check_logic(b, node);
    case WI_OP_IS_NULL:
        return check_is_null(b, node);
    case WI_OP_IN:
        return wi_check_in(b, node);
    case WI_OP_BETWEEN:
        return wi_check_between(b, node);
    case WI_OP_LIKE:
        return wi_check_like(b, node);
    case WI_OP_CASE:
    case WI_OP_COALESCE:
    case WI_OP_NULLIF:
        return wi_check_choice(b, node);
    default:
        return wi_check_call(b, node);
    }
}

struct wi_node *wi_check(struct wi_expr_build *b, struct wi_node *node)
{
    if (wi_node_is_const(node)) {
        return node;
    }
    for (uint32_t i = 0; i < node->n_args; i++) {
        node->arg[i] = wi_check(b, node->arg[i]);
        if (node->arg[i] == NULL) {
            return NULL;
        }
    }
    return by_op(b, node);
}
