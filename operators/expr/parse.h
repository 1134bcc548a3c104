/* SPDX-License-Identifier: Apache-2.0 */
/** Text to a tree without types; docs/expressions.md has the grammar. */
#ifndef WI_OPERATORS_EXPR_PARSE_H
#define WI_OPERATORS_EXPR_PARSE_H

#include "operators/expr/lex.h"

struct wi_parse {
    struct wi_expr_build *b;
    struct wi_token now;
    uint32_t depth;
};

/** The tree of the whole text. NULL: reported. */
struct wi_node *wi_parse_text(struct wi_expr_build *b);

/** An expression with operators of any level, as in `a or b`. */
struct wi_node *wi_parse_any(struct wi_parse *p);

/** A constant, a column, a call, case, or something in parentheses. */
struct wi_node *wi_parse_primary(struct wi_parse *p);

/** The NUMBER token in p->now; minus: a `-` stood before it. */
struct wi_node *wi_parse_number(struct wi_parse *p, uint32_t at, bool minus);

/** A literal that begins with a type: `date '2013-07-01'`. */
struct wi_node *wi_parse_typed(struct wi_parse *p);
/** The HEX token in p->now. */
struct wi_node *wi_parse_hex(struct wi_parse *p);
/** The TEXT token in p->now. */
struct wi_node *wi_parse_string(struct wi_parse *p);

/** A type's name, as in `cast(x as decimal(12,2))`. false: reported. */
bool wi_parse_type(struct wi_parse *p, struct wi_type *out);

/** Go to the next token. false: reported. */
bool wi_parse_step(struct wi_parse *p);
/** Step over this word or sign. false: it is not there. */
bool wi_parse_skip(struct wi_parse *p, const char *word);
/** Step over this word or sign. false: reported that it was expected. */
bool wi_parse_want(struct wi_parse *p, const char *word);
/** Report that something else was expected. Returns NULL. */
void *wi_parse_unexpected(struct wi_parse *p, const char *expected);

#endif /* WI_OPERATORS_EXPR_PARSE_H */
