/* SPDX-License-Identifier: Apache-2.0 */
/* Operands: constants, columns, calls, case, parentheses. */
#include <string.h>

#include "operators/expr/hint.h"
#include "operators/expr/parse.h"

static const char *const reserved[] = {
    "and",  "or",   "not",  "is",   "in",  "between", "like", "escape",
    "case", "when", "then", "else", "end", "from",    "for",  "as",
};

static const struct function {
    const char *name;
    enum wi_expr_op op;
    uint32_t least;
    uint32_t most;
} functions[] = {
    {"coalesce", WI_OP_COALESCE, 1, UINT32_MAX},
    {"nullif", WI_OP_NULLIF, 2, 2},
    {"length", WI_OP_LENGTH, 1, 1},
    {"lower", WI_OP_LOWER, 1, 1},
    {"upper", WI_OP_UPPER, 1, 1},
    {"abs", WI_OP_ABS, 1, 1},
    {"round", WI_OP_ROUND, 1, 2},
};

static const char *const fields[] = {
    [WI_FIELD_YEAR] = "year",     [WI_FIELD_QUARTER] = "quarter",
    [WI_FIELD_MONTH] = "month",   [WI_FIELD_DAY] = "day",
    [WI_FIELD_HOUR] = "hour",     [WI_FIELD_MINUTE] = "minute",
    [WI_FIELD_SECOND] = "second", [WI_FIELD_DOW] = "dow",
    [WI_FIELD_DOY] = "doy",
};

static struct wi_node *column(struct wi_parse *p)
{
    struct wi_node *node = wi_node_make(p->b, WI_OP_COLUMN, p->now.at, 0, NULL);
    if (node == NULL) {
        return NULL;
    }
    node->name = (struct wi_str){p->b->expr->text + p->now.at, p->now.n_bytes};
    if (p->now.kind == WI_TOKEN_QUOTED) {
        node->name = wi_token_content(p->b, &p->now);
    }
    return node->name.data != NULL && wi_parse_step(p) ? node : NULL;
}

static struct wi_node *constant(struct wi_parse *p, const char *word)
{
    struct wi_value value = {.b = word[0] == 't', .null = word[0] == 'n'};
    struct wi_type type = {.kind = WI_TYPE_BOOL};
    struct wi_node *node = wi_node_const(p->b, p->now.at, &type, &value);
    if (node == NULL || !wi_parse_step(p)) {
        return NULL;
    }
    node->untyped = value.null;
    return node;
}

static struct wi_node *cast(struct wi_parse *p, uint32_t at)
{
    struct wi_type type;
    struct wi_node *x = wi_parse_any(p);
    if (x == NULL || !wi_parse_want(p, "as") || !wi_parse_type(p, &type) ||
        !wi_parse_want(p, ")")) {
        return NULL;
    }
    x = wi_node_make(p->b, WI_OP_CAST, at, 1, &x);
    if (x != NULL) {
        x->type = type;
    }
    return x;
}

static struct wi_node *extract(struct wi_parse *p, uint32_t at)
{
    uint32_t field = 0;
    uint32_t n = sizeof(fields) / sizeof(fields[0]);
    while (field < n && !wi_token_is(p->b, &p->now, fields[field])) {
        field++;
    }
    if (field == n) {
        return wi_parse_unexpected(p, "year, quarter, month, day, hour, "
                                      "minute, second, dow or doy");
    }
    if (!wi_parse_step(p) || !wi_parse_want(p, "from")) {
        return NULL;
    }
    struct wi_node *x = wi_parse_any(p);
    if (x == NULL || !wi_parse_want(p, ")")) {
        return NULL;
    }
    x = wi_node_make(p->b, WI_OP_EXTRACT, at, 1, &x);
    if (x != NULL) {
        x->field = (enum wi_field)field;
    }
    return x;
}

/* substring(s from a [for b]), substring(s, a[, b]) */
static struct wi_node *substring(struct wi_parse *p, uint32_t at)
{
    struct wi_node *args[3] = {wi_parse_any(p)};
    uint32_t n = 1;
    if (args[0] == NULL) {
        return NULL;
    }
    bool words = wi_parse_skip(p, "from");
    if (!words && !wi_parse_want(p, ",")) {
        return NULL;
    }
    do {
        args[n] = wi_parse_any(p);
        if (args[n++] == NULL) {
            return NULL;
        }
    } while (n < 3 && wi_parse_skip(p, words ? "for" : ","));
    return wi_parse_want(p, ")")
               ? wi_node_make(p->b, WI_OP_SUBSTRING, at, n, args)
               : NULL;
}

/* From after the opening parenthesis. */
static struct wi_node *arguments(struct wi_parse *p, uint32_t at,
                                 const struct function *f)
{
    struct wi_node_list list = {.n = 0};
    do {
        if (!wi_node_list_add(p->b, &list, wi_parse_any(p))) {
            return NULL;
        }
    } while (wi_parse_skip(p, ","));
    if (!wi_parse_want(p, ")")) {
        return NULL;
    }
    if (list.n < f->least || list.n > f->most) {
        return wi_build_fail(p->b, at, "%s has %u argument%s: expected %u%s",
                             f->name, list.n, list.n == 1 ? "" : "s", f->least,
                             f->most == f->least     ? ""
                             : f->most == UINT32_MAX ? " or more"
                                                     : " or 2");
    }
    return wi_node_make(p->b, f->op, at, list.n, list.at);
}

static struct wi_node *unknown_function(struct wi_parse *p,
                                        const struct wi_token *name)
{
    char text[WI_TOKEN_TEXT_BYTES];
    const char *hint = wi_hint_function(p->b, name);
    return wi_build_fail(
        p->b, name->at, "there is no function %s: %s",
        wi_token_text(p->b, name, text),
        hint != NULL ? hint
                     : "expected abs, cast, coalesce, extract, length, lower, "
                       "nullif, round, substring or upper");
}

static struct wi_node *call(struct wi_parse *p, const struct wi_token *name)
{
    if (wi_token_is(p->b, name, "cast")) {
        return cast(p, name->at);
    }
    if (wi_token_is(p->b, name, "extract")) {
        return extract(p, name->at);
    }
    if (wi_token_is(p->b, name, "substring")) {
        return substring(p, name->at);
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (wi_token_is(p->b, name, functions[i].name)) {
            return arguments(p, name->at, &functions[i]);
        }
    }
    return unknown_function(p, name);
}

/* case [x] when v then r ... [else r] end; the arguments are in this order. */
static struct wi_node *parse_case(struct wi_parse *p)
{
    struct wi_node_list list = {.n = 0};
    uint32_t at = p->now.at;
    if (!wi_parse_step(p)) {
        return NULL;
    }
    bool searched = !wi_token_is(p->b, &p->now, "when");
    if (searched && !wi_node_list_add(p->b, &list, wi_parse_any(p))) {
        return NULL;
    }
    do {
        if (!wi_parse_want(p, "when") ||
            !wi_node_list_add(p->b, &list, wi_parse_any(p)) ||
            !wi_parse_want(p, "then") ||
            !wi_node_list_add(p->b, &list, wi_parse_any(p))) {
            return NULL;
        }
    } while (wi_token_is(p->b, &p->now, "when"));
    if (wi_parse_skip(p, "else") &&
        !wi_node_list_add(p->b, &list, wi_parse_any(p))) {
        return NULL;
    }
    struct wi_node *node =
        wi_parse_want(p, "end")
            ? wi_node_make(p->b, WI_OP_CASE, at, list.n, list.at)
            : NULL;
    if (node != NULL) {
        node->searched = searched;
    }
    return node;
}

static struct wi_node *parenthesised(struct wi_parse *p)
{
    struct wi_node *x = wi_parse_step(p) ? wi_parse_any(p) : NULL;
    return x != NULL && wi_parse_want(p, ")") ? x : NULL;
}

static bool is_reserved(const struct wi_parse *p)
{
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        if (wi_token_is(p->b, &p->now, reserved[i])) {
            return true;
        }
    }
    return false;
}

/* date '...', decimal(12,2) '...', timestamp('...'); must be asked before the
 * name is read as a call. */
static bool begins_literal(struct wi_parse *p, struct wi_token *next)
{
    if (!wi_lex_next(p->b, p->now.at + p->now.n_bytes, next)) {
        return false;
    }
    return next->kind == WI_TOKEN_TEXT ||
           (wi_token_is(p->b, next, "(") &&
            (wi_token_is(p->b, &p->now, "decimal") ||
             wi_token_is(p->b, &p->now, "fixed") ||
             wi_token_is(p->b, &p->now, "date") ||
             wi_token_is(p->b, &p->now, "timestamp")));
}

static struct wi_node *named(struct wi_parse *p)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (wi_token_is(p->b, &p->now, words[i])) {
            return constant(p, words[i]);
        }
    }
    if (wi_token_is(p->b, &p->now, "case")) {
        return parse_case(p);
    }
    if (is_reserved(p)) {
        return wi_parse_unexpected(p, "a value; quote a column of this name, "
                                      "as in \"end\"");
    }
    struct wi_token name = p->now;
    struct wi_token next;
    if (begins_literal(p, &next)) {
        return wi_parse_typed(p);
    }
    if (p->b->code != WEIR_OK || !wi_token_is(p->b, &next, "(")) {
        return p->b->code != WEIR_OK ? NULL : column(p);
    }
    return wi_parse_step(p) && wi_parse_step(p) ? call(p, &name) : NULL;
}

struct wi_node *wi_parse_primary(struct wi_parse *p)
{
    switch (p->now.kind) {
    case WI_TOKEN_NAME:
        return named(p);
    case WI_TOKEN_QUOTED:
        return column(p);
    case WI_TOKEN_NUMBER:
        return wi_parse_number(p, p->now.at, false);
    case WI_TOKEN_TEXT:
        return wi_parse_string(p);
    case WI_TOKEN_HEX:
        return wi_parse_hex(p);
    case WI_TOKEN_SIGN:
        if (wi_token_is(p->b, &p->now, "(")) {
            return parenthesised(p);
        }
        break;
    case WI_TOKEN_END:
        break;
    }
    return wi_parse_unexpected(p, "a value");
}
