/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files of values are written with this, so it must be fast: two digits
 * at a time. printf is only for far years and for floats that are not short
 * decimals. */
#include "operators/base/value_text.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/date.h"
#include "operators/base/neutral.h"

/* ---- digits -------------------------------------------------------------- */

static const char pairs[] = "00010203040506070809"
                            "10111213141516171819"
                            "20212223242526272829"
                            "30313233343536373839"
                            "40414243444546474849"
                            "50515253545556575859"
                            "60616263646566676869"
                            "70717273747576777879"
                            "80818283848586878889"
                            "90919293949596979899";

/* The digits of v, the last one just before `end`; returns the first. */
static char *digits_before(char *end, uint64_t v)
{
    while (v >= 100) {
        end -= 2;
        memcpy(end, pairs + 2 * (v % 100), 2);
        v /= 100;
    }
    if (v >= 10) {
        end -= 2;
        memcpy(end, pairs + 2 * v, 2);
    } else {
        *--end = (char)('0' + v);
    }
    return end;
}

/* n digits, with zeros in front. */
static void put_digits(char *to, uint32_t n, uint64_t v)
{
    for (uint32_t i = n; i > 0; i--) {
        to[i - 1] = (char)('0' + v % 10);
        v /= 10;
    }
}

/* ---- bool, integers and decimals ----------------------------------------- */

uint32_t wi_bool_text(bool v, char text[WI_VALUE_TEXT_BYTES])
{
    (void)strcpy(text, v ? "true" : "false");
    return v ? 4 : 5;
}

uint32_t wi_exact_text(wi_i128 v, uint32_t scale,
                       char text[WI_VALUE_TEXT_BYTES])
{
    enum { MOST = WI_DECIMAL_MOST + 2, PART = 18 };
    const wi_u128 part = 1000000000000000000;
    char digits[2 * MOST]; /* the second half is only copied */
    char *const end = digits + MOST;
    char *at = end;
    wi_u128 left = v < 0 ? -(wi_u128)v : (wi_u128)v;
    for (; left > UINT64_MAX; left /= part) {
        at -= PART;
        put_digits(at, PART, (uint64_t)(left % part));
    }
    at = digits_before(at, (uint64_t)left);
    while (end - at <= (int64_t)scale) {
        *--at = '0';
    }
    uint32_t n = (uint32_t)(end - at) - scale + (v < 0);
    text[0] = '-';
    memcpy(text + (v < 0), at, MOST); /* one move, whatever the length */
    if (scale > 0) {
        text[n++] = '.';
        memcpy(text + n, end - scale, scale);
        n += scale;
    }
    text[n] = '\0';
    return n;
}

/* ---- floats ------------------------------------------------------------- */

/* How many digits to begin with. Different decimals of DBL_DIG or FLT_DIG
 * digits are different numbers, so that %g finds each of them; but subnormal
 * numbers lie farther apart than that. */
static int least_digits(double v, bool single)
{
    const double normal = single ? (double)FLT_MIN : DBL_MIN;
    return fabs(v) < normal ? 1 : single ? FLT_DIG : DBL_DIG;
}

/* Here and below: within a neutral locale. */
static bool reads_back(const char *text, double v, bool single)
{
    return (single ? (double)strtof(text, NULL) : strtod(text, NULL)) == v;
}

/* Add 1 to the last digit of `1.234e-05`. This never changes the exponent: if
 * all digits were nines, fewer would have been enough. */
static void count_up(char *text)
{
    char *digit = text + strcspn(text, "e");
    do {
        digit -= digit[-1] == '.' ? 2 : 1;
        *digit = (char)(*digit == '9' ? '0' : *digit + 1);
    } while (*digit == '0' && digit > text + (text[0] == '-'));
}

/* Just below a power of two, numbers lie closer together than above it. So the
 * nearest decimal may lie below and read back as another number, while the next
 * decimal lies above and reads back right. */
static bool next_reads_back(double v, bool single, int digits,
                            char text[WI_VALUE_TEXT_BYTES])
{
    char next[WI_VALUE_TEXT_BYTES];
    int exponent;
    if (fabs(frexp(v, &exponent)) != 0.5) {
        return false;
    }
    (void)snprintf(next, sizeof(next), "%.*e", digits - 1, v);
    count_up(next);
    if (!reads_back(next, v, single)) {
        return false;
    }
    (void)snprintf(text, WI_VALUE_TEXT_BYTES, "%.*Lg", digits,
                   strtold(next, NULL));
    return true;
}

/*
 * Short decimals are found here, at a tenth of the cost of the C library.
 * The digits (below 2^53) and the power of ten (up to 10^22) are exact as
 * floating-point numbers, so that their quotient is correctly rounded. Two
 * decimals of 15 digits never share a value (DBL_DIG), so that the one that
 * gives the value back is the text.
 */
static bool is_decimal(double size, uint32_t scale, uint64_t *digits)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3, 1e4,  1e5,
                                    1e6,  1e7,  1e8,  1e9, 1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15};
    const double most = 999999999999999;
    const double scaled = size * powers[scale];
    if (!(scaled <= most)) {
        return false;
    }
    *digits = (uint64_t)(scaled + 0.5);
    return *digits <= (uint64_t)most && (double)*digits / powers[scale] == size;
}

/* The text with the fewest decimals, if %.15g has no exponent; else 0. */
static uint32_t short_text(double v, char text[WI_VALUE_TEXT_BYTES])
{
    const double size = fabs(v);
    uint64_t digits;
    if (size != 0 && !(size >= 1e-4 && size < 1e15)) {
        return 0;
    }
    for (uint32_t scale = 0; scale <= DBL_DIG; scale++) {
        if (is_decimal(size, scale, &digits)) {
            const uint32_t sign = signbit(v) != 0; /* -0 has one, too */
            text[0] = '-';
            return sign + wi_exact_text(digits, scale, text + sign);
        }
    }
    return 0;
}

uint32_t wi_float_text(double v, bool single, char text[WI_VALUE_TEXT_BYTES])
{
    const int most = single ? FLT_DECIMAL_DIG : DBL_DECIMAL_DIG;
    const uint32_t n = single ? 0 : short_text(v, text);
    if (n > 0) {
        return n;
    }
    if (isnan(v)) {
        return (uint32_t)snprintf(text, WI_VALUE_TEXT_BYTES, "nan");
    }
    locale_t before = wi_neutral_begin();
    for (int digits = least_digits(v, single); digits <= most; digits++) {
        (void)snprintf(text, WI_VALUE_TEXT_BYTES, "%.*g", digits, v);
        if (reads_back(text, v, single) ||
            next_reads_back(v, single, digits, text)) {
            break;
        }
    }
    wi_neutral_end(before);
    return (uint32_t)strlen(text);
}

/* ---- dates and times ----------------------------------------------------- */

uint32_t wi_date_text(int64_t days, char text[WI_VALUE_TEXT_BYTES])
{
    enum { BYTES = 10 };
    const struct wi_civil c = wi_civil_of_days(days);
    if (c.year < 0 || c.year > 9999) {
        return (uint32_t)snprintf(text, WI_VALUE_TEXT_BYTES,
                                  "%0*" PRId64 "-%02u-%02u", c.year < 0 ? 5 : 4,
                                  c.year, c.month, c.day);
    }
    put_digits(text, 4, (uint64_t)c.year);
    text[4] = '-';
    put_digits(text + 5, 2, c.month);
    text[7] = '-';
    put_digits(text + 8, 2, c.day);
    text[BYTES] = '\0';
    return BYTES;
}

/* All digits of the unit after the point, none if they are 0. */
uint32_t wi_timestamp_text(int64_t v, uint8_t unit,
                           char text[WI_VALUE_TEXT_BYTES])
{
    enum { TIME_BYTES = 9 };
    const int64_t ticks = wi_unit_ticks(unit);
    const int64_t seconds = wi_floor_div(v, ticks);
    const uint64_t rest = (uint64_t)wi_floor_mod(v, ticks);
    const uint64_t of_day = (uint64_t)wi_floor_mod(seconds, WI_DAY_SECONDS);
    uint32_t n = wi_date_text(wi_floor_div(seconds, WI_DAY_SECONDS), text);
    memcpy(text + n, " 00:00:00", TIME_BYTES + 1);
    put_digits(text + n + 1, 2, of_day / 3600);
    put_digits(text + n + 4, 2, of_day / 60 % 60);
    put_digits(text + n + 7, 2, of_day % 60);
    n += TIME_BYTES;
    if (rest != 0) {
        text[n] = '.';
        put_digits(text + n + 1, 3u * unit, rest);
        n += 1 + 3u * unit;
        text[n] = '\0';
    }
    return n;
}

uint32_t wi_value_text(const struct wi_type *type, const struct wi_value *value,
                       char text[WI_VALUE_TEXT_BYTES])
{
    switch (type->kind) {
    case WI_TYPE_BOOL:
        return wi_bool_text(value->b != 0, text);
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
