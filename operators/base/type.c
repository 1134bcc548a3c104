/* SPDX-License-Identifier: Apache-2.0 */
/* Types: their representation, and their names. */
#include "operators/base/type.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By enum wi_type_kind. */
static const struct {
    const char *name;
    enum wi_rep rep;
    uint32_t bytes; /* in Arrow */
} kinds[] = {
    [WI_TYPE_BOOL] = {"bool", WI_BOOL, 0},
    [WI_TYPE_INT8] = {"int8", WI_I64, 1},
    [WI_TYPE_INT16] = {"int16", WI_I64, 2},
    [WI_TYPE_INT32] = {"int32", WI_I64, 4},
    [WI_TYPE_INT64] = {"int64", WI_I64, 8},
    [WI_TYPE_UINT8] = {"uint8", WI_I64, 1},
    [WI_TYPE_UINT16] = {"uint16", WI_I64, 2},
    [WI_TYPE_UINT32] = {"uint32", WI_I64, 4},
    [WI_TYPE_UINT64] = {"uint64", WI_I128, 8},
    [WI_TYPE_FLOAT32] = {"float32", WI_F64, 4},
    [WI_TYPE_FLOAT64] = {"float64", WI_F64, 8},
    [WI_TYPE_DATE32] = {"date", WI_I64, 4},
    [WI_TYPE_TIMESTAMP] = {"timestamp", WI_I64, 8},
    [WI_TYPE_DECIMAL] = {"decimal", WI_I128, 16}, /* small ones: WI_I64 */
    [WI_TYPE_UTF8] = {"utf8", WI_STR, 0},
    [WI_TYPE_BINARY] = {"binary", WI_STR, 0},
    [WI_TYPE_FIXED] = {"fixed", WI_STR, 0},
};
enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]), FIXED_MOST = 4096 };

static const char *const units[] = {"s", "ms", "us", "ns"};
enum { N_UNITS = sizeof(units) / sizeof(units[0]) };

enum wi_rep wi_type_rep(const struct wi_type *type)
{
    if (type->kind == WI_TYPE_DECIMAL && type->precision <= WI_DECIMAL_SMALL) {
        return WI_I64;
    }
    return kinds[type->kind].rep;
}

uint32_t wi_rep_bytes(enum wi_rep rep)
{
    switch (rep) {
    case WI_BOOL:
        return sizeof(uint8_t);
    case WI_I64:
        return sizeof(int64_t);
    case WI_I128:
        return sizeof(wi_i128);
    case WI_F64:
        return sizeof(double);
    case WI_STR:
        return sizeof(struct wi_str);
    }
    return 0;
}

uint32_t wi_type_bytes(const struct wi_type *type)
{
    return type->kind == WI_TYPE_FIXED ? type->n_bytes
                                       : kinds[type->kind].bytes;
}

bool wi_type_is_var(const struct wi_type *type)
{
    return type->kind == WI_TYPE_UTF8 || type->kind == WI_TYPE_BINARY;
}

bool wi_type_is_integer(const struct wi_type *type)
{
    return type->kind >= WI_TYPE_INT8 && type->kind <= WI_TYPE_UINT64;
}

bool wi_type_is_number(const struct wi_type *type)
{
    return wi_type_is_integer(type) || type->kind == WI_TYPE_FLOAT32 ||
           type->kind == WI_TYPE_FLOAT64 || type->kind == WI_TYPE_DECIMAL;
}

bool wi_type_same(const struct wi_type *a, const struct wi_type *b)
{
    return a->kind == b->kind && a->precision == b->precision &&
           a->scale == b->scale && a->unit == b->unit &&
           a->n_bytes == b->n_bytes;
}

const char *wi_type_text(const struct wi_type *type,
                         char text[WI_TYPE_TEXT_BYTES])
{
    const char *name = kinds[type->kind].name;
    const char *mark = type->nullable ? "?" : "";
    if (type->kind == WI_TYPE_DECIMAL) {
        (void)snprintf(text, WI_TYPE_TEXT_BYTES, "%s(%u,%u)%s", name,
                       type->precision, type->scale, mark);
    } else if (type->kind == WI_TYPE_TIMESTAMP) {
        (void)snprintf(text, WI_TYPE_TEXT_BYTES, "%s(%s)%s", name,
                       units[type->unit], mark);
    } else if (type->kind == WI_TYPE_FIXED) {
        (void)snprintf(text, WI_TYPE_TEXT_BYTES, "%s(%" PRIu32 ")%s", name,
                       type->n_bytes, mark);
    } else {
        (void)snprintf(text, WI_TYPE_TEXT_BYTES, "%s%s", name, mark);
    }
    return text;
}

/* A number of at most four digits, or -1; moves *at to its end. */
static int digits(const char **at)
{
    int value = 0;
    int n = 0;
    for (; **at >= '0' && **at <= '9' && n < 4; n++, (*at)++) {
        value = value * 10 + (**at - '0');
    }
    return n == 0 ? -1 : value;
}

static bool parse_decimal(const char **at, struct wi_type *type)
{
    int precision = digits(at);
    int scale = 0;
    if (**at == ',') {
        (*at)++;
        scale = digits(at);
    }
    if (precision < 1 || precision > WI_DECIMAL_MOST || scale < 0 ||
        scale > precision) {
        return false;
    }
    type->precision = (uint8_t)precision;
    type->scale = (uint8_t)scale;
    return true;
}

static bool parse_unit(const char **at, struct wi_type *type)
{
    size_t len = strcspn(*at, ")");
    for (uint8_t i = 0; i < N_UNITS; i++) {
        if (strlen(units[i]) == len && memcmp(units[i], *at, len) == 0) {
            type->unit = i;
            *at += len;
            return true;
        }
    }
    return false;
}

static bool parse_width(const char **at, struct wi_type *type)
{
    int bytes = digits(at);
    type->n_bytes = (uint32_t)bytes;
    return bytes >= 1 && bytes <= FIXED_MOST;
}

/* What is in parentheses; *at is after the opening one. */
static bool parse_detail(const char **at, struct wi_type *type)
{
    bool ok = type->kind == WI_TYPE_DECIMAL     ? parse_decimal(at, type)
              : type->kind == WI_TYPE_TIMESTAMP ? parse_unit(at, type)
              : type->kind == WI_TYPE_FIXED     ? parse_width(at, type)
                                                : false;
    if (!ok || **at != ')') {
        return false;
    }
    (*at)++;
    return true;
}

static bool parse_kind(const char *text, size_t len, enum wi_type_kind *out)
{
    for (uint32_t k = 0; k < N_KINDS; k++) {
        if (strlen(kinds[k].name) == len &&
            memcmp(kinds[k].name, text, len) == 0) {
            *out = (enum wi_type_kind)k;
            return true;
        }
    }
    return false;
}

bool wi_type_parse(const char *text, struct wi_type *out)
{
    struct wi_type type = {.unit = WI_MICRO};
    size_t len = strcspn(text, "(?");
    if (!parse_kind(text, len, &type.kind)) {
        return false;
    }
    if (type.kind != WI_TYPE_TIMESTAMP) {
        type.unit = 0;
    }
    const char *at = text + len;
    if (*at == '(') {
        at++;
        if (!parse_detail(&at, &type)) {
            return false;
        }
    } else if (type.kind == WI_TYPE_DECIMAL || type.kind == WI_TYPE_FIXED) {
        return false;
    }
    if (*at == '?') {
        type.nullable = true;
        at++;
    }
    if (*at != '\0') {
        return false;
    }
    *out = type;
    return true;
}
