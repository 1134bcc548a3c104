/* SPDX-License-Identifier: Apache-2.0 */
#include "operators/base/number_text.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/date.h"

/* Digits of |v| with a point before the last `scale`. */
uint32_t wi_exact_text(wi_i128 v, uint32_t scale,
                       char text[WI_VALUE_TEXT_BYTES])
{
    char turned[WI_VALUE_TEXT_BYTES];
    uint32_t n = 0;
    wi_u128 left = v < 0 ? -(wi_u128)v : (wi_u128)v;
    for (uint32_t digits = 0; left > 0 || digits <= scale; digits++) {
        if (digits == scale && scale > 0) {
            turned[n++] = '.';
        }
        turned[n++] = (char)('0' + (int)(left % 10));
        left /= 10;
    }
    uint32_t at = 0;
    if (v < 0) {
        text[at++] = '-';
    }
    while (n > 0) {
        text[at++] = turned[--n];
    }
    text[at] = '\0';
    return at;
}

/* ---- floats -------------------------------------------------------------- */

/* Digits that any decimal of has its own number for (DBL_DIG, FLT_DIG), so that
 * %g finds each of them; fewer where numbers are farther apart than digits. */
static int least_digits(double v, bool single)
{
    const double normal = single ? (double)FLT_MIN : DBL_MIN;
    return fabs(v) < normal ? 1 : single ? FLT_DIG : DBL_DIG;
}

static bool reads_back(const char *text, double v, bool single)
{
    return (single ? (double)strtof(text, NULL) : strtod(text, NULL)) == v;
}

/* Add 1 to the last digit of `1.234e-05`. No nine is met that would carry into
 * another exponent: one digit less would have been enough then. */
static void count_up(char *text)
{
    char *digit = text + strcspn(text, "e");
    do {
        digit -= digit[-1] == '.' ? 2 : 1;
        *digit = (char)(*digit == '9' ? '0' : *digit + 1);
    } while (*digit == '0' && digit > text + (text[0] == '-'));
}

/* Numbers below a power of two are closer to it than those above, so that the
 * nearest decimal may be too far below, and the next one above it not. */
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

uint32_t wi_float_text(double v, bool single, char text[WI_VALUE_TEXT_BYTES])
{
    const int most = single ? FLT_DECIMAL_DIG : DBL_DECIMAL_DIG;
    if (isnan(v)) {
        return (uint32_t)snprintf(text, WI_VALUE_TEXT_BYTES, "nan");
    }
    for (int digits = least_digits(v, single); digits <= most; digits++) {
        (void)snprintf(text, WI_VALUE_TEXT_BYTES, "%.*g", digits, v);
        if (reads_back(text, v, single) ||
            next_reads_back(v, single, digits, text)) {
            break;
        }
    }
    return (uint32_t)strlen(text);
}

/* ---- dates and times ----------------------------------------------------- */

uint32_t wi_date_text(int64_t days, char text[WI_VALUE_TEXT_BYTES])
{
    struct wi_civil c = wi_civil_of_days(days);
    return (uint32_t)snprintf(text, WI_VALUE_TEXT_BYTES,
                              "%04" PRId64 "-%02u-%02u", c.year, c.month,
                              c.day);
}

/* The unit's digits behind the point, none if they are 0. */
uint32_t wi_timestamp_text(int64_t v, uint8_t unit,
                           char text[WI_VALUE_TEXT_BYTES])
{
    int64_t ticks = wi_unit_ticks(unit);
    int64_t seconds = wi_floor_div(v, ticks);
    int64_t rest = wi_floor_mod(v, ticks);
    int64_t of_day = wi_floor_mod(seconds, WI_DAY_SECONDS);
    uint32_t n = wi_date_text(wi_floor_div(seconds, WI_DAY_SECONDS), text);
    n += (uint32_t)snprintf(text + n, WI_VALUE_TEXT_BYTES - n,
                            " %02d:%02d:%02d", (int)(of_day / 3600),
                            (int)(of_day / 60 % 60), (int)(of_day % 60));
    if (rest != 0) {
        n += (uint32_t)snprintf(text + n, WI_VALUE_TEXT_BYTES - n,
                                ".%0*" PRId64, 3 * unit, rest);
    }
    return n;
}
