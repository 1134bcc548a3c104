/* SPDX-License-Identifier: Apache-2.0 */
/* Exact, and without the C library where numbers are short. */
#include "operators/table/csv_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "operators/base/date.h"
#include "operators/table/csv_type.h"

enum {
    DATE_BYTES = 10,
    SAFE_DIGITS = 18, /* of any int64 */
    FLOAT_BYTES = 64,
    NO_DIGITS = -1000000, /* no sum with it is a number */
};

static uint32_t digit(char c)
{
    return (uint32_t)(unsigned char)c - '0';
}

/* ---- integers -------------------------------------------------------------- */

static size_t skip_sign(const char *text, size_t len, bool *negative)
{
    *negative = len > 0 && text[0] == '-';
    return *negative || (len > 0 && text[0] == '+') ? 1 : 0;
}

/* 1..18 digits. */
static bool short_number(const char *text, size_t len, uint64_t *out)
{
    uint64_t value = 0;
    bool ok = len > 0;
    for (size_t i = 0; i < len; i++) {
        uint32_t d = digit(text[i]);
        ok &= d < 10;
        value = value * 10 + d;
    }
    *out = value;
    return ok;
}

static bool long_number(const char *text, size_t len, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < len; i++) {
        uint32_t d = digit(text[i]);
        if (d > 9 || __builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)d, &value)) {
            return false;
        }
    }
    *out = value;
    return len > 0;
}

static bool whole_number(const char *text, size_t len, uint64_t *out)
{
    return len <= SAFE_DIGITS ? short_number(text, len, out)
                              : long_number(text, len, out);
}

bool wi_csv_int64(const char *text, size_t len, int64_t *out)
{
    bool negative;
    uint64_t size;
    size_t sign = skip_sign(text, len, &negative);
    if (!whole_number(text + sign, len - sign, &size) ||
        size > (uint64_t)INT64_MAX + negative) {
        return false;
    }
    *out = (int64_t)(negative ? 0 - size : size);
    return true;
}

bool wi_csv_uint64(const char *text, size_t len, uint64_t *out)
{
    bool negative;
    uint64_t size;
    size_t sign = skip_sign(text, len, &negative);
    if (!whole_number(text + sign, len - sign, &size) ||
        (negative && size > 0)) {
        return false;
    }
    *out = size;
    return true;
}

/* ---- decimals -------------------------------------------------------------- */

/* Take digits into *value, at most `most` behind leading zeros. */
static bool add_digits(const char *text, size_t len, uint32_t most,
                       wi_u128 *value)
{
    wi_u128 limit = 1;
    for (uint32_t i = 0; i < most; i++) {
        limit *= 10;
    }
    for (size_t i = 0; i < len; i++) {
        uint32_t d = digit(text[i]);
        if (d > 9 || *value > (limit - 1 - d) / 10) {
            return false;
        }
        *value = *value * 10 + d;
    }
    return true;
}

static bool only_zeros(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '0') {
            return false;
        }
    }
    return true;
}

static bool long_decimal(const char *text, size_t len, size_t whole,
                         const struct wi_type *type, wi_u128 *out)
{
    const size_t behind = whole < len ? len - whole - 1 : 0;
    const size_t kept = behind < type->scale ? behind : type->scale;
    const char *fraction = text + whole + (whole < len);
    wi_u128 value = 0;
    if (whole + behind == 0 ||
        !add_digits(text, whole, type->precision, &value) ||
        !add_digits(fraction, kept, type->precision, &value) ||
        !only_zeros(fraction + kept, behind - kept)) {
        return false;
    }
    wi_u128 limit = 1;
    for (size_t i = kept; i < type->scale; i++) {
        limit *= 10;
    }
    wi_u128 most = 1;
    for (uint32_t i = 0; i < type->precision; i++) {
        most *= 10;
    }
    if (value > (most - 1) / limit) {
        return false;
    }
    *out = value * limit;
    return true;
}

static const uint64_t powers[] = {
    UINT64_C(1),
    UINT64_C(10),
    UINT64_C(100),
    UINT64_C(1000),
    UINT64_C(10000),
    UINT64_C(100000),
    UINT64_C(1000000),
    UINT64_C(10000000),
    UINT64_C(100000000),
    UINT64_C(1000000000),
    UINT64_C(10000000000),
    UINT64_C(100000000000),
    UINT64_C(1000000000000),
    UINT64_C(10000000000000),
    UINT64_C(100000000000000),
    UINT64_C(1000000000000000),
    UINT64_C(10000000000000000),
    UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000),
};

/* The usual: few digits, and as many behind the point as the type has. */
static bool short_decimal(const char *text, size_t len, size_t whole,
                          const struct wi_type *type, wi_u128 *out)
{
    uint64_t before;
    uint64_t behind;
    if (len - whole != type->scale + 1u || len > SAFE_DIGITS ||
        !short_number(text, whole, &before) ||
        !short_number(text + whole + 1, type->scale, &behind)) {
        return false;
    }
    uint64_t value = before * powers[type->scale] + behind;
    *out = value;
    return type->precision >= SAFE_DIGITS || value < powers[type->precision];
}

bool wi_csv_decimal(const char *text, size_t len, const struct wi_type *type,
                    wi_i128 *out)
{
    bool negative;
    wi_u128 size;
    size_t sign = skip_sign(text, len, &negative);
    size_t whole = 0;
    text += sign;
    len -= sign;
    while (whole < len && text[whole] != '.') {
        whole++;
    }
    if (!short_decimal(text, len, whole, type, &size) &&
        !long_decimal(text, len, whole, type, &size)) {
        return false;
    }
    *out = negative ? -(wi_i128)size : (wi_i128)size;
    return true;
}

/* ---- floats and bools ------------------------------------------------------ */

/* For the C library: what it skips or takes beyond numbers is kept out. */
static bool copy_float(const char *text, size_t len, char copy[FLOAT_BYTES])
{
    static const char *const words[] = {"inf", "infinity", "nan"};
    if (len == 0 || len >= FLOAT_BYTES) {
        return false;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    const char *number = copy + (copy[0] == '-' || copy[0] == '+');
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasecmp(number, words[i]) == 0) {
            return true;
        }
    }
    return (digit(number[0]) < 10 || number[0] == '.') &&
           strspn(copy, "0123456789.eE+-") == len;
}

/* No word: what is infinite then is too large. */
static bool is_digits(const char *number)
{
    return strpbrk(number, "nN") == NULL;
}

bool wi_csv_float64(const char *text, size_t len, double *out)
{
    char copy[FLOAT_BYTES];
    char *end;
    double short_one;
    if (wi_csv_parse_float64(text, len, &short_one) && !isinf(short_one)) {
        *out = short_one;
        return true;
    }
    if (!copy_float(text, len, copy)) {
        return false;
    }
    double value = strtod(copy, &end);
    if (end != copy + len || (isinf(value) && is_digits(copy))) {
        return false;
    }
    *out = value;
    return true;
}

bool wi_csv_float32(const char *text, size_t len, float *out)
{
    char copy[FLOAT_BYTES];
    char *end;
    if (!copy_float(text, len, copy)) {
        return false;
    }
    float value = strtof(copy, &end);
    if (end != copy + len || (isinf(value) && is_digits(copy))) {
        return false;
    }
    *out = value;
    return true;
}

bool wi_csv_bool(const char *text, size_t len, bool *out)
{
    bool yes = (len == 4 && strncasecmp(text, "true", len) == 0) ||
               (len == 1 && text[0] == '1');
    bool no = (len == 5 && strncasecmp(text, "false", len) == 0) ||
              (len == 1 && text[0] == '0');
    if (!yes && !no) {
        return false;
    }
    *out = yes;
    return true;
}

/* ---- dates ----------------------------------------------------------------- */

/* Two digits; below zero if they are none. */
static int two(const char *text)
{
    uint32_t a = digit(text[0]);
    uint32_t b = digit(text[1]);
    return a < 10 && b < 10 ? (int)(a * 10 + b) : NO_DIGITS;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

bool wi_csv_date(const char *text, size_t len, int64_t *out)
{
    if (len != DATE_BYTES || text[4] != '-' || text[7] != '-') {
        return false;
    }
    int year = two(text) * 100 + two(text + 2);
    int month = two(text + 5);
    int day = two(text + 8);
    if (year < 0 || month < 1 || month > 12 || day < 1 ||
        day > days_in_month(year, month)) {
        return false;
    }
    *out = wi_days_of_civil((struct wi_civil){
        .year = year, .month = (uint32_t)month, .day = (uint32_t)day});
    return true;
}

/* "hh:mm", "hh:mm:ss"; moves *at behind it. */
static bool clock_time(const char *text, size_t len, size_t *at, int64_t *out)
{
    const char *t = text + *at;
    size_t left = len - *at;
    if (left < 5 || t[2] != ':') {
        return false;
    }
    bool with_seconds = left >= 8 && t[5] == ':';
    int hour = two(t);
    int minute = two(t + 3);
    int second = with_seconds ? two(t + 6) : 0;
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
        second > 59) {
        return false;
    }
    *out = hour * 3600 + minute * 60 + second;
    *at += with_seconds ? 8 : 5;
    return true;
}

/* ".5" and so on, in nanoseconds; moves *at behind it. */
static bool split_second(const char *text, size_t len, size_t *at,
                         uint64_t *out)
{
    *out = 0;
    if (*at == len || text[*at] != '.') {
        return true;
    }
    const char *digits = text + *at + 1;
    size_t n = 0;
    while (*at + 1 + n < len && digit(digits[n]) < 10) {
        n++;
    }
    if (n == 0 || n > 9 || !short_number(digits, n, out)) {
        return false;
    }
    *out *= powers[9 - n];
    *at += 1 + n;
    return true;
}

bool wi_csv_timestamp(const char *text, size_t len, enum wi_unit unit,
                      int64_t *out)
{
    const int64_t units = (int64_t)powers[3 * (size_t)unit]; /* in a second */
    const uint64_t unit_ns = powers[9 - 3 * (size_t)unit];
    int64_t days;
    int64_t seconds = 0;
    uint64_t ns = 0;
    size_t at = DATE_BYTES;
    if (len < DATE_BYTES || !wi_csv_date(text, DATE_BYTES, &days)) {
        return false;
    }
    if (len > DATE_BYTES) {
        at++;
        if ((text[DATE_BYTES] != ' ' && text[DATE_BYTES] != 'T') ||
            !clock_time(text, len, &at, &seconds) ||
            !split_second(text, len, &at, &ns)) {
            return false;
        }
        at += at < len && text[at] == 'Z';
    }
    /* Of the first second that there is, 64 bits hold the end only. */
    wi_i128 value = (wi_i128)(days * WI_DAY_SECONDS + seconds) * units;
    value += ns / unit_ns;
    if (at != len || ns % unit_ns != 0 || value < INT64_MIN ||
        value > INT64_MAX) {
        return false;
    }
    *out = (int64_t)value;
    return true;
}
