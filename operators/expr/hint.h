/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a mistake was probably meant to be: SQL of other systems, and habits of
 * other languages.
 *
 * All of them:
 *
 * Returns:    a text for the end of a message, `: write ...`; empty: no idea
 * Errors:     none
 * Blocks:     never
 * Threads:    any
 * Ownership:  static, or the caller's `text`
 */
#ifndef WI_OPERATORS_EXPR_HINT_H
#define WI_OPERATORS_EXPR_HINT_H

#include "operators/expr/parse.h"

#define WI_HINT_BYTES 160

/** A character that no expression has. */
const char *wi_hint_sign(char c);

/** A function that there is not; NULL: no idea. */
const char *wi_hint_function(const struct wi_expr_build *b,
                             const struct wi_token *name);

/** A column that there is not. @param at  where it stands in the expression */
const char *wi_hint_column(const struct wi_expr_build *b, uint32_t at,
                           struct wi_str name, char text[WI_HINT_BYTES]);

/** An expression with text after its end. */
const char *wi_hint_rest(const struct wi_expr_build *b,
                         const struct wi_token *rest, char text[WI_HINT_BYTES]);

#endif /* WI_OPERATORS_EXPR_HINT_H */
