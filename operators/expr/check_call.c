/* SPDX-License-Identifier: Apache-2.0 */
/* Types of functions, and which casts are allowed. */
#include "operators/expr/check.h"

static bool casts(const struct wi_type *from, const struct wi_type *to)
{
    if (wi_type_same(from, to)) {
        return true;
    }
    if (from->kind == WI_TYPE_UTF8 || to->kind == WI_TYPE_UTF8) {
        return to->kind != WI_TYPE_FIXED || from->kind == WI_TYPE_UTF8;
    }
    return (wi_type_is_number(from) && wi_type_is_number(to)) ||
           (wi_type_is_time(from) && wi_type_is_time(to)) ||
           (wi_type_is_bytes(from) && wi_type_is_bytes(to));
}

struct wi_node *wi_check_cast(struct wi_expr_build *b, struct wi_node *node)
{
    struct wi_node *x = node->arg[0];
    struct wi_type type = node->type;
    if (x->untyped || casts(&x->type, &type)) {
        return wi_check_convert(b, x, &type);
    }
    char from[WI_TYPE_TEXT_BYTES];
    char to[WI_TYPE_TEXT_BYTES];
    return wi_build_fail(b, node->at,
                         "%s cannot be cast to %s: expected numbers to "
                         "numbers, dates to timestamps, bytes to bytes, or "
                         "one of them utf8",
                         wi_expr_type_text(&x->type, from),
                         wi_expr_type_text(&type, to));
}

/* The argument as text, or as binary if it is bytes. */
static struct wi_node *want_string(struct wi_expr_build *b,
                                   const struct wi_node *call,
                                   struct wi_node *arg)
{
    if (!arg->untyped && wi_type_is_bytes(&arg->type)) {
        struct wi_type type = wi_type_of(WI_TYPE_BINARY);
        return wi_check_convert(b, arg, &type);
    }
    return wi_check_want(b, call, arg, WI_TYPE_UTF8);
}

static struct wi_node *check_extract(struct wi_expr_build *b,
                                     struct wi_node *node)
{
    struct wi_node *x = node->arg[0];
    struct wi_type date = wi_type_of(WI_TYPE_DATE32);
    if (x->untyped) {
        x = node->arg[0] = wi_check_convert(b, x, &date);
    }
    if (x == NULL || !wi_type_is_time(&x->type)) {
        char found[WI_TYPE_TEXT_BYTES];
        return x == NULL ? NULL
                         : wi_build_fail(b, x->at,
                                         "extract of %s: a date or timestamp "
                                         "was expected",
                                         wi_expr_type_text(&x->type, found));
    }
    node->type = wi_type_of(WI_TYPE_INT64);
    return wi_check_finish(b, node);
}

static struct wi_node *check_concat(struct wi_expr_build *b,
                                    struct wi_node *node)
{
    struct wi_type type;
    if (!wi_check_common(node->arg[0], node->arg[1], &type) ||
        (wi_type_rep(&type) != WI_STR &&
         !(node->arg[0]->untyped && node->arg[1]->untyped))) {
        return wi_check_mismatch(
            b, node, "both must be utf8, or both bytes; cast to utf8");
    }
    type = wi_type_of(wi_type_is_bytes(&type) ? WI_TYPE_BINARY : WI_TYPE_UTF8);
    for (uint32_t i = 0; i < 2; i++) {
        node->arg[i] = wi_check_convert(b, node->arg[i], &type);
        if (node->arg[i] == NULL) {
            return NULL;
        }
    }
    node->type = type;
    return wi_check_finish(b, node);
}

static struct wi_node *check_string(struct wi_expr_build *b,
                                    struct wi_node *node)
{
    bool bytes_too = node->op == WI_OP_SUBSTRING || node->op == WI_OP_LENGTH;
    node->arg[0] = bytes_too
                       ? want_string(b, node, node->arg[0])
                       : wi_check_want(b, node, node->arg[0], WI_TYPE_UTF8);
    for (uint32_t i = 1; i < node->n_args && node->arg[i - 1] != NULL; i++) {
        node->arg[i] = wi_check_want(b, node, node->arg[i], WI_TYPE_INT64);
    }
    if (node->arg[node->n_args - 1] == NULL || b->code != WEIR_OK) {
        return NULL;
    }
    node->type = node->op == WI_OP_LENGTH ? wi_type_of(WI_TYPE_INT64)
                                          : node->arg[0]->type;
    return wi_check_finish(b, node);
}

struct wi_node *wi_check_call(struct wi_expr_build *b, struct wi_node *node)
{
    switch (node->op) {
    case WI_OP_EXTRACT:
        return check_extract(b, node);
    case WI_OP_CONCAT:
        return check_concat(b, node);
    default:
        return check_string(b, node);
    }
}
