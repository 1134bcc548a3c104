/* SPDX-License-Identifier: Apache-2.0 */
/* Which texts survive as values. */
#include "operators/table/csv_type.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/date.h"
#include "operators/base/number_text.h"
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

/* Is every byte one of these? */
static bool only(const char *bytes, const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && text[n] != '\0' && strchr(bytes, text[n]) != NULL) {
        n++;
    }
    return n == len;
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
};

static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
#define MAX_DIGITS UINT64_C(999999999999999)

/* Where the parts of -?(0|[1-9][0-9]*)([.][0-9]+)? are. */
struct form {
    size_t sign;   /* 0 or 1 */
    size_t whole;  /* digits */
    size_t behind; /* digits; 0: no point */
};

static bool find_form(const char *text, size_t len, struct form *f)
{
    f->sign = len > 0 && text[0] == '-';
    f->whole = count_digits(text + f->sign, len - f->sign);
    f->behind = 0;
    size_t at = f->sign + f->whole;
    if (at < len) {
        f->behind = count_digits(text + at + 1, len - at - 1);
        if (text[at] != '.' || f->behind == 0 || at + 1 + f->behind != len) {
            return false;
        }
    }
    return f->whole > 0 && (f->whole == 1 || text[f->sign] != '0');
}

/* Of at most 15 digits. */
static bool parse_decimal(const char *text, size_t len, struct decimal *d)
{
    struct form f;
    if (!find_form(text, len, &f) || f.whole + f.behind > DBL_DIG) {
        return false;
    }
    *d = (struct decimal){f.sign != 0, 0, (int)f.behind};
    for (size_t i = f.sign; i < len; i++) {
        if (i != f.sign + f.whole) {
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
                          decimals};
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

size_t wi_csv_print_float64(double value, char text[WI_CSV_VALUE_BYTES])
{
    struct decimal d;
    char any[WI_VALUE_TEXT_BYTES];
    if (find_shortest(value, &d)) {
        return print_decimal(&d, text);
    }
    const size_t len = wi_float_text(value, false, any);
    memcpy(text, any, len); /* 24 bytes: -2.2250738585072014e-308 */
    return len;
}

static bool survives_as_shortest(const char *text, size_t len)
{
    char again[WI_CSV_VALUE_BYTES];
    double value;
    return wi_csv_parse_float64(text, len, &value) &&
           wi_csv_print_float64(value, again) == len &&
           memcmp(text, again, len) == 0;
}

/* ---- the guess -------------------------------------------------------------- */

/* As wi_timestamp_text() prints it: without the fraction if that is 0. */
static void guess_time(struct wi_csv_guess *g, const char *text, size_t len)
{
    enum { DAY = 10, MINUTE_END = 16, WHOLE = 19 };
    int64_t value;
    size_t digits = len > WHOLE ? len - WHOLE - 1 : 0;
    uint8_t unit = (uint8_t)(digits / 3);
    bool form = len >= WHOLE && text[DAY] == ' ' && text[MINUTE_END] == ':' &&
                digits % 3 == 0 && digits <= 9 && is_digit(text[len - 1]) &&
                (len == WHOLE || (digits > 0 && text[WHOLE] == '.'));
    bool zero = digits > 0 && only("0", text + WHOLE + 1, digits);
    bool fits = form && wi_csv_timestamp(text, len, WI_NANO, &value);
    g->not_nano = g->not_nano || !fits;
    if (zero || (digits > 0 && g->unit != 0 && g->unit != unit) ||
        (!fits && !(form && wi_csv_timestamp(text, len, WI_MICRO, &value)))) {
        g->no_time = true;
    }
    g->unit = unit > g->unit ? unit : g->unit;
}

/* A zero has no sign, a number no more digits than the type. */
static void guess_decimal(struct wi_csv_guess *g, const char *text, size_t len)
{
    struct form f = {0};
    if (!find_form(text, len, &f) || f.behind == 0 ||
        f.whole + f.behind > WI_DECIMAL_MOST ||
        (g->behind != 0 && g->behind != f.behind) ||
        (f.sign != 0 && only("-0.", text, len))) {
        g->no_decimal = true;
        return;
    }
    /* 0.5 is decimal(1,1): the zero is no digit of it. */
    uint32_t whole = text[f.sign] == '0' ? 0 : (uint32_t)f.whole;
    g->behind = (uint32_t)f.behind;
    g->whole = whole > g->whole ? whole : g->whole;
}

static void guess_number(struct wi_csv_guess *g, const char *text, size_t len)
{
    int64_t value;
    bool is_int = wi_csv_parse_int64(text, len, &value);
    g->no_int = g->no_int || !is_int;
    g->no_decimal = g->no_decimal || is_int;
    if (is_int && len <= DBL_DIG) {
        return; /* it is its own shortest decimal */
    }
    if (!g->no_decimal) {
        guess_decimal(g, text, len);
    }
    g->no_float = g->no_float || !survives_as_shortest(text, len);
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
    g->no_bool = g->no_bool || !wi_csv_parse_bool(text, len, &value);
    g->no_date = g->no_date || !wi_csv_parse_date32(text, len, &value);
    if (!g->no_time) {
        guess_time(g, text, len);
    }
    if (!g->no_int || !g->no_decimal || !g->no_float) {
        guess_number(g, text, len);
    }
}

static enum wi_type_kind guess_kind(const struct wi_csv_guess *g)
{
    const uint32_t digits = g->whole + g->behind;
    if (!g->seen) {
        return WI_TYPE_UTF8;
    }
    return !g->no_int    ? WI_TYPE_INT64
           : !g->no_bool ? WI_TYPE_BOOL
           : !g->no_date ? WI_TYPE_DATE32
           : !g->no_time && !(g->unit == WI_NANO && g->not_nano)
               ? WI_TYPE_TIMESTAMP
           : !g->no_decimal && digits <= WI_DECIMAL_MOST ? WI_TYPE_DECIMAL
           : !g->no_float                                ? WI_TYPE_FLOAT64
                                                         : WI_TYPE_UTF8;
}

struct wi_type wi_csv_guess_type(const struct wi_csv_guess *guess)
{
    const struct wi_csv_guess *g = guess;
    struct wi_type type = {.kind = guess_kind(g), .nullable = g->nulls};
    if (type.kind == WI_TYPE_TIMESTAMP) {
        type.unit = g->unit == 0 ? WI_MICRO : g->unit;
    } else if (type.kind == WI_TYPE_DECIMAL) {
        type.precision = g->whole + g->behind <= WI_DECIMAL_SMALL
                             ? WI_DECIMAL_SMALL
                             : WI_DECIMAL_MOST;
        type.scale = (uint8_t)g->behind;
    }
    return type;
}
