/* SPDX-License-Identifier: Apache-2.0 */
/* Which texts survive as values. */
#include "operators/table/csv_type.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/date.h"
#include "operators/table/csv_value.h"

enum { MAX_INT_DIGITS = 19 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t count_digits(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && is_digit(text[n])) {
        n++;
    }
    return n;
}

/* ---- int64 ------------------------------------------------------------------ */

bool wi_csv_parse_int64(const char *text, size_t len, int64_t *out)
{
    size_t sign = len > 0 && text[0] == '-';
    size_t digits = len - sign;
    uint64_t v = 0;
    if (digits == 0 || digits > MAX_INT_DIGITS ||
        count_digits(text + sign, digits) != digits ||
        (text[sign] == '0' && len > 1)) { /* 007, and -0 */
        return false;
    }
    for (size_t i = sign; i < len; i++) {
        v = v * 10 + (uint64_t)(text[i] - '0'); /* 19 digits fit 64 bits */
    }
    if (v > (uint64_t)INT64_MAX + sign) {
        return false;
    }
    *out = (int64_t)(sign ? 0 - v : v);
    return true;
}

size_t wi_csv_print_int64(int64_t value, char text[WI_CSV_VALUE_BYTES])
{
    char digits[WI_CSV_VALUE_BYTES];
    uint64_t v = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    size_t n = 0;
    size_t len = 0;
    do {
        digits[n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    if (value < 0) {
        text[len++] = '-';
    }
    while (n > 0) {
        text[len++] = digits[--n];
    }
    return len;
}

/* ---- bool ------------------------------------------------------------------- */

bool wi_csv_parse_bool(const char *text, size_t len, int64_t *out)
{
    bool is_true = len == 4 && memcmp(text, "true", 4) == 0;
    if (!is_true && !(len == 5 && memcmp(text, "false", 5) == 0)) {
        return false;
    }
    *out = is_true;
    return true;
}

size_t wi_csv_print_bool(int64_t value, char text[WI_CSV_VALUE_BYTES])
{
    const char *word = value != 0 ? "true" : "false";
    size_t len = strlen(word);
    memcpy(text, word, len);
    return len;
}

/* ---- date32 ----------------------------------------------------------------- */

bool wi_csv_parse_date32(const char *text, size_t len, int64_t *out)
{
    return wi_csv_date(text, len, out);
}

static size_t print_digits(char *text, uint32_t value, size_t digits)
{
    for (size_t i = digits; i > 0; i--) {
        text[i - 1] = (char)('0' + value % 10);
        value /= 10;
    }
    return digits;
}

size_t wi_csv_print_date32(int64_t days, char text[WI_CSV_VALUE_BYTES])
{
    const struct wi_civil c = wi_civil_of_days(days);
    size_t n = print_digits(text, (uint32_t)c.year, 4);
    text[n++] = '-';
    n += print_digits(text + n, c.month, 2);
    text[n++] = '-';
    return n + print_digits(text + n, c.day, 2);
}

/* ---- float64 ---------------------------------------------------------------- */

/*
 * Decimals of at most 15 digits are converted here and not by the C library,
 * which costs ten times as much. Both ways are exact: digits (below 2^53) and
 * the power of ten (up to 10^22) are floating-point numbers, so their quotient
 * is the correctly rounded value; and two decimals of 15 digits never share a
 * value (DBL_DIG), so the one that gives the value back is the text.
 */
struct decimal {
    bool negative;
    uint64_t digits;
    int decimals; /* digits behind the point */
    bool point;
};

static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
#define MAX_DIGITS UINT64_C(999999999999999)

/* -?(0|[1-9][0-9]*)([.][0-9]+)? of at most 15 digits. */
static bool parse_decimal(const char *text, size_t len, struct decimal *d)
{
    size_t sign = len > 0 && text[0] == '-';
    size_t whole = count_digits(text + sign, len - sign);
    size_t at = sign + whole;
    size_t behind = 0;
    if (at < len) {
        behind = count_digits(text + at + 1, len - at - 1);
        if (text[at] != '.' || behind == 0 || at + 1 + behind != len) {
            return false;
        }
    }
    if (whole == 0 || (whole > 1 && text[sign] == '0') ||
        whole + behind > DBL_DIG) {
        return false;
    }
    *d = (struct decimal){sign != 0, 0, (int)behind, behind > 0};
    for (size_t i = sign; i < len; i++) {
        if (i != at) {
            d->digits = d->digits * 10 + (uint64_t)(text[i] - '0');
        }
    }
    return true;
}

static double decimal_value(const struct decimal *d)
{
    double v = (double)d->digits / powers[d->decimals];
    return d->negative ? -v : v;
}

bool wi_csv_parse_float64(const char *text, size_t len, double *out)
{
    struct decimal d;
    char copy[WI_CSV_VALUE_BYTES];
    if (parse_decimal(text, len, &d)) {
        *out = decimal_value(&d);
        return true;
    }
    size_t sign = len > 0 && text[0] == '-';
    /* This keeps out hexadecimal, inf and nan, and what strtod skips. */
    if (len >= sizeof(copy) || len == sign || !is_digit(text[sign]) ||
        memchr(text, '\0', len) != NULL) {
        return false;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (strspn(copy + sign, "0123456789.eE+-") != len - sign) {
        return false;
    }
    char *end;
    double v = strtod(copy, &end);
    if (end != copy + len) {
        return false;
    }
    *out = v;
    return true;
}

static size_t print_decimal(const struct decimal *d, char *text)
{
    size_t len = 0;
    uint64_t rest = d->digits;
    char back[WI_CSV_VALUE_BYTES];
    size_t n = 0;
    while (rest != 0 || n <= (size_t)d->decimals) {
        back[n++] = (char)('0' + rest % 10);
        rest /= 10;
    }
    if (d->negative) {
        text[len++] = '-';
    }
    while (n > 0) {
        text[len++] = back[--n];
        if (d->decimals > 0 && n == (size_t)d->decimals) {
            text[len++] = '.';
        }
    }
    return len;
}

/* The decimal with so many digits behind the point that is the value. */
static bool find_decimal(double value, int decimals, struct decimal *d)
{
    double size = fabs(value);
    double scaled = size * powers[decimals];
    if (!(scaled <= (double)MAX_DIGITS)) {
        return false;
    }
    *d = (struct decimal){signbit(value) != 0, (uint64_t)(scaled + 0.5),
                          decimals, decimals > 0};
    return d->digits <= MAX_DIGITS &&
           (double)d->digits / powers[decimals] == size;
}

/* Where %.15g has no exponent, the fewest decimals are its text. */
static bool find_shortest(double value, struct decimal *d)
{
    double size = fabs(value);
    if (size != 0 && !(size >= 1e-4 && size < 1e15)) {
        return false;
    }
    for (int decimals = 0; decimals <= DBL_DIG; decimals++) {
        if (find_decimal(value, decimals, d)) {
            return true;
        }
    }
    return false;
}

static int print_by_library(double value, int decimals, char *text)
{
    if (decimals >= 0) {
        return snprintf(text, WI_CSV_VALUE_BYTES, "%.*f", decimals, value);
    }
    int n = snprintf(text, WI_CSV_VALUE_BYTES, "%.15g", value);
    for (int digits = 16; digits <= 17 && strtod(text, NULL) != value;
         digits++) {
        n = snprintf(text, WI_CSV_VALUE_BYTES, "%.*g", digits, value);
    }
    return n;
}

size_t wi_csv_print_float64(double value, int decimals,
                            char text[WI_CSV_VALUE_BYTES])
{
    struct decimal d;
    if (decimals < 0
            ? find_shortest(value, &d)
            : decimals <= DBL_DIG && find_decimal(value, decimals, &d)) {
        return print_decimal(&d, text);
    }
    int n = print_by_library(value, decimals, text);
    return n < WI_CSV_VALUE_BYTES ? (size_t)n : WI_CSV_VALUE_BYTES - 1;
}

static bool survives_as_shortest(const char *text, size_t len)
{
    char again[WI_CSV_VALUE_BYTES];
    double value;
    return wi_csv_parse_float64(text, len, &value) &&
           wi_csv_print_float64(value, -1, again) == len &&
           memcmp(text, again, len) == 0;
}

/* ---- the guess -------------------------------------------------------------- */

static void guess_float(struct wi_csv_guess *g, const char *text, size_t len)
{
    struct decimal d;
    if (!g->no_fixed) {
        bool is_fixed = parse_decimal(text, len, &d) && d.point;
        if (is_fixed && g->decimals == 0) {
            g->decimals = d.decimals;
        }
        g->no_fixed = !is_fixed || d.decimals != g->decimals;
    }
    g->no_short = g->no_short || !survives_as_shortest(text, len);
}

void wi_csv_guess_add(struct wi_csv_guess *guess, const char *text, size_t len)
{
    struct wi_csv_guess *g = guess;
    int64_t value;
    if (text == NULL) {
        g->nulls = true;
        return;
    }
    g->seen = true;
    if (g->no_int && g->no_bool && g->no_date && g->no_short && g->no_fixed) {
        return;
    }
    g->no_bool = g->no_bool || !wi_csv_parse_bool(text, len, &value);
    g->no_date = g->no_date || !wi_csv_parse_date32(text, len, &value);
    bool is_int = wi_csv_parse_int64(text, len, &value);
    g->no_int = g->no_int || !is_int;
    if (is_int && len <= DBL_DIG) {
        g->no_fixed = true; /* an integer of 15 digits is its own shortest */
    } else if (!g->no_fixed || !g->no_short) {
        guess_float(g, text, len);
    }
}

struct wi_csv_type wi_csv_guess_type(const struct wi_csv_guess *guess)
{
    const struct wi_csv_guess *g = guess;
    struct wi_csv_type type = {WI_CSV_UTF8, -1, g->nulls};
    if (!g->seen) {
        return type;
    }
    if (!g->no_int) {
        type.kind = WI_CSV_INT64;
    } else if (!g->no_bool) {
        type.kind = WI_CSV_BOOL;
    } else if (!g->no_date) {
        type.kind = WI_CSV_DATE32;
    } else if (!g->no_short) {
        type.kind = WI_CSV_FLOAT64;
    } else if (!g->no_fixed) {
        type.kind = WI_CSV_FLOAT64;
        type.decimals = g->decimals;
    }
    return type;
}

const char *wi_csv_type_name(struct wi_csv_type type)
{
    static const char *const names[] = {"int64", "bool", "date32", "float64",
                                        "utf8"};
    return names[type.kind];
}

const char *wi_csv_type_format(struct wi_csv_type type)
{
    static const char *const formats[] = {"l", "b", "tdD", "g", "u"};
    return formats[type.kind];
}
