/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Tokens of an expression's text.
 *
 *   price*2 >= 'it''s'   -->   NAME SIGN NUMBER SIGN TEXT END
 */
#ifndef WI_OPERATORS_EXPR_LEX_H
#define WI_OPERATORS_EXPR_LEX_H

#include "operators/expr/node.h"

enum wi_token_kind {
    WI_TOKEN_END,
    WI_TOKEN_NAME,   /* a word, or a column */
    WI_TOKEN_QUOTED, /* "a column" */
    WI_TOKEN_NUMBER,
    WI_TOKEN_TEXT, /* 'text' */
    WI_TOKEN_HEX,  /* x'00ff' */
    WI_TOKEN_SIGN,
};

/** n_bytes of the text, from byte `at`. */
struct wi_token {
    enum wi_token_kind kind;
    uint32_t at;
    uint32_t n_bytes;
};

/** The first token that begins at or after byte `from`. false: reported. */
bool wi_lex_next(struct wi_expr_build *b, uint32_t from, struct wi_token *out);

/** Is it this word (any case), or this sign? */
bool wi_token_is(const struct wi_expr_build *b, const struct wi_token *token,
                 const char *word);

/** Content of a QUOTED or TEXT token: without its quotes, and with doubled
 *  quotes as single ones. data NULL: no memory, reported. */
struct wi_str wi_token_content(struct wi_expr_build *b,
                               const struct wi_token *token);

/** For messages: the token, cut to fit. */
#define WI_TOKEN_TEXT_BYTES 48
const char *wi_token_text(const struct wi_expr_build *b,
                          const struct wi_token *token,
                          char text[WI_TOKEN_TEXT_BYTES]);

#endif /* WI_OPERATORS_EXPR_LEX_H */
