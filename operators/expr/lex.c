/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens. Bytes above 127 belong to names; the text is known to be UTF-8. */
#include "operators/expr/lex.h"

#include <stdio.h>
#include <string.h>

#include "operators/base/neutral.h"
#include "operators/expr/hint.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool starts_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (c & 0x80) != 0;
}

static bool in_name(char c)
{
    return starts_name(c) || is_digit(c);
}

static const char *digits(const char *s)
{
    while (is_digit(*s)) {
        s++;
    }
    return s;
}

/* 12, 1.50, .5, 1.5e-3 */
static bool number(struct wi_expr_build *b, const char *start,
                   struct wi_token *token)
{
    const char *s = digits(start);
    if (*s == '.') {
        s = digits(s + 1);
    }
    if (*s == 'e' || *s == 'E') {
        s += s[1] == '+' || s[1] == '-' ? 2 : 1;
        if (!is_digit(*s)) {
            (void)wi_build_fail(b, token->at,
                                "a number's exponent has no digits");
            return false;
        }
        s = digits(s);
    }
    if (in_name(*s) || *s == '.') {
        (void)wi_build_fail(b, token->at,
                            "%.*s... is neither a number nor a name",
                            (int)(s - start < 30 ? s - start : 30), start);
        return false;
    }
    token->kind = WI_TOKEN_NUMBER;
    token->n_bytes = (uint32_t)(s - start);
    return true;
}

/* The byte after the closing quote; doubled quotes are content. NULL: no
 * closing quote, reported. */
static const char *quoted(struct wi_expr_build *b, const char *open,
                          uint32_t at)
{
    char quote = *open;
    for (const char *s = open + 1; *s != '\0'; s++) {
        if (*s != quote) {
            continue;
        }
        if (s[1] != quote) {
            return s + 1;
        }
        s++;
    }
    return wi_build_fail(b, at, "the closing %c is missing", quote);
}

static bool sign(struct wi_expr_build *b, const char *s, struct wi_token *token)
{
    static const char *const two[] = {"<>", "!=", "<=", ">=", "||"};
    token->kind = WI_TOKEN_SIGN;
    token->n_bytes = 1;
    for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++) {
        if (s[0] == two[i][0] && s[1] == two[i][1]) {
            token->n_bytes = 2;
            return true;
        }
    }
    if (s[0] == '=' && s[1] == '=') {
        (void)wi_build_fail(b, token->at,
                            "`==` has no meaning in an expression: write `=`");
        return false;
    }
    if (strchr("+-*/%=<>(),", *s) != NULL) {
        return true;
    }
    (void)wi_build_fail(
        b, token->at, "'%c' (0x%02x) has no meaning in an expression%s",
        *s >= ' ' ? *s : '?', (unsigned char)*s, wi_hint_sign(*s));
    return false;
}

bool wi_lex_next(struct wi_expr_build *b, uint32_t from, struct wi_token *out)
{
    const char *text = b->expr->text;
    const char *s = text + from;
    while (is_space(*s)) {
        s++;
    }
    *out = (struct wi_token){.at = (uint32_t)(s - text)};
    if (*s == '\0') {
        return true;
    }
    if (is_digit(*s) || (*s == '.' && is_digit(s[1]))) {
        return number(b, s, out);
    }
    bool hex = (*s == 'x' || *s == 'X') && s[1] == '\'';
    if (hex || *s == '\'' || *s == '"') {
        const char *end = quoted(b, s + (hex ? 1 : 0), out->at);
        out->kind = hex          ? WI_TOKEN_HEX
                    : *s == '\'' ? WI_TOKEN_TEXT
                                 : WI_TOKEN_QUOTED;
        out->n_bytes = end == NULL ? 0 : (uint32_t)(end - s);
        return end != NULL;
    }
    if (starts_name(*s)) {
        out->kind = WI_TOKEN_NAME;
        while (in_name(s[out->n_bytes])) {
            out->n_bytes++;
        }
        return true;
    }
    return sign(b, s, out);
}

bool wi_token_is(const struct wi_expr_build *b, const struct wi_token *token,
                 const char *word)
{
    return (token->kind == WI_TOKEN_NAME || token->kind == WI_TOKEN_SIGN) &&
           strlen(word) == token->n_bytes &&
           wi_neutral_same(b->expr->text + token->at, word, token->n_bytes);
}

struct wi_str wi_token_content(struct wi_expr_build *b,
                               const struct wi_token *token)
{
    const char *s = b->expr->text + token->at;
    char quote = *s;
    struct wi_str content = {.data = NULL};
    char *to = wi_build_take(b, token->n_bytes);
    if (to == NULL) {
        return content;
    }
    for (uint32_t i = 1; i + 1 < token->n_bytes; i++) {
        to[content.n_bytes++] = s[i];
        i += s[i] == quote;
    }
    content.data = to;
    return content;
}

const char *wi_token_text(const struct wi_expr_build *b,
                          const struct wi_token *token,
                          char text[WI_TOKEN_TEXT_BYTES])
{
    if (token->kind == WI_TOKEN_END) {
        (void)snprintf(text, WI_TOKEN_TEXT_BYTES, "the end");
        return text;
    }
    int most = WI_TOKEN_TEXT_BYTES - 8;
    int n = (int)token->n_bytes < most ? (int)token->n_bytes : most;
    (void)snprintf(text, WI_TOKEN_TEXT_BYTES, "`%.*s`%s", n,
                   b->expr->text + token->at,
                   n < (int)token->n_bytes ? "..." : "");
    return text;
}
