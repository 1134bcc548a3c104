/* SPDX-License-Identifier: Apache-2.0 */
/* Text as values: literals, and casts of strings. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "operators/base/date.h"
#include "operators/expr/number.h"
#include "operators/expr/value.h"

/* What is left to read. */
struct reader {
    const char *at;
    const char *end;
};

static bool take(struct reader *r, char c)
{
    if (r->at == r->end || *r->at != c) {
        return false;
    }
    r->at++;
    return true;
}

static bool is_digit(const struct reader *r)
{
    return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

/* Exactly n digits. */
static bool take_fixed(struct reader *r, uint32_t n, uint32_t *out)
{
    *out = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!is_digit(r)) {
            return false;
        }
        *out = *out * 10 + (uint32_t)(*r->at++ - '0');
    }
    return true;
}

/* Digits onto *v, as a negative number: that side reaches further. */
static bool take_digits(struct reader *r, wi_i128 *v, uint32_t *n, bool *fits)
{
    const char *start = r->at;
    for (; is_digit(r) && *n > 0; r->at++, (*n)--) {
        *fits = *fits && !wi_mul_i128(*v, 10, v) &&
                !__builtin_sub_overflow(*v, *r->at - '0', v);
    }
    return r->at > start;
}

/* [+-]digits[.digits], unscaled. */
static enum wi_read read_exact(struct wi_str text, uint32_t scale,
                               struct wi_value_range range, wi_i128 *out)
{
    struct reader r = {text.data, text.data + text.n_bytes};
    bool minus = take(&r, '-');
    if (!minus) {
        (void)take(&r, '+');
    }
    wi_i128 v = 0;
    bool fits = true;
    uint32_t all = UINT32_MAX;
    bool any = take_digits(&r, &v, &all, &fits);
    if (take(&r, '.')) {
        uint32_t left = scale;
        any = take_digits(&r, &v, &left, &fits) || any;
        for (; left > 0; left--) {
            fits = fits && !wi_mul_i128(v, 10, &v);
        }
        if (is_digit(&r)) {
            any = true;
            fits = fits && !__builtin_sub_overflow(v, *r.at >= '5', &v);
        }
        while (is_digit(&r)) {
            r.at++;
        }
    } else {
        fits = fits && !wi_mul_i128(v, wi_pow10(scale), &v);
    }
    if (!any || r.at != r.end) {
        return WI_READ_MALFORMED;
    }
    fits = fits && (minus || !__builtin_sub_overflow((wi_i128)0, v, &v));
    if (!fits || v < range.least || v > range.most) {
        return WI_READ_TOO_LARGE;
    }
    *out = v;
    return WI_READ_OK;
}

/* strtod takes more (hex, spaces) and needs a NUL. */
static enum wi_read read_float(struct wi_str text, bool single, double *out)
{
    char buf[512];
    if (text.n_bytes == 0 || text.n_bytes >= sizeof(buf)) {
        return WI_READ_MALFORMED;
    }
    memcpy(buf, text.data, text.n_bytes);
    buf[text.n_bytes] = '\0';
    bool word = strspn(buf, "0123456789+-.eE") != text.n_bytes;
    const char *plain = buf + (buf[0] == '-' || buf[0] == '+');
    if (word && strcasecmp(plain, "nan") != 0 &&
        strcasecmp(plain, "infinity") != 0 && strcasecmp(plain, "inf") != 0) {
        return WI_READ_MALFORMED;
    }
    char *end;
    /* Not by way of a double: rounded twice, it may be the wrong neighbour. */
    const double v = single ? (double)strtof(buf, &end) : strtod(buf, &end);
    if (end != buf + text.n_bytes) {
        return WI_READ_MALFORMED;
    }
    if (!word && isinf(v)) {
        return WI_READ_TOO_LARGE;
    }
    *out = v;
    return WI_READ_OK;
}

/* YYYY-MM-DD */
static bool take_date(struct reader *r, int64_t *days)
{
    uint32_t year;
    struct wi_civil c;
    if (!take_fixed(r, 4, &year) || !take(r, '-') ||
        !take_fixed(r, 2, &c.month) || !take(r, '-') ||
        !take_fixed(r, 2, &c.day) || year == 0) {
        return false;
    }
    c.year = year;
    *days = wi_days_of_civil(c);
    struct wi_civil back = wi_civil_of_days(*days);
    return c.month >= 1 && c.month <= 12 && c.day >= 1 &&
           back.month == c.month && back.day == c.day;
}

/* HH:MM:SS[.f...], in nanoseconds; digits behind nine are not allowed. */
static bool take_time(struct reader *r, int64_t *ns)
{
    uint32_t h;
    uint32_t m;
    uint32_t s;
    if (!take_fixed(r, 2, &h) || !take(r, ':') || !take_fixed(r, 2, &m) ||
        !take(r, ':') || !take_fixed(r, 2, &s) || h > 23 || m > 59 || s > 59) {
        return false;
    }
    int64_t fraction = 0;
    if (take(r, '.')) {
        int64_t unit = 100000000;
        if (!is_digit(r)) {
            return false;
        }
        for (; is_digit(r) && unit > 0; r->at++, unit /= 10) {
            fraction += unit * (*r->at - '0');
        }
    }
    *ns = ((int64_t)h * 3600 + m * 60 + s) * 1000000000 + fraction;
    return true;
}

static enum wi_read read_date(struct wi_str text, int64_t *out)
{
    struct reader r = {text.data, text.data + text.n_bytes};
    return take_date(&r, out) && r.at == r.end ? WI_READ_OK : WI_READ_MALFORMED;
}

/* YYYY-MM-DD[( |T)HH:MM:SS[.f...][Z]]; a finer fraction than the unit is cut
 * off, as a cast between units does. */
static enum wi_read read_timestamp(struct wi_str text, uint8_t unit,
                                   int64_t *out)
{
    struct reader r = {text.data, text.data + text.n_bytes};
    int64_t days;
    int64_t ns = 0;
    if (!take_date(&r, &days)) {
        return WI_READ_MALFORMED;
    }
    if (take(&r, ' ') || take(&r, 'T')) {
        if (!take_time(&r, &ns)) {
            return WI_READ_MALFORMED;
        }
        (void)take(&r, 'Z');
    }
    if (r.at != r.end) {
        return WI_READ_MALFORMED;
    }
    int64_t ticks = wi_unit_ticks(unit);
    /* Of the first day that there is, 64 bits hold the end only. */
    wi_i128 v = (wi_i128)days * (WI_DAY_SECONDS * ticks);
    v += ns / (1000000000 / ticks);
    if (v < INT64_MIN || v > INT64_MAX) {
        return WI_READ_TOO_LARGE;
    }
    *out = (int64_t)v;
    return WI_READ_OK;
}

static enum wi_read read_bool(struct wi_str text, uint8_t *out)
{
    *out = text.n_bytes == 4 && strncasecmp(text.data, "true", 4) == 0;
    return *out || (text.n_bytes == 5 &&
                    strncasecmp(text.data, "false", 5) == 0)
               ? WI_READ_OK
               : WI_READ_MALFORMED;
}

static enum wi_read read_whole(struct wi_str text, const struct wi_type *type,
                               struct wi_value *out)
{
    wi_i128 v;
    enum wi_read rc = read_exact(text, type->scale, wi_type_range(type), &v);
    if (rc == WI_READ_OK && wi_type_rep(type) == WI_I128) {
        out->w = v;
    } else if (rc == WI_READ_OK) {
        out->i = (int64_t)v;
    }
    return rc;
}

enum wi_read wi_value_read(struct wi_str text, const struct wi_type *type,
                           struct wi_value *out)
{
    *out = (struct wi_value){.null = false};
    switch (type->kind) {
    case WI_TYPE_BOOL:
        return read_bool(text, &out->b);
    case WI_TYPE_FLOAT32:
    case WI_TYPE_FLOAT64:
        return read_float(text, type->kind == WI_TYPE_FLOAT32, &out->f);
    case WI_TYPE_DATE32:
        return read_date(text, &out->i);
    case WI_TYPE_TIMESTAMP:
        return read_timestamp(text, type->unit, &out->i);
    case WI_TYPE_UTF8:
    case WI_TYPE_BINARY:
    case WI_TYPE_FIXED:
        out->s = text;
        return type->kind == WI_TYPE_FIXED && text.n_bytes != type->n_bytes
                   ? WI_READ_MALFORMED
                   : WI_READ_OK;
    default:
        return read_whole(text, type, out);
    }
}

const char *wi_value_form(const struct wi_type *type)
{
    switch (type->kind) {
    case WI_TYPE_BOOL:
        return "true or false";
    case WI_TYPE_FLOAT32:
    case WI_TYPE_FLOAT64:
        return "a number such as 1.5e3";
    case WI_TYPE_DATE32:
        return "YYYY-MM-DD";
    case WI_TYPE_TIMESTAMP:
        return "YYYY-MM-DD HH:MM:SS[.ffffff]";
    case WI_TYPE_FIXED:
        return "as many bytes as the type";
    default:
        return "a number such as 12 or 1.50";
    }
}

struct wi_digits wi_digits_of(struct wi_str text)
{
    struct wi_digits d = {0, 0};
    bool behind = false;
    bool leading = true;
    for (uint32_t i = 0; i < text.n_bytes; i++) {
        char c = text.data[i];
        if (c == '.') {
            behind = true;
        } else if (c >= '0' && c <= '9') {
            d.scale += behind;
            leading = leading && c == '0' && !behind;
            d.precision += !leading;
        }
    }
    d.precision = d.precision == 0 ? 1 : d.precision;
    return d;
}

uint8_t wi_unit_of(struct wi_str text)
{
    const char *point = memchr(text.data, '.', text.n_bytes);
    if (point == NULL) {
        return WI_SECOND;
    }
    struct reader r = {point + 1, text.data + text.n_bytes};
    while (is_digit(&r)) {
        r.at++;
    }
    size_t n = (size_t)(r.at - point) - 1;
    return n == 0 ? WI_SECOND : n <= 3 ? WI_MILLI : n <= 6 ? WI_MICRO : WI_NANO;
}
