/* SPDX-License-Identifier: Apache-2.0 */
/** Types of a tree: the rules of docs/expressions.md. */
#ifndef WI_OPERATORS_EXPR_CHECK_H
#define WI_OPERATORS_EXPR_CHECK_H

#include "operators/expr/node.h"

/** Add types and casts to a tree, and compute its constants. The caller's tree
 *  is changed: use only the result. NULL: reported. */
struct wi_node *wi_check(struct wi_expr_build *b, struct wi_node *node);

/** The node cast to this type; does not check if the language allows the cast.
 *  An untyped null takes the type. */
struct wi_node *wi_check_convert(struct wi_expr_build *b, struct wi_node *node,
                                 const struct wi_type *type);

/** Set its type's nullable; compute the node if all arguments are constants. */
struct wi_node *wi_check_finish(struct wi_expr_build *b, struct wi_node *node);

/** A type that holds the values of both. false: there is none. An untyped null
 *  goes with every type. */
bool wi_check_common(const struct wi_node *x, const struct wi_node *y,
                     struct wi_type *out);

/** The argument, which must be of this type; an untyped null takes it, and
 *  smaller integers are cast to int64. NULL: reported as `lower of int64: utf8
 *  was expected`. */
struct wi_node *wi_check_want(struct wi_expr_build *b,
                              const struct wi_node *call, struct wi_node *arg,
                              enum wi_type_kind kind);

/* One function for each kind of node; the arguments have types already. */
struct wi_node *wi_check_arithmetic(struct wi_expr_build *b,
                                    struct wi_node *node);
struct wi_node *wi_check_sign(struct wi_expr_build *b, struct wi_node *node);
struct wi_node *wi_check_round(struct wi_expr_build *b, struct wi_node *node);
struct wi_node *wi_check_cast(struct wi_expr_build *b, struct wi_node *node);
struct wi_node *wi_check_call(struct wi_expr_build *b, struct wi_node *node);
struct wi_node *wi_check_choice(struct wi_expr_build *b, struct wi_node *node);
struct wi_node *wi_check_compare(struct wi_expr_build *b, struct wi_node *node);
struct wi_node *wi_check_in(struct wi_expr_build *b, struct wi_node *node);
struct wi_node *wi_check_between(struct wi_expr_build *b, struct wi_node *node);
struct wi_node *wi_check_like(struct wi_expr_build *b, struct wi_node *node);

/** To use x more than once: the body reads x by wi_check_again, and
 *  wi_check_with joins x and the body. Constants and columns need no WITH: they
 *  are copied. */
struct wi_node *wi_check_again(struct wi_expr_build *b, struct wi_node *x);
struct wi_node *wi_check_with(struct wi_expr_build *b, struct wi_node *x,
                              struct wi_node *body);

/** `not node` if negated, else the node. */
struct wi_node *wi_check_negate(struct wi_expr_build *b, struct wi_node *node,
                                bool negated);

/** Report that the types of two arguments do not go together. Returns NULL. */
void *wi_check_mismatch(struct wi_expr_build *b, const struct wi_node *node,
                        const char *expected);

/** Compute a node whose arguments are constants. If its value is an error, the
 *  node stays: the error is reported when a row needs the value. */
struct wi_node *wi_fold(struct wi_expr_build *b, struct wi_node *node);

static inline struct wi_type wi_type_of(enum wi_type_kind kind)
{
    return (struct wi_type){.kind = kind};
}

static inline struct wi_type wi_type_decimal(uint32_t precision, uint32_t scale)
{
    precision = precision == 0 ? 1 : precision;
    return (struct wi_type){.kind = WI_TYPE_DECIMAL,
                            .precision = (uint8_t)(precision < WI_DECIMAL_MOST
                                                       ? precision
                                                       : WI_DECIMAL_MOST),
                            .scale = (uint8_t)scale};
}

static inline bool wi_type_is_float(const struct wi_type *type)
{
    return type->kind == WI_TYPE_FLOAT32 || type->kind == WI_TYPE_FLOAT64;
}

static inline bool wi_type_is_bytes(const struct wi_type *type)
{
    return type->kind == WI_TYPE_BINARY || type->kind == WI_TYPE_FIXED;
}

static inline bool wi_type_is_time(const struct wi_type *type)
{
    return type->kind == WI_TYPE_DATE32 || type->kind == WI_TYPE_TIMESTAMP;
}

#endif /* WI_OPERATORS_EXPR_CHECK_H */
