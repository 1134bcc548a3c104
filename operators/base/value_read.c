/* SPDX-License-Identifier: Apache-2.0 */
/* Exact, and without the C library where numbers are short. */
#include "operators/base/value_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/digits.h"
#include "operators/base/neutral.h"
#include "operators/base/time_read.h"

enum {
    SAFE_DIGITS = 18, /* any number of 18 digits fits int64 */
    EXACT_DIGITS = 15,
    FLOAT_BYTES = 512,
};

/* ---- integers and decimals ----------------------------------------------- */

/* Append a digit; false if that reaches 10^38, which no type holds. */
static bool add_digit(wi_u128 *value, uint32_t d)
{
    const wi_u128 most = (wi_u128)wi_pow10(WI_DECIMAL_MOST - 1);
    if (*value >= most) {
        return false;
    }
    *value = *value * 10 + d;
    return true;
}

/* Digits and at most one point, as a number of `scale` decimals. */
static enum wi_read any_size(struct wi_str text, uint32_t scale, wi_u128 *out)
{
    uint32_t digits = 0;
    uint32_t decimals = 0;
    bool point = false;
    bool fits = true;
    *out = 0;
    for (uint32_t i = 0; i < text.n_bytes; i++) {
        const uint32_t d = wi_digit(text.data[i]);
        if (text.data[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (d > 9) {
            return WI_READ_MALFORMED;
        }
        digits++;
        decimals += point;
        fits = fits && (decimals > scale ? d == 0 : add_digit(out, d));
    }
    for (; decimals < scale; decimals++) {
        fits = fits && add_digit(out, 0);
    }
    return digits == 0 ? WI_READ_MALFORMED : fits ? WI_READ_OK : WI_READ_MISFIT;
}

/* The usual: few digits, and as many after the point as the type has. */
static bool short_size(struct wi_str text, uint32_t scale, wi_u128 *out)
{
    uint64_t whole;
    uint64_t fraction = 0;
    const size_t point = scale == 0 ? text.n_bytes : text.n_bytes - scale - 1;
    if (text.n_bytes <= scale || text.n_bytes > SAFE_DIGITS ||
        !wi_short_number(text.data, point, &whole) ||
        (scale > 0 &&
         (text.data[point] != '.' ||
          !wi_short_number(text.data + point + 1, scale, &fraction)))) {
        return false;
    }
    *out = whole * (uint64_t)wi_pow10(scale) + fraction;
    return true;
}

static enum wi_read read_exact(struct wi_str text, uint32_t scale,
                               struct wi_value_range range, wi_i128 *out)
{
    bool negative;
    wi_u128 size;
    text = wi_skip_sign(text, &negative);
    if (!short_size(text, scale, &size)) {
        enum wi_read rc = any_size(text, scale, &size);
        if (rc != WI_READ_OK) {
            return rc;
        }
    }
    const wi_i128 value = negative ? -(wi_i128)size : (wi_i128)size;
    if (value < range.least || value > range.most) {
        return WI_READ_MISFIT;
    }
    *out = value;
    return WI_READ_OK;
}

static bool short_int(struct wi_str text, int64_t *out)
{
    bool negative;
    uint64_t size;
    text = wi_skip_sign(text, &negative);
    if (text.n_bytes > SAFE_DIGITS ||
        !wi_short_number(text.data, text.n_bytes, &size)) {
        return false;
    }
    *out = negative ? -(int64_t)size : (int64_t)size;
    return true;
}

enum wi_read wi_read_int64(struct wi_str text, int64_t *out)
{
    const struct wi_value_range range = {INT64_MIN, INT64_MAX};
    wi_i128 value;
    if (short_int(text, out)) {
        return WI_READ_OK;
    }
    enum wi_read rc = read_exact(text, 0, range, &value);
    if (rc == WI_READ_OK) {
        *out = (int64_t)value;
    }
    return rc;
}

enum wi_read wi_read_uint64(struct wi_str text, uint64_t *out)
{
    const struct wi_value_range range = {0, UINT64_MAX};
    wi_i128 value;
    enum wi_read rc = read_exact(text, 0, range, &value);
    if (rc == WI_READ_OK) {
        *out = (uint64_t)value;
    }
    return rc;
}

enum wi_read wi_read_decimal(struct wi_str text, const struct wi_type *type,
                             wi_i128 *out)
{
    const wi_i128 most = wi_pow10(type->precision) - 1;
    const struct wi_value_range range = {-most, most};
    return read_exact(text, type->scale, range, out);
}

/* ---- floats and bools ---------------------------------------------------- */

/*
 * Up to 15 digits are converted here, because the C library costs ten times as
 * much. The digits and the power of ten are both exact as floating-point
 * numbers, so that their quotient is correctly rounded.
 */
static bool short_float(struct wi_str text, double *out)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3, 1e4,  1e5,
                                    1e6,  1e7,  1e8,  1e9, 1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15};
    bool negative;
    uint64_t value = 0;
    uint32_t digits = 0;
    uint32_t decimals = 0;
    bool point = false;
    text = wi_skip_sign(text, &negative);
    for (uint32_t i = 0; i < text.n_bytes; i++) {
        const uint32_t d = wi_digit(text.data[i]);
        if (d <= 9) {
            value = value * 10 + d;
            digits++;
            decimals += point;
        } else if (text.data[i] == '.' && !point) {
            point = true;
        } else {
            return false;
        }
        if (digits > EXACT_DIGITS) {
            return false;
        }
    }
    if (digits == 0) {
        return false;
    }
    const double size = (double)value / powers[decimals];
    *out = negative ? -size : size;
    return true;
}

/* A copy for the C library. What it would accept besides our numbers, such as
 * spaces and hex, is refused. */
static bool copy_float(struct wi_str text, char copy[FLOAT_BYTES], bool *word)
{
    static const char *const words[] = {"inf", "infinity", "nan"};
    if (text.n_bytes == 0 || text.n_bytes >= FLOAT_BYTES) {
        return false;
    }
    memcpy(copy, text.data, text.n_bytes);
    copy[text.n_bytes] = '\0';
    *word = false;
    const char *number = copy + (copy[0] == '-' || copy[0] == '+');
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const size_t n = strlen(words[i]) + 1; /* with its end */
        *word = *word || wi_neutral_same(number, words[i], n);
    }
    return *word || strspn(copy, "0123456789.eE+-") == text.n_bytes;
}

enum wi_read wi_read_float64(struct wi_str text, double *out)
{
    char copy[FLOAT_BYTES];
    char *end;
    bool word;
    if (short_float(text, out)) {
        return WI_READ_OK;
    }
    if (!copy_float(text, copy, &word)) {
        return WI_READ_MALFORMED;
    }
    locale_t before = wi_neutral_begin();
    const double value = strtod(copy, &end);
    wi_neutral_end(before);
    if (end != copy + text.n_bytes) {
        return WI_READ_MALFORMED;
    }
    if (isinf(value) && !word) {
        return WI_READ_MISFIT;
    }
    *out = value;
    return WI_READ_OK;
}

/* Not by way of a double: rounding twice may give the wrong neighbour. */
enum wi_read wi_read_float32(struct wi_str text, float *out)
{
    char copy[FLOAT_BYTES];
    char *end;
    bool word;
    if (!copy_float(text, copy, &word)) {
        return WI_READ_MALFORMED;
    }
    locale_t before = wi_neutral_begin();
    const float value = strtof(copy, &end);
    wi_neutral_end(before);
    if (end != copy + text.n_bytes) {
        return WI_READ_MALFORMED;
    }
    if (isinf(value) && !word) {
        return WI_READ_MISFIT;
    }
    *out = value;
    return WI_READ_OK;
}

static bool is_word(struct wi_str text, const char *word, char number)
{
    return (text.n_bytes == 1 && text.data[0] == number) ||
           (text.n_bytes == strlen(word) &&
            wi_neutral_same(text.data, word, text.n_bytes));
}

enum wi_read wi_read_bool(struct wi_str text, bool *out)
{
    if (!is_word(text, "true", '1') && !is_word(text, "false", '0')) {
        return WI_READ_MALFORMED;
    }
    *out = is_word(text, "true", '1');
    return WI_READ_OK;
}

/* ---- any type ------------------------------------------------------------ */

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

static enum wi_read read_single(struct wi_str text, double *out)
{
    float value = 0;
    enum wi_read rc = wi_read_float32(text, &value);
    *out = (double)value;
    return rc;
}

static enum wi_read read_flag(struct wi_str text, uint8_t *out)
{
    bool value = false;
    enum wi_read rc = wi_read_bool(text, &value);
    *out = value;
    return rc;
}

enum wi_read wi_value_read(struct wi_str text, const struct wi_type *type,
                           struct wi_value *out)
{
    *out = (struct wi_value){.null = false};
    switch (type->kind) {
    case WI_TYPE_BOOL:
        return read_flag(text, &out->b);
    case WI_TYPE_FLOAT32:
        return read_single(text, &out->f);
    case WI_TYPE_FLOAT64:
        return wi_read_float64(text, &out->f);
    case WI_TYPE_DATE32:
        return wi_read_date(text, &out->i);
    case WI_TYPE_TIMESTAMP:
        return wi_read_timestamp(text, type->unit, &out->i);
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
