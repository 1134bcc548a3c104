/* SPDX-License-Identifier: Apache-2.0 */
/* Which texts come back unchanged from values of a type. */
#include "operators/table/csv_type.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "operators/base/time_read.h"
#include "operators/base/value_read.h"
#include "operators/base/value_text.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct wi_str as_str(const char *text, size_t len)
{
    return (struct wi_str){text, (uint32_t)len};
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

/* ---- texts as they would be printed -------------------------------------- */

/* Where the parts of -?(0|[1-9][0-9]*)([.][0-9]+)? are. */
struct form {
    size_t sign;     /* 0 or 1 */
    size_t whole;    /* digits */
    size_t decimals; /* digits; 0: no point */
};

static bool find_form(const char *text, size_t len, struct form *f)
{
    f->sign = len > 0 && text[0] == '-';
    f->whole = count_digits(text + f->sign, len - f->sign);
    f->decimals = 0;
    size_t at = f->sign + f->whole;
    if (at < len) {
        f->decimals = count_digits(text + at + 1, len - at - 1);
        if (text[at] != '.' || f->decimals == 0 ||
            at + 1 + f->decimals != len) {
            return false;
        }
    }
    return f->whole > 0 && (f->whole == 1 || text[f->sign] != '0');
}

/* -?(0|[1-9][0-9]*), but -0. */
static bool is_plain_int(const char *text, size_t len)
{
    const size_t sign = len > 0 && text[0] == '-';
    int64_t value;
    return len > sign && count_digits(text + sign, len - sign) == len - sign &&
           (text[sign] != '0' || len == 1) &&
           wi_read_int64(as_str(text, len), &value) == WI_READ_OK;
}

static bool is_plain_bool(const char *text, size_t len)
{
    return (len == 4 && memcmp(text, "true", 4) == 0) ||
           (len == 5 && memcmp(text, "false", 5) == 0);
}

/* Of other years, 12345-01-02, it is more often a text. */
static bool is_date(const char *text, size_t len)
{
    enum { BYTES = 10 };
    int64_t days;
    return len == BYTES && wi_read_date(as_str(text, len), &days) == WI_READ_OK;
}

static bool is_time(const char *text, size_t len, uint8_t unit)
{
    int64_t value;
    return wi_read_timestamp(as_str(text, len), unit, &value) == WI_READ_OK;
}

/* `inf` and `nan` do not count: they are more often texts. */
static bool is_shortest_float(const char *text, size_t len)
{
    char again[WI_VALUE_TEXT_BYTES];
    double value;
    return wi_read_float64(as_str(text, len), &value) == WI_READ_OK &&
           isfinite(value) && wi_float_text(value, false, again) == len &&
           memcmp(text, again, len) == 0;
}

/* ---- the guess ----------------------------------------------------------- */

/* As wi_timestamp_text() prints it: without the fraction if that is 0. */
static void guess_time(struct wi_csv_guess *g, const char *text, size_t len)
{
    enum { DAY = 10, MINUTE_END = 16, WHOLE = 19 };
    size_t digits = len > WHOLE ? len - WHOLE - 1 : 0;
    uint8_t unit = (uint8_t)(digits / 3);
    bool form = len >= WHOLE && text[DAY] == ' ' && text[MINUTE_END] == ':' &&
                digits % 3 == 0 && digits <= 9 && is_digit(text[len - 1]) &&
                (len == WHOLE || (digits > 0 && text[WHOLE] == '.'));
    bool zero = digits > 0 && only("0", text + WHOLE + 1, digits);
    bool fits = form && is_time(text, len, WI_NANO);
    g->not_nano = g->not_nano || !fits;
    if (zero || (digits > 0 && g->unit != 0 && g->unit != unit) ||
        (!fits && !(form && is_time(text, len, WI_MICRO)))) {
        g->no_time = true;
    }
    g->unit = unit > g->unit ? unit : g->unit;
}

/* A zero has no sign, a number no more digits than the type. */
static void guess_decimal(struct wi_csv_guess *g, const char *text, size_t len)
{
    struct form f = {0};
    if (!find_form(text, len, &f) || f.decimals == 0 ||
        f.whole + f.decimals > WI_DECIMAL_MOST ||
        (g->decimals != 0 && g->decimals != f.decimals) ||
        (f.sign != 0 && only("-0.", text, len))) {
        g->no_decimal = true;
        return;
    }
    /* 0.5 is decimal(1,1): the zero is no digit of it. */
    uint32_t whole = text[f.sign] == '0' ? 0 : (uint32_t)f.whole;
    g->decimals = (uint32_t)f.decimals;
    g->whole = whole > g->whole ? whole : g->whole;
}

static void guess_number(struct wi_csv_guess *g, const char *text, size_t len)
{
    bool is_int = is_plain_int(text, len);
    g->no_int = g->no_int || !is_int;
    g->no_decimal = g->no_decimal || is_int;
    if (is_int && len <= DBL_DIG) {
        return; /* it is its own shortest decimal */
    }
    if (!g->no_decimal) {
        guess_decimal(g, text, len);
    }
    g->no_float = g->no_float || !is_shortest_float(text, len);
}

void wi_csv_guess_add(struct wi_csv_guess *guess, const char *text, size_t len)
{
    struct wi_csv_guess *g = guess;
    if (text == NULL) {
        g->nulls = true;
        return;
    }
    g->seen = true;
    g->no_bool = g->no_bool || !is_plain_bool(text, len);
    g->no_date = g->no_date || !is_date(text, len);
    if (!g->no_time) {
        guess_time(g, text, len);
    }
    if (!g->no_int || !g->no_decimal || !g->no_float) {
        guess_number(g, text, len);
    }
}

static enum wi_type_kind guess_kind(const struct wi_csv_guess *g)
{
    const uint32_t digits = g->whole + g->decimals;
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
        type.precision = g->whole + g->decimals <= WI_DECIMAL_SMALL
                             ? WI_DECIMAL_SMALL
                             : WI_DECIMAL_MOST;
        type.scale = (uint8_t)g->decimals;
    }
    return type;
}
