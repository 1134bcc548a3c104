/* SPDX-License-Identifier: Apache-2.0 */
/* Operators by precedence climbing: parse(level) takes the operators of this
 * level and of those that bind more strongly. The levels are those of the table
 * in docs/expressions.md. */
#include "operators/expr/parse.h"

#include <stdio.h>
#include <string.h>

#include "operators/expr/hint.h"

enum level {
    LEVEL_OR,
    LEVEL_AND,
    LEVEL_NOT,
    LEVEL_COMPARE, /* and IS, IN, BETWEEN, LIKE */
    LEVEL_CONCAT,
    LEVEL_ADD,
    LEVEL_MUL,
    LEVEL_NEG,
};

static const struct binary {
    const char *sign;
    enum level level;
    enum wi_expr_op op;
} binaries[] = {
    {"or", LEVEL_OR, WI_OP_OR},      {"and", LEVEL_AND, WI_OP_AND},
    {"=", LEVEL_COMPARE, WI_OP_EQ},  {"<>", LEVEL_COMPARE, WI_OP_NE},
    {"!=", LEVEL_COMPARE, WI_OP_NE}, {"<", LEVEL_COMPARE, WI_OP_LT},
    {"<=", LEVEL_COMPARE, WI_OP_LE}, {">", LEVEL_COMPARE, WI_OP_GT},
    {">=", LEVEL_COMPARE, WI_OP_GE}, {"||", LEVEL_CONCAT, WI_OP_CONCAT},
    {"+", LEVEL_ADD, WI_OP_ADD},     {"-", LEVEL_ADD, WI_OP_SUB},
    {"*", LEVEL_MUL, WI_OP_MUL},     {"/", LEVEL_MUL, WI_OP_DIV},
    {"%", LEVEL_MUL, WI_OP_MOD},
};

static struct wi_node *parse(struct wi_parse *p, enum level level);

bool wi_parse_step(struct wi_parse *p)
{
    return wi_lex_next(p->b, p->now.at + p->now.n_bytes, &p->now);
}

bool wi_parse_skip(struct wi_parse *p, const char *word)
{
    return wi_token_is(p->b, &p->now, word) && wi_parse_step(p);
}

void *wi_parse_unexpected(struct wi_parse *p, const char *expected)
{
    char text[WI_TOKEN_TEXT_BYTES];
    return wi_build_fail(p->b, p->now.at, "found %s: expected %s",
                         wi_token_text(p->b, &p->now, text), expected);
}

bool wi_parse_want(struct wi_parse *p, const char *word)
{
    if (!wi_token_is(p->b, &p->now, word)) {
        char expected[32] = "`";
        strncat(expected, word, sizeof(expected) - 3);
        (void)wi_parse_unexpected(p, strcat(expected, "`"));
        return false;
    }
    return wi_parse_step(p);
}

static const struct binary *binary_at(const struct wi_parse *p)
{
    for (size_t i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++) {
        if (wi_token_is(p->b, &p->now, binaries[i].sign)) {
            return &binaries[i];
        }
    }
    return NULL;
}

/* x and y and ... becomes one node, so that long conditions do not nest. */
static struct wi_node *chain(struct wi_parse *p, struct wi_node *first,
                             const struct binary *op)
{
    struct wi_node_list list = {.n = 0};
    uint32_t at = p->now.at;
    if (!wi_node_list_add(p->b, &list, first)) {
        return NULL;
    }
    while (wi_token_is(p->b, &p->now, op->sign)) {
        if (!wi_parse_step(p) ||
            !wi_node_list_add(p->b, &list,
                              parse(p, (enum level)(op->level + 1)))) {
            return NULL;
        }
    }
    return wi_node_make(p->b, op->op, at, list.n, list.at);
}

static struct wi_node *parse_in(struct wi_parse *p, struct wi_node *x,
                                uint32_t at)
{
    struct wi_node_list list = {.n = 0};
    if (!wi_node_list_add(p->b, &list, x) || !wi_parse_want(p, "(")) {
        return NULL;
    }
    do {
        if (!wi_node_list_add(p->b, &list, wi_parse_any(p))) {
            return NULL;
        }
    } while (wi_parse_skip(p, ","));
    return wi_parse_want(p, ")")
               ? wi_node_make(p->b, WI_OP_IN, at, list.n, list.at)
               : NULL;
}

static struct wi_node *parse_between(struct wi_parse *p, struct wi_node *x,
                                     uint32_t at)
{
    struct wi_node *low = parse(p, LEVEL_CONCAT);
    if (low == NULL || !wi_parse_want(p, "and")) {
        return NULL;
    }
    struct wi_node *args[] = {x, low, parse(p, LEVEL_CONCAT)};
    return args[2] == NULL ? NULL
                           : wi_node_make(p->b, WI_OP_BETWEEN, at, 3, args);
}

static struct wi_node *parse_like(struct wi_parse *p, struct wi_node *x,
                                  uint32_t at)
{
    struct wi_node *args[3] = {x, parse(p, LEVEL_CONCAT), NULL};
    uint32_t n = 2;
    if (args[1] == NULL) {
        return NULL;
    }
    if (wi_parse_skip(p, "escape")) {
        args[n++] = parse(p, LEVEL_CONCAT);
        if (args[2] == NULL) {
            return NULL;
        }
    }
    return p->b->code != WEIR_OK ? NULL
                                 : wi_node_make(p->b, WI_OP_LIKE, at, n, args);
}

/* x [not] in | between | like ...; x itself if none of them follows. */
static struct wi_node *parse_test(struct wi_parse *p, struct wi_node *x)
{
    uint32_t at = p->now.at;
    bool negated = wi_parse_skip(p, "not");
    struct wi_node *node = x;
    if (wi_parse_skip(p, "in")) {
        node = parse_in(p, x, at);
    } else if (wi_parse_skip(p, "between")) {
        node = parse_between(p, x, at);
    } else if (wi_parse_skip(p, "like")) {
        node = parse_like(p, x, at);
    } else if (negated) {
        return wi_parse_unexpected(p, "`in`, `between` or `like`");
    }
    if (node != NULL && node != x) {
        node->negated = negated;
    }
    return p->b->code != WEIR_OK ? NULL : node;
}

static struct wi_node *parse_is_null(struct wi_parse *p, struct wi_node *x)
{
    uint32_t at = p->now.at;
    while (wi_parse_skip(p, "is")) {
        bool negated = wi_parse_skip(p, "not");
        if (!wi_parse_want(p, "null")) {
            return NULL;
        }
        x = wi_node_make(p->b, WI_OP_IS_NULL, at, 1, &x);
        if (x == NULL) {
            return NULL;
        }
        x->negated = negated;
        at = p->now.at;
    }
    return p->b->code != WEIR_OK ? NULL : x;
}

/* x = null is true of no row: `is null` was meant. */
static struct wi_node *null_compared(struct wi_parse *p,
                                     const struct binary *op, uint32_t at)
{
    return wi_build_fail(p->b, at,
                         "`%s null` is true of no row: write `is %snull`",
                         op->sign, op->op == WI_OP_EQ ? "" : "not ");
}

/* A comparison, whose left side is x. Comparisons do not chain. */
static struct wi_node *parse_compare(struct wi_parse *p, struct wi_node *x)
{
    uint32_t at = p->now.at;
    const struct binary *op = binary_at(p);
    if (op != NULL && op->level == LEVEL_COMPARE) {
        if (!wi_parse_step(p)) {
            return NULL;
        }
        struct wi_node *y = parse(p, LEVEL_CONCAT);
        if (y != NULL && (x->untyped || y->untyped)) {
            return null_compared(p, op, at);
        }
        x = y == NULL ? NULL : wi_node_pair(p->b, op->op, at, x, y);
        op = binary_at(p);
        if (x != NULL && op != NULL && op->level == LEVEL_COMPARE) {
            return wi_build_fail(p->b, p->now.at,
                                 "comparisons do not chain: join them with "
                                 "`and`, or use parentheses");
        }
    } else {
        x = parse_test(p, x);
    }
    return x == NULL ? NULL : parse_is_null(p, x);
}

/* A sign before a number belongs to it: -9223372036854775808 is an int64. */
static struct wi_node *parse_sign(struct wi_parse *p)
{
    uint32_t at = p->now.at;
    bool minus = wi_token_is(p->b, &p->now, "-");
    if (!wi_parse_step(p)) {
        return NULL;
    }
    if (p->now.kind == WI_TOKEN_NUMBER) {
        return wi_parse_number(p, at, minus);
    }
    struct wi_node *x = parse(p, LEVEL_NEG);
    return x == NULL || !minus ? x : wi_node_make(p->b, WI_OP_NEG, at, 1, &x);
}

static struct wi_node *parse_prefix(struct wi_parse *p, enum level level)
{
    uint32_t at = p->now.at;
    if (wi_token_is(p->b, &p->now, "not")) {
        if (level > LEVEL_NOT) {
            return wi_parse_unexpected(p, "a value; put `not ...` into "
                                          "parentheses");
        }
        struct wi_node *x = wi_parse_step(p) ? parse(p, LEVEL_NOT) : NULL;
        return x == NULL ? NULL : wi_node_make(p->b, WI_OP_NOT, at, 1, &x);
    }
    if (wi_token_is(p->b, &p->now, "-") || wi_token_is(p->b, &p->now, "+")) {
        return parse_sign(p);
    }
    return wi_parse_primary(p);
}

static struct wi_node *parse_binaries(struct wi_parse *p, struct wi_node *x,
                                      enum level level)
{
    const struct binary *op;
    while (x != NULL && (op = binary_at(p)) != NULL && op->level >= level &&
           op->level >= LEVEL_CONCAT) {
        uint32_t at = p->now.at;
        struct wi_node *y =
            wi_parse_step(p) ? parse(p, (enum level)(op->level + 1)) : NULL;
        x = y == NULL ? NULL : wi_node_pair(p->b, op->op, at, x, y);
    }
    return x;
}

static struct wi_node *parse(struct wi_parse *p, enum level level)
{
    if (++p->depth > WI_EXPR_DEPTH) {
        return wi_build_fail(p->b, p->now.at, "nested deeper than %u levels",
                             WI_EXPR_DEPTH);
    }
    struct wi_node *x = parse_prefix(p, level);
    x = parse_binaries(p, x, level);
    if (x != NULL && level <= LEVEL_COMPARE) {
        x = parse_compare(p, x);
    }
    for (int l = LEVEL_AND; l >= (int)level && l >= LEVEL_OR; l--) {
        const struct binary *op = x == NULL ? NULL : binary_at(p);
        if (op != NULL && op->level == (enum level)l) {
            x = chain(p, x, op);
        }
    }
    p->depth--;
    return x;
}

struct wi_node *wi_parse_any(struct wi_parse *p)
{
    return parse(p, LEVEL_OR);
}

struct wi_node *wi_parse_text(struct wi_expr_build *b)
{
    struct wi_parse p = {.b = b};
    if (!wi_lex_next(b, 0, &p.now)) {
        return NULL;
    }
    struct wi_node *root = wi_parse_any(&p);
    if (root != NULL && b->code == WEIR_OK && p.now.kind != WI_TOKEN_END) {
        char hint[WI_HINT_BYTES];
        char expected[WI_HINT_BYTES + 32];
        (void)snprintf(expected, sizeof(expected), "an operator or the end%s",
                       wi_hint_rest(b, &p.now, hint));
        return wi_parse_unexpected(&p, expected);
    }
    return b->code != WEIR_OK ? NULL : root;
}
