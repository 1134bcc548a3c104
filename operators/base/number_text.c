/* SPDX-License-Identifier: Apache-2.0 */
#include "operators/base/number_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

/* The shortest that is read back as the same number. */
uint32_t wi_float_text(double v, bool single, char text[WI_VALUE_TEXT_BYTES])
{
    if (isnan(v)) {
        return (uint32_t)snprintf(text, WI_VALUE_TEXT_BYTES, "nan");
    }
    int n = 0;
    int digits = single ? 6 : 15;
    for (int most = single ? 9 : 17; digits <= most; digits++) {
        n = snprintf(text, WI_VALUE_TEXT_BYTES, "%.*g", digits, v);
        double back = strtod(text, NULL);
        if ((single ? (double)(float)back : back) == v) {
            break;
        }
    }
    return (uint32_t)n;
}

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
