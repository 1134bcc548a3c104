/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The tree of an expression, and its memory.
 *
 *   text --parse--> tree without types --check--> tree with types
 *
 *   case x when 1 then a end           WITH
 *                                     /    \
 *                                    x      CASE
 *                                          /  |  \
 *                            EQ(REF x, 1)     a   null
 *
 * Rules
 *  - Check casts operands so that both sides of an operator have the same
 *    representation, and replaces what it can compute by a CONST.
 *  - What is written once is computed once: WITH computes its first argument,
 *    and each REF in its second argument gives those values again.
 *  - All nodes belong to the expression and are freed with it.
 */
#ifndef WI_OPERATORS_EXPR_NODE_H
#define WI_OPERATORS_EXPR_NODE_H

#include <stddef.h>

#include "operators/base/fail.h"
#include "operators/base/vec.h"
#include "operators/expr/expr.h"

#define WI_EXPR_TEXT_BYTES (1u << 20)
#define WI_EXPR_NODES 10000u
#define WI_EXPR_DEPTH 200u /* levels of nesting: bounds all recursion */

/* X(name, text in messages) */
#define WI_EXPR_OPS(X)                                                         \
    X(COLUMN, "column")                                                        \
    X(CONST, "constant")                                                       \
    X(REF, "value")                                                            \
    X(WITH, "value")                                                           \
    X(CAST, "cast")                                                            \
    X(NEG, "-")                                                                \
    X(ADD, "+")                                                                \
    X(SUB, "-")                                                                \
    X(MUL, "*")                                                                \
    X(DIV, "/")                                                                \
    X(MOD, "%")                                                                \
    X(EQ, "=")                                                                 \
    X(NE, "<>")                                                                \
    X(LT, "<")                                                                 \
    X(LE, "<=")                                                                \
    X(GT, ">")                                                                 \
    X(GE, ">=")                                                                \
    X(AND, "and")                                                              \
    X(OR, "or")                                                                \
    X(NOT, "not")                                                              \
    X(IS_NULL, "is null")                                                      \
    X(IN, "in")                                                                \
    X(BETWEEN, "between")                                                      \
    X(LIKE, "like")                                                            \
    X(CASE, "case")                                                            \
    X(COALESCE, "coalesce")                                                    \
    X(NULLIF, "nullif")                                                        \
    X(EXTRACT, "extract")                                                      \
    X(SUBSTRING, "substring")                                                  \
    X(LENGTH, "length")                                                        \
    X(LOWER, "lower")                                                          \
    X(UPPER, "upper")                                                          \
    X(ABS, "abs")                                                              \
    X(ROUND, "round")                                                          \
    X(CONCAT, "||")

enum wi_expr_op {
#define WI_EXPR_ENUM(name, text) WI_OP_##name,
    WI_EXPR_OPS(WI_EXPR_ENUM)
#undef WI_EXPR_ENUM
};

/** Its name in messages. */
const char *wi_expr_op_text(enum wi_expr_op op);

/** What EXTRACT takes from a date or timestamp. */
enum wi_field {
    WI_FIELD_YEAR,
    WI_FIELD_QUARTER,
    WI_FIELD_MONTH,
    WI_FIELD_DAY,
    WI_FIELD_HOUR,
    WI_FIELD_MINUTE,
    WI_FIELD_SECOND,
    WI_FIELD_DOW,
    WI_FIELD_DOY,
};

struct wi_set;
struct wi_like;

struct wi_node {
    enum wi_expr_op op;
    uint32_t at;     /* its byte in the text */
    uint32_t height; /* levels, with its own */
    uint32_t slot;   /* in struct wi_eval */
    struct wi_type type;
    struct wi_node **arg;
    uint32_t n_args;
    bool negated;          /* IS_NULL, IN, BETWEEN, LIKE */
    bool untyped;          /* CONST: null, before it takes a type */
    bool searched;         /* CASE, before check: `case x when` */
    uint32_t column;       /* COLUMN */
    enum wi_field field;   /* EXTRACT */
    struct wi_str name;    /* COLUMN, before check */
    struct wi_value value; /* CONST */
    struct wi_set *set;    /* IN: the constants */
    struct wi_like *like;  /* LIKE: the pattern */
};

struct wi_block; /* memory of nodes */

/* constant after open */
struct wi_expr {
    char *text;
    uint32_t text_bytes;
    struct wi_node *root;
    struct wi_block *blocks;
    uint32_t n_nodes;
    uint32_t n_slots;
};

/** While an expression is read and checked. */
struct wi_expr_build {
    struct wi_expr *expr;
    const struct wi_columns *columns;
    uint32_t deepest; /* tree that is allowed, in levels */
    weir_err code;    /* of the first error */
    struct weir_error *err;
};

/** Report an error at a byte of the text; only the first counts. Returns
 *  NULL. */
void *wi_build_fail(struct wi_expr_build *b, uint32_t at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/** The same with another code than WEIR_ERR_ARG. */
void *wi_build_fail_as(struct wi_expr_build *b, weir_err code, uint32_t at,
                       const char *fmt, ...)
    __attribute__((format(printf, 4, 5), cold));

/** Memory, cleared and 16-byte aligned, that is freed with the expression.
 *  NULL: no memory, reported. */
void *wi_build_take(struct wi_expr_build *b, size_t bytes);

/** Give back all memory of wi_build_take. */
void wi_build_free(struct wi_expr *expr);

/** A node; copies the array of arguments. NULL: no memory, too many nodes or
 *  nested too deep, reported; or an argument is NULL. */
struct wi_node *wi_node_make(struct wi_expr_build *b, enum wi_expr_op op,
                             uint32_t at, uint32_t n_args,
                             struct wi_node *const *args);

/** wi_node_make with two arguments. */
struct wi_node *wi_node_pair(struct wi_expr_build *b, enum wi_expr_op op,
                             uint32_t at, struct wi_node *x, struct wi_node *y);

/** A copy of a node that shares its arguments. */
struct wi_node *wi_node_copy(struct wi_expr_build *b,
                             const struct wi_node *node);

struct wi_node *wi_node_const(struct wi_expr_build *b, uint32_t at,
                              const struct wi_type *type,
                              const struct wi_value *value);

/** Number the nodes that need a slot. Returns how many there are. */
uint32_t wi_node_number(struct wi_node *root);

/** A list of nodes that can grow. */
struct wi_node_list {
    struct wi_node **at;
    uint32_t n;
    uint32_t room;
};
/** false: no memory, reported; or node is NULL, which was reported before. */
bool wi_node_list_add(struct wi_expr_build *b, struct wi_node_list *list,
                      struct wi_node *node);

/** Name of the type in messages, without the mark of nullable types. */
const char *wi_expr_type_text(const struct wi_type *type,
                              char text[WI_TYPE_TEXT_BYTES]);

static inline bool wi_node_is_const(const struct wi_node *node)
{
    return node->op == WI_OP_CONST;
}

/** A null whose value may still be read: it is 0 or an empty string. */
struct wi_value wi_value_null(const struct wi_type *type);

/** Make n positions of a vector hold one value. */
void wi_value_fill(const struct wi_value *value, struct wi_vec *vec,
                   uint32_t n);

#endif /* WI_OPERATORS_EXPR_NODE_H */
