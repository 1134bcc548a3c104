/* SPDX-License-Identifier: Apache-2.0 */
/* Types of arithmetic. */
#include <stdio.h>

#include "operators/expr/check.h"
#include "operators/expr/value.h"

/* Precision and scale of an integer or decimal. */
static struct wi_digits digits_of(const struct wi_node *node)
{
    static const uint8_t integers[] = {
        [WI_TYPE_INT8] = 3,    [WI_TYPE_INT16] = 5,  [WI_TYPE_INT32] = 10,
        [WI_TYPE_INT64] = 19,  [WI_TYPE_UINT8] = 3,  [WI_TYPE_UINT16] = 5,
        [WI_TYPE_UINT32] = 10, [WI_TYPE_UINT64] = 20};
    if (node->type.kind == WI_TYPE_DECIMAL) {
        return (struct wi_digits){node->type.precision, node->type.scale};
    }
    if (wi_node_is_const(node) && node->type.kind == WI_TYPE_INT64) {
        char text[WI_VALUE_TEXT_BYTES];
        uint32_t n = wi_value_text(&node->type, &node->value, text);
        return wi_digits_of((struct wi_str){text, n});
    }
    return (struct wi_digits){integers[node->type.kind], 0};
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t before_point(struct wi_digits d)
{
    return d.precision - d.scale;
}

static bool common_number(const struct wi_node *x, const struct wi_node *y,
                          struct wi_type *out)
{
    if (!wi_type_is_number(&x->type) || !wi_type_is_number(&y->type)) {
        return false;
    }
    if (wi_type_is_float(&x->type) || wi_type_is_float(&y->type)) {
        *out = wi_type_of(WI_TYPE_FLOAT64);
        return true;
    }
    if (wi_type_rep(&x->type) == WI_I64 && wi_type_is_integer(&x->type) &&
        wi_type_rep(&y->type) == WI_I64 && wi_type_is_integer(&y->type)) {
        *out = wi_type_of(WI_TYPE_INT64);
        return true;
    }
    struct wi_digits a = digits_of(x);
    struct wi_digits c = digits_of(y);
    uint32_t scale = larger(a.scale, c.scale);
    *out = wi_type_decimal(larger(before_point(a), before_point(c)) + scale,
                           scale);
    return true;
}

bool wi_check_common(const struct wi_node *x, const struct wi_node *y,
                     struct wi_type *out)
{
    if (x->untyped || y->untyped) {
        *out = x->untyped ? y->type : x->type;
        return true;
    }
    if (wi_type_same(&x->type, &y->type)) {
        *out = x->type;
        return true;
    }
    if (wi_type_is_bytes(&x->type) && wi_type_is_bytes(&y->type)) {
        *out = wi_type_of(WI_TYPE_BINARY);
        return true;
    }
    if (wi_type_is_time(&x->type) && wi_type_is_time(&y->type)) {
        *out = wi_type_of(WI_TYPE_TIMESTAMP);
        out->unit = (uint8_t)larger(x->type.unit, y->type.unit);
        return true;
    }
    return common_number(x, y, out);
}

/* The node takes this type, and its arguments are cast to it. */
static struct wi_node *convert_both(struct wi_expr_build *b,
                                    struct wi_node *node,
                                    const struct wi_type *type)
{
    node->type = *type;
    node->type.nullable = false;
    for (uint32_t i = 0; i < node->n_args; i++) {
        node->arg[i] = wi_check_convert(b, node->arg[i], type);
        if (node->arg[i] == NULL) {
            return NULL;
        }
    }
    return wi_check_finish(b, node);
}

/* Cast an argument to 128 bits; its scale stays. */
static struct wi_node *widen(struct wi_expr_build *b, struct wi_node *arg)
{
    struct wi_type type =
        wi_type_decimal(WI_DECIMAL_MOST, digits_of(arg).scale);
    return wi_check_convert(b, arg, &type);
}

static struct wi_node *multiply(struct wi_expr_build *b, struct wi_node *node)
{
    struct wi_digits x = digits_of(node->arg[0]);
    struct wi_digits y = digits_of(node->arg[1]);
    if (x.scale + y.scale > WI_DECIMAL_MOST) {
        char found[48];
        (void)snprintf(found, sizeof(found), "the result has scale %u, over %d",
                       x.scale + y.scale, WI_DECIMAL_MOST);
        return wi_check_mismatch(b, node, found);
    }
    node->type = wi_type_decimal(x.precision + y.precision, x.scale + y.scale);
    bool narrow = wi_type_rep(&node->arg[0]->type) == WI_I64 &&
                  wi_type_rep(&node->arg[1]->type) == WI_I64;
    for (uint32_t i = 0; i < 2 && !narrow; i++) {
        node->arg[i] = widen(b, node->arg[i]);
        if (node->arg[i] == NULL) {
            return NULL;
        }
    }
    return wi_check_finish(b, node);
}

/* The quotient is rounded, its operands are not. */
static struct wi_node *divide_integers(struct wi_expr_build *b,
                                       struct wi_node *node)
{
    const bool wide = wi_type_rep(&node->arg[0]->type) == WI_I128 ||
                      wi_type_rep(&node->arg[1]->type) == WI_I128;
    const struct wi_type type =
        wide ? wi_type_decimal(20, 0) : wi_type_of(WI_TYPE_INT64);
    node->type = wi_type_of(WI_TYPE_FLOAT64);
    for (uint32_t i = 0; i < 2; i++) {
        node->arg[i] = wi_check_convert(b, node->arg[i], &type);
        if (node->arg[i] == NULL) {
            return NULL;
        }
    }
    return wi_check_finish(b, node);
}

static struct wi_node *divide(struct wi_expr_build *b, struct wi_node *node)
{
    enum { LEAST_SCALE = 6 };
    if (wi_type_is_integer(&node->arg[0]->type) &&
        wi_type_is_integer(&node->arg[1]->type)) {
        return divide_integers(b, node);
    }
    node->type = wi_type_decimal(
        WI_DECIMAL_MOST, larger(digits_of(node->arg[0]).scale, LEAST_SCALE));
    for (uint32_t i = 0; i < 2; i++) {
        node->arg[i] = widen(b, node->arg[i]);
        if (node->arg[i] == NULL) {
            return NULL;
        }
    }
    return wi_check_finish(b, node);
}

static struct wi_node *exact(struct wi_expr_build *b, struct wi_node *node)
{
    if (node->op == WI_OP_MUL) {
        return multiply(b, node);
    }
    if (node->op == WI_OP_DIV) {
        return divide(b, node);
    }
    struct wi_digits x = digits_of(node->arg[0]);
    struct wi_digits y = digits_of(node->arg[1]);
    uint32_t scale = larger(x.scale, y.scale);
    uint32_t carry = node->op == WI_OP_MOD ? 0 : 1;
    struct wi_type type = wi_type_decimal(
        larger(before_point(x), before_point(y)) + scale + carry, scale);
    return convert_both(b, node, &type);
}

/* date + 1, 1 + date and date - 1 are dates; date - date is days. */
static struct wi_node *date_arithmetic(struct wi_expr_build *b,
                                       struct wi_node *node)
{
    struct wi_node *x = node->arg[0];
    struct wi_node *y = node->arg[1];
    bool x_date = x->type.kind == WI_TYPE_DATE32;
    bool y_date = y->type.kind == WI_TYPE_DATE32;
    const struct wi_node *days = x_date ? y : x;
    bool both = x_date && y_date && node->op == WI_OP_SUB;
    bool plus = x_date != y_date && wi_type_is_integer(&days->type) &&
                wi_type_rep(&days->type) == WI_I64 &&
                (node->op == WI_OP_ADD || (node->op == WI_OP_SUB && x_date));
    if (!both && !plus) {
        return wi_check_mismatch(
            b, node,
            "of dates there are date + integer, date - integer and "
            "date - date");
    }
    node->type = wi_type_of(WI_TYPE_INT64);
    node = wi_check_finish(b, node);
    struct wi_type date = wi_type_of(WI_TYPE_DATE32);
    return both ? node : wi_check_convert(b, node, &date);
}

struct wi_node *wi_check_arithmetic(struct wi_expr_build *b,
                                    struct wi_node *node)
{
    for (uint32_t i = 0; i < 2; i++) {
        if (node->arg[i]->untyped) {
            struct wi_type type =
                node->arg[1 - i]->untyped ||
                        node->arg[1 - i]->type.kind == WI_TYPE_DATE32
                    ? wi_type_of(WI_TYPE_INT64)
                    : node->arg[1 - i]->type;
            node->arg[i] = wi_check_convert(b, node->arg[i], &type);
            if (node->arg[i] == NULL) {
                return NULL;
            }
        }
    }
    struct wi_node *x = node->arg[0];
    struct wi_node *y = node->arg[1];
    if (x->type.kind == WI_TYPE_DATE32 || y->type.kind == WI_TYPE_DATE32) {
        return date_arithmetic(b, node);
    }
    struct wi_type type;
    if (!common_number(x, y, &type)) {
        return wi_check_mismatch(b, node, "both must be numbers");
    }
    bool integers = type.kind == WI_TYPE_INT64;
    if (type.kind == WI_TYPE_FLOAT64 || (integers && node->op != WI_OP_DIV)) {
        return convert_both(b, node, &type);
    }
    return exact(b, node);
}

struct wi_node *wi_check_sign(struct wi_expr_build *b, struct wi_node *node)
{
    struct wi_node *x = node->arg[0];
    struct wi_type type = wi_type_of(WI_TYPE_INT64);
    if (x->untyped) {
        return wi_check_convert(b, x, &type);
    }
    if (!wi_type_is_number(&x->type)) {
        char found[WI_TYPE_TEXT_BYTES];
        return wi_build_fail(b, x->at, "%s of %s: a number was expected",
                             wi_expr_op_text(node->op),
                             wi_expr_type_text(&x->type, found));
    }
    if (x->type.kind == WI_TYPE_UINT64) {
        type = wi_type_decimal(20, 0);
    } else if (!wi_type_is_integer(&x->type)) {
        type = x->type;
    }
    return convert_both(b, node, &type);
}

/* A cast to fewer digits after the point; one more before it, as rounding may
 * carry: 9.9 to 10. */
struct wi_node *wi_check_round(struct wi_expr_build *b, struct wi_node *node)
{
    struct wi_node *x = node->arg[0];
    uint32_t scale = 0;
    if (node->n_args == 2) {
        const struct wi_node *n = node->arg[1];
        if (!wi_node_is_const(n) || n->type.kind != WI_TYPE_INT64 ||
            n->value.null || n->value.i < 0 || n->value.i > WI_DECIMAL_MOST) {
            return wi_build_fail(b, n->at,
                                 "round: the number of digits must be a "
                                 "constant, 0 to %d",
                                 WI_DECIMAL_MOST);
        }
        scale = (uint32_t)n->value.i;
    }
    if (x->untyped || wi_type_is_integer(&x->type)) {
        return x;
    }
    if (x->type.kind != WI_TYPE_DECIMAL) {
        char found[WI_TYPE_TEXT_BYTES];
        return wi_build_fail(b, x->at,
                             "round of %s: a decimal was expected; cast it",
                             wi_expr_type_text(&x->type, found));
    }
    if (scale >= x->type.scale) {
        return x;
    }
    struct wi_type type =
        wi_type_decimal(x->type.precision - x->type.scale + scale + 1u, scale);
    return wi_check_convert(b, x, &type);
}
