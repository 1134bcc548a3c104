/* SPDX-License-Identifier: Apache-2.0 */
/* Literals. The type of a number depends on how it is written: 1 is int64,
 * 1.50 is decimal(3,2), 1.5e0 is float64. */
#include <stdio.h>
#include <string.h>

#include "operators/expr/parse.h"
#include "operators/expr/value.h"

static struct wi_str slice(const struct wi_parse *p,
                           const struct wi_token *token)
{
    return (struct wi_str){p->b->expr->text + token->at, token->n_bytes};
}

/* A constant of this type from the text of a literal. */
static struct wi_node *make(struct wi_parse *p, uint32_t at,
                            const struct wi_type *type, struct wi_str text)
{
    struct wi_value value;
    char name[WI_TYPE_TEXT_BYTES];
    int most = text.n_bytes > 60 ? 60 : (int)text.n_bytes;
    switch (wi_value_read(text, type, &value)) {
    case WI_READ_OK:
        return wi_node_const(p->b, at, type, &value);
    case WI_READ_MISFIT:
        return wi_build_fail(p->b, at, "%.*s does not fit %s", most, text.data,
                             wi_expr_type_text(type, name));
    case WI_READ_MALFORMED:
        break;
    }
    return wi_build_fail(p->b, at, "found '%.*s': expected %s for %s", most,
                         text.data, wi_value_form(type),
                         wi_expr_type_text(type, name));
}

static bool decimal_type(struct wi_parse *p, uint32_t at, struct wi_str text,
                         struct wi_type *out)
{
    struct wi_digits d = wi_digits_of(text);
    uint32_t digits = d.precision > d.scale ? d.precision : d.scale;
    if (digits > WI_DECIMAL_MOST) {
        (void)wi_build_fail(p->b, at,
                            "a number of %u digits: decimals have at most %d; "
                            "write 1e0 for a float64",
                            digits, WI_DECIMAL_MOST);
        return false;
    }
    *out = (struct wi_type){.kind = WI_TYPE_DECIMAL,
                            .precision = (uint8_t)digits,
                            .scale = (uint8_t)d.scale};
    return true;
}

struct wi_node *wi_parse_number(struct wi_parse *p, uint32_t at, bool minus)
{
    struct wi_str text = slice(p, &p->now);
    struct wi_type type = {.kind = WI_TYPE_INT64};
    struct wi_value value;
    if (minus) { /* spaces may stand between sign and digits */
        char *joined = wi_build_take(p->b, text.n_bytes + 1);
        if (joined == NULL) {
            return NULL;
        }
        joined[0] = '-';
        memcpy(joined + 1, text.data, text.n_bytes);
        text = (struct wi_str){joined, text.n_bytes + 1};
    }
    if (memchr(text.data, 'e', text.n_bytes) != NULL ||
        memchr(text.data, 'E', text.n_bytes) != NULL) {
        type.kind = WI_TYPE_FLOAT64;
    } else if ((memchr(text.data, '.', text.n_bytes) != NULL ||
                wi_value_read(text, &type, &value) != WI_READ_OK) &&
               !decimal_type(p, at, text, &type)) {
        return NULL;
    }
    struct wi_node *node = make(p, at, &type, text);
    return node != NULL && wi_parse_step(p) ? node : NULL;
}

struct wi_node *wi_parse_string(struct wi_parse *p)
{
    uint32_t at = p->now.at;
    struct wi_str text = wi_token_content(p->b, &p->now);
    struct wi_type type = {.kind = WI_TYPE_UTF8};
    return text.data != NULL && wi_parse_step(p) ? make(p, at, &type, text)
                                                 : NULL;
}

struct wi_node *wi_parse_hex(struct wi_parse *p)
{
    uint32_t at = p->now.at;
    struct wi_str digits = slice(p, &p->now); /* x'...' */
    char *bytes = wi_build_take(p->b, digits.n_bytes);
    struct wi_str value = {bytes, (digits.n_bytes - 3) / 2};
    if (bytes == NULL) {
        return NULL;
    }
    bool ok = digits.n_bytes % 2 == 1;
    for (uint32_t i = 0; ok && i < value.n_bytes; i++) {
        int high = wi_hex_digit(digits.data[2 + 2 * i]);
        int low = wi_hex_digit(digits.data[3 + 2 * i]);
        ok = high >= 0 && low >= 0;
        bytes[i] = (char)(high * 16 + low);
    }
    if (!ok) {
        return wi_build_fail(p->b, at,
                             "expected pairs of hex digits, as in x'0aff'");
    }
    struct wi_type type = {.kind = WI_TYPE_BINARY};
    return wi_parse_step(p) ? make(p, at, &type, value) : NULL;
}

/* Read `Decimal(12, 2)` into name as `decimal(12,2)`. false: reported. */
static bool type_name(struct wi_parse *p, char *name, size_t room)
{
    size_t n = 0;
    bool inside = false;
    do {
        struct wi_str word = slice(p, &p->now);
        if (n + word.n_bytes + 1 > room) {
            return true; /* too long: the caller will not find such a type */
        }
        memcpy(name + n, word.data, word.n_bytes);
        n += word.n_bytes;
        name[n] = '\0';
        inside = (inside || wi_token_is(p->b, &p->now, "(")) &&
                 !wi_token_is(p->b, &p->now, ")");
        if (!wi_parse_step(p)) {
            return false;
        }
    } while (p->now.kind != WI_TOKEN_END &&
             (inside || (n > 0 && name[n - 1] != ')' &&
                         wi_token_is(p->b, &p->now, "("))));
    for (char *c = name; *c != '\0'; c++) {
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c | 0x20 : *c);
    }
    return true;
}

bool wi_parse_type(struct wi_parse *p, struct wi_type *out)
{
    char name[WI_TYPE_TEXT_BYTES] = "";
    uint32_t at = p->now.at;
    if (p->now.kind != WI_TOKEN_NAME) {
        (void)wi_parse_unexpected(p, "a type, as in int64 or decimal(12,2)");
        return false;
    }
    if (!type_name(p, name, sizeof(name))) {
        return false;
    }
    if (!wi_type_parse(name, out)) {
        (void)wi_build_fail(
            p->b, at,
            "there is no type `%s`: expected bool, int8 .. int64, uint8 .. "
            "uint64, float32, float64, decimal(P,S), date, timestamp(s|ms|us|"
            "ns), utf8, binary or fixed(N)",
            name);
        return false;
    }
    return true;
}

/* The digits of decimal '1.20' and the unit of timestamp '...' come from the
 * text. */
static bool detail(struct wi_parse *p, uint32_t at, bool is_decimal,
                   struct wi_str text, struct wi_type *out)
{
    if (is_decimal) {
        return decimal_type(p, at, text, out);
    }
    *out =
        (struct wi_type){.kind = WI_TYPE_TIMESTAMP, .unit = wi_unit_of(text)};
    return true;
}

/* Read the text of a literal, and the closing parenthesis if one was opened. */
static bool typed_text(struct wi_parse *p, bool opened, struct wi_str *out)
{
    if (p->now.kind != WI_TOKEN_TEXT) {
        (void)wi_parse_unexpected(p, "a text in single quotes");
        return false;
    }
    *out = wi_token_content(p->b, &p->now);
    return out->data != NULL && wi_parse_step(p) &&
           (!opened || wi_parse_want(p, ")"));
}

struct wi_node *wi_parse_typed(struct wi_parse *p)
{
    struct wi_token name = p->now;
    struct wi_token next;
    struct wi_token after = {.kind = WI_TOKEN_END};
    if (!wi_lex_next(p->b, name.at + name.n_bytes, &next) ||
        !wi_lex_next(p->b, next.at + next.n_bytes, &after)) {
        return NULL;
    }
    bool opened = next.kind != WI_TOKEN_TEXT && after.kind == WI_TOKEN_TEXT &&
                  !wi_token_is(p->b, &name, "fixed");
    bool is_decimal = wi_token_is(p->b, &name, "decimal");
    bool bare = next.kind == WI_TOKEN_TEXT || opened;
    bool detailed =
        bare && (is_decimal || wi_token_is(p->b, &name, "timestamp"));
    struct wi_type type;
    struct wi_str text;
    if (detailed || opened) {
        if (!wi_parse_step(p) || (opened && !wi_parse_step(p))) {
            return NULL;
        }
        type = (struct wi_type){.kind = WI_TYPE_DATE32};
    } else if (!wi_parse_type(p, &type)) {
        return NULL;
    }
    if (!typed_text(p, opened, &text) ||
        (detailed && !detail(p, name.at, is_decimal, text, &type))) {
        return NULL;
    }
    return make(p, name.at, &type, text);
}
