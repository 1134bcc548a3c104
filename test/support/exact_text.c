/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/exact_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 60 };

static bool is_float(const struct wi_type *type)
{
    return type->kind == WI_TYPE_FLOAT32 || type->kind == WI_TYPE_FLOAT64;
}

void wt_exact_decimal(wi_i128 v, uint32_t scale, char text[WT_EXACT_BYTES])
{
    char digits[DIGITS + 1];
    const int before = DIGITS - (int)scale;
    wi_u128 rest = v < 0 ? -(wi_u128)v : (wi_u128)v;
    for (uint32_t i = DIGITS; i > 0; rest /= 10) {
        digits[--i] = (char)('0' + (int)(rest % 10));
    }
    digits[DIGITS] = '\0';
    const char *first = digits;
    while (first < digits + before - 1 && *first == '0') {
        first++;
    }
    (void)snprintf(text, WT_EXACT_BYTES, "%s%.*s%s%s", v < 0 ? "-" : "",
                   before - (int)(first - digits), first, scale > 0 ? "." : "",
                   digits + before);
}

void wt_exact_text(const struct wi_type *type, const struct wi_value *value,
                   char text[WT_EXACT_BYTES])
{
    if (is_float(type)) {
        (void)snprintf(text, WT_EXACT_BYTES, "%.1074f", value->f);
        return;
    }
    wt_exact_decimal(wi_type_rep(type) == WI_I128 ? value->w : value->i,
                     type->scale, text);
}

static bool nearest_float(const char *text, const struct wi_type *type,
                          struct wi_value *out)
{
    const bool single = type->kind == WI_TYPE_FLOAT32;
    out->f = single ? (double)strtof(text, NULL) : strtod(text, NULL);
    return isfinite(out->f) || strpbrk(text, "in") != NULL;
}

/* The digit at that place behind the point; '0' where there is none. */
static char digit_behind(const char *text, uint32_t place)
{
    const char *point = strchr(text, '.');
    return point != NULL && strlen(point) > place ? point[place] : '0';
}

static bool add_digit(wi_u128 *v, char digit)
{
    const wi_u128 most = (wi_u128)wi_pow10(WI_DECIMAL_MOST - 1);
    const bool fits = *v < most;
    *v = *v * 10 + (uint32_t)(digit - '0');
    return fits;
}

static bool nearest_exact(const char *text, const struct wi_type *type,
                          struct wi_value *out)
{
    const struct wi_value_range range = wi_type_range(type);
    const bool minus = *text == '-';
    wi_u128 v = 0;
    bool fits = strpbrk(text, "in") == NULL;
    for (const char *at = text + minus; fits && *at != '\0' && *at != '.';
         at++) {
        fits = add_digit(&v, *at);
    }
    for (uint32_t i = 1; fits && i <= type->scale; i++) {
        fits = add_digit(&v, digit_behind(text, i));
    }
    v += digit_behind(text, type->scale + 1u) >= '5';
    const wi_i128 value = minus ? -(wi_i128)v : (wi_i128)v;
    if (wi_type_rep(type) == WI_I128) {
        out->w = value;
    } else {
        out->i = (int64_t)value;
    }
    return fits && value >= range.least && value <= range.most;
}

bool wt_exact_nearest(const char *text, const struct wi_type *type,
                      struct wi_value *out)
{
    *out = (struct wi_value){.null = false};
    return is_float(type) ? nearest_float(text, type, out)
                          : nearest_exact(text, type, out);
}

bool wt_exact_same(const char *text, const struct wi_type *type)
{
    char again[WT_EXACT_BYTES];
    struct wi_value v;
    if (!wt_exact_nearest(text, type, &v)) {
        return false;
    }
    wt_exact_text(type, &v, again);
    return wt_exact_order(text, again) == 0;
}

static bool is_zero(const char *text)
{
    return strspn(text, "-0.") == strlen(text);
}

/* Of numbers without sign; no zeros in front but one. */
static int order_sizes(const char *a, const char *b)
{
    const size_t n = strcspn(a, ".");
    const size_t m = strcspn(b, ".");
    if (n != m) {
        return n < m ? -1 : 1;
    }
    const int order = memcmp(a, b, n);
    if (order != 0) {
        return order;
    }
    for (uint32_t i = 1; i < WT_EXACT_BYTES; i++) {
        const int rest = digit_behind(a, i) - digit_behind(b, i);
        if (rest != 0) {
            return rest;
        }
        if (n + i >= strlen(a) && m + i >= strlen(b)) {
            return 0;
        }
    }
    return 0;
}

int wt_exact_order(const char *a, const char *b)
{
    const bool a_minus = *a == '-' && !is_zero(a);
    const bool b_minus = *b == '-' && !is_zero(b);
    if (a_minus != b_minus) {
        return a_minus ? -1 : 1;
    }
    const int order = order_sizes(a + (*a == '-'), b + (*b == '-'));
    return a_minus ? -order : order;
}
