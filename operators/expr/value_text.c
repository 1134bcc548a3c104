/* SPDX-License-Identifier: Apache-2.0 */
/* Values as text, limits of types, and numbers between kinds. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "operators/expr/value.h"

wi_i128 wi_pow10(uint32_t n)
{
    wi_i128 v = 1;
    for (; n > 0; n--) {
        v *= 10;
    }
    return v;
}

struct wi_value_range wi_type_range(const struct wi_type *type)
{
    static const struct {
        int64_t least;
        uint64_t most;
    } integers[] = {
        [WI_TYPE_INT8] = {INT8_MIN, INT8_MAX},
        [WI_TYPE_INT16] = {INT16_MIN, INT16_MAX},
        [WI_TYPE_INT32] = {INT32_MIN, INT32_MAX},
        [WI_TYPE_INT64] = {INT64_MIN, INT64_MAX},
        [WI_TYPE_UINT8] = {0, UINT8_MAX},
        [WI_TYPE_UINT16] = {0, UINT16_MAX},
        [WI_TYPE_UINT32] = {0, UINT32_MAX},
        [WI_TYPE_UINT64] = {0, UINT64_MAX},
    };
    if (wi_type_is_integer(type)) {
        return (struct wi_value_range){integers[type->kind].least,
                                       integers[type->kind].most};
    }
    if (type->kind == WI_TYPE_DECIMAL) {
        wi_i128 most = wi_pow10(type->precision) - 1;
        return (struct wi_value_range){-most, most};
    }
    if (type->kind == WI_TYPE_DATE32) {
        return (struct wi_value_range){INT32_MIN, INT32_MAX};
    }
    return (struct wi_value_range){INT64_MIN, INT64_MAX};
}

uint32_t wi_value_text(const struct wi_type *type, const struct wi_value *value,
                       char text[WI_VALUE_TEXT_BYTES])
{
    switch (type->kind) {
    case WI_TYPE_BOOL:
        return (uint32_t)snprintf(text, WI_VALUE_TEXT_BYTES, "%s",
                                  value->b ? "true" : "false");
    case WI_TYPE_FLOAT32:
    case WI_TYPE_FLOAT64:
        return wi_float_text(value->f, type->kind == WI_TYPE_FLOAT32, text);
    case WI_TYPE_DATE32:
        return wi_date_text(value->i, text);
    case WI_TYPE_TIMESTAMP:
        return wi_timestamp_text(value->i, type->unit, text);
    default:
        return wi_exact_text(wi_type_rep(type) == WI_I128 ? value->w : value->i,
                             type->scale, text);
    }
}

static const char *show_string(struct wi_str s, bool text_type,
                               char text[WI_VALUE_TEXT_BYTES])
{
    enum { MOST = 24 };
    uint32_t most = s.n_bytes < MOST ? s.n_bytes : MOST;
    const char *more = most < s.n_bytes ? "..." : "";
    if (text_type) {
        while (most > 0 && most < s.n_bytes &&
               ((unsigned char)s.data[most] & 0xc0) == 0x80) {
            most--;
        }
        (void)snprintf(text, WI_VALUE_TEXT_BYTES, "'%.*s%s'", (int)most,
                       most == 0 ? "" : s.data, more);
        return text;
    }
    int n = snprintf(text, WI_VALUE_TEXT_BYTES, "x'");
    for (uint32_t i = 0; i < most; i++) {
        n += snprintf(text + n, WI_VALUE_TEXT_BYTES - (size_t)n, "%02x",
                      (unsigned char)s.data[i]);
    }
    (void)snprintf(text + n, WI_VALUE_TEXT_BYTES - (size_t)n, "%s'", more);
    return text;
}

const char *wi_value_show(const struct wi_type *type,
                          const struct wi_value *value,
                          char text[WI_VALUE_TEXT_BYTES])
{
    if (value->null) {
        (void)snprintf(text, WI_VALUE_TEXT_BYTES, "null");
        return text;
    }
    if (wi_type_rep(type) == WI_STR) {
        return show_string(value->s, type->kind == WI_TYPE_UTF8, text);
    }
    (void)wi_value_text(type, value, text);
    return text;
}

int wi_hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The fraction's digits one by one: part / 2^bits, bits <= 124. */
static wi_u128 fraction_digits(wi_u128 part, int bits, uint32_t scale,
                               wi_u128 whole)
{
    wi_u128 mask = ((wi_u128)1 << bits) - 1;
    for (uint32_t i = 0; i < scale; i++) {
        part *= 10;
        whole = whole * 10 + (part >> bits);
        part &= mask;
    }
    return whole + (part >= (wi_u128)1 << (bits - 1));
}

bool wi_f64_scaled(double v, uint32_t scale, wi_i128 *out)
{
    /* What is left times 10 must fit 128 bits. Numbers below 2^-71 lose bits,
     * which only scales above 36 would show. */
    enum { FINEST = 124 };
    double whole = trunc(fabs(v));
    double most = ldexp(1.0, 127) / pow(10.0, scale);
    if (!(whole < most)) {
        return false;
    }
    wi_u128 part = (wi_u128)ldexp(fabs(v) - whole, FINEST);
    wi_u128 scaled = fraction_digits(part, FINEST, scale, (wi_u128)whole);
    *out = v < 0 ? -(wi_i128)scaled : (wi_i128)scaled;
    return true;
}

double wi_f64_unscaled(wi_i128 v, uint32_t scale)
{
    return scale == 0 ? (double)v : (double)v / (double)wi_pow10(scale);
}
