/* SPDX-License-Identifier: Apache-2.0 */
#include "operators/expr/hint.h"

#include <stdio.h>
#include <string.h>

#include "operators/base/neutral.h"

const char *wi_hint_sign(char c)
{
    static const struct {
        char c;
        const char *hint;
    } signs[] = {
        {'&', ": conditions are joined with `and`"},
        {'|', ": conditions are joined with `or`, texts with `||`"},
        {'!', ": write `not`, or `<>`"},
        {';', ": it is one value, without a `;`"},
        {'`', ": a name is quoted as \"name\""},
        {'[', ": a name is quoted as \"name\""},
        {'.', ": a column has no table in front"},
        {':', ": write cast(x as type)"},
        {'~', ": write `like`"},
    };
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (signs[i].c == c) {
            return signs[i].hint;
        }
    }
    return "";
}

#define AGGREGATE                                                              \
    "it is an aggregate, which stands in the aggregates of an aggregate "      \
    "operator only; a project above computes with its result"

const char *wi_hint_function(const struct wi_expr_build *b,
                             const struct wi_token *name)
{
    static const struct {
        const char *name;
        const char *hint;
    } functions[] = {
        {"sum", AGGREGATE},
        {"count", AGGREGATE},
        {"avg", AGGREGATE},
        {"min", AGGREGATE},
        {"max", AGGREGATE},
        {"concat", "write a || b"},
        {"substr", "write substring(s, a, b)"},
        {"left", "write substring(s, 1, n)"},
        {"len", "write length(s)"},
        {"char_length", "write length(s)"},
        {"if", "write case when c then a else b end"},
        {"iif", "write case when c then a else b end"},
        {"ifnull", "write coalesce(a, b)"},
        {"nvl", "write coalesce(a, b)"},
        {"isnull", "write x is null"},
        {"mod", "write a % b"},
        {"year", "write extract(year from x)"},
        {"month", "write extract(month from x)"},
        {"day", "write extract(day from x)"},
        {"exists", "it is a join of kind semi"},
    };
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (wi_token_is(b, name, functions[i].name)) {
            return functions[i].hint;
        }
    }
    return NULL;
}

/* Quotes of a word processor: U+2018, 2019, 201C, 201D. */
static bool begins_curly(struct wi_str name)
{
    return name.n_bytes >= 3 && memcmp(name.data, "\xe2\x80", 2) == 0 &&
           strchr("\x98\x99\x9c\x9d", name.data[2]) != NULL;
}

static const char *same_letters(const struct wi_columns *columns,
                                struct wi_str name)
{
    for (uint32_t i = 0; i < columns->n; i++) {
        const char *other = columns->at[i].name;
        if (strlen(other) == name.n_bytes &&
            wi_neutral_same(other, name.data, name.n_bytes)) {
            return other;
        }
    }
    return NULL;
}

const char *wi_hint_column(const struct wi_expr_build *b, uint32_t at,
                           struct wi_str name, char text[WI_HINT_BYTES])
{
    const char *other = same_letters(b->columns, name);
    const int n = name.n_bytes < 40 ? (int)name.n_bytes : 40;
    text[0] = '\0';
    if (other != NULL) {
        (void)snprintf(text, WI_HINT_BYTES,
                       "; names are matched exactly, as in `%.60s`", other);
    } else if (b->expr->text[at] == '"') {
        (void)snprintf(text, WI_HINT_BYTES,
                       "; a text stands in single quotes, '%.*s'", n,
                       name.data);
    } else if (begins_curly(name)) {
        (void)snprintf(text, WI_HINT_BYTES, "; quotes are straight, ' or \"");
    }
    return text;
}

/* A column whose name has a space and occurs in the expression. */
static const char *spaced(const struct wi_expr_build *b)
{
    for (uint32_t i = 0; i < b->columns->n; i++) {
        const char *name = b->columns->at[i].name;
        if (strchr(name, ' ') != NULL && strstr(b->expr->text, name) != NULL) {
            return name;
        }
    }
    return NULL;
}

const char *wi_hint_rest(const struct wi_expr_build *b,
                         const struct wi_token *rest, char text[WI_HINT_BYTES])
{
    const char *name = spaced(b);
    text[0] = '\0';
    if (wi_token_is(b, rest, "as")) {
        (void)snprintf(text, WI_HINT_BYTES,
                       "; a name stands beside the expression: {\"name\": .., "
                       "\"expr\": ..}");
    } else if (rest->kind == WI_TOKEN_NAME && name != NULL) {
        (void)snprintf(text, WI_HINT_BYTES,
                       "; a name with spaces is quoted, \"%.60s\"", name);
    }
    return text;
}
