/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Hints for error messages: what was probably meant, if it is SQL of another
 * system or the habit of another language.
 *
 * All functions:
 *
 * Returns:    text for the end of a message, `: write ...`; empty: no hint
 * Errors:     none
 * Blocks:     never
 * Threads:    any
 * Ownership:  static, or the caller's `text`
 */
#ifndef WI_OPERATORS_EXPR_HINT_H
#define WI_OPERATORS_EXPR_HINT_H

#include "operators/expr/parse.h"

#define WI_HINT_BYTES 160

/** A character that expressions do not use. */
const char *wi_hint_sign(char c);

/** A function that does not exist. NULL: no hint. */
const char *wi_hint_function(const struct wi_expr_build *b,
                             const struct wi_token *name);

/** A column that does not exist. @param at  its byte in the text */
const char *wi_hint_column(const struct wi_expr_build *b, uint32_t at,
                           struct wi_str name, char text[WI_HINT_BYTES]);

/** An expression with text after its end. */
const char *wi_hint_rest(const struct wi_expr_build *b,
                         const struct wi_token *rest, char text[WI_HINT_BYTES]);

#endif /* WI_OPERATORS_EXPR_HINT_H */
