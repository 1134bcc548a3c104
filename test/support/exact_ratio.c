/* SPDX-License-Identifier: Apache-2.0 */
/* Digits as text. The C library reads a text as the nearest float64, so a
 * quotient with enough digits, and a 1 behind them if it goes on, is exact. */
#include "test/support/exact_ratio.h"

#include <stdlib.h>
#include <string.h>

enum { HIGH = 40, LOW = 19, WHOLE = HIGH + LOW, FRACTION = 80 };
enum { DIGITS = WHOLE + FRACTION };

void wt_exact_add(struct wt_exact_sum *sum, wi_i128 v)
{
    const wi_i128 part = 10000000000000000000u;
    sum->high += v / part;
    sum->low += v % part;
}

/* n digits of |v|. */
static void write_digits(wi_i128 v, uint32_t n, char *to)
{
    wi_u128 rest = v < 0 ? -(wi_u128)v : (wi_u128)v;
    for (uint32_t i = n; i > 0; rest /= 10) {
        to[--i] = (char)('0' + (int)(rest % 10));
    }
}

/* Its WHOLE digits, with zeros in front; returns its sign. Both parts get one
 * sign first. */
static bool sum_digits(const struct wt_exact_sum *sum, char *to)
{
    const wi_i128 part = 10000000000000000000u;
    wi_i128 high = sum->high + sum->low / part;
    wi_i128 low = sum->low % part;
    if (high > 0 && low < 0) {
        high--;
        low += part;
    } else if (high < 0 && low > 0) {
        high++;
        low -= part;
    }
    write_digits(high, HIGH, to);
    write_digits(low, LOW, to + HIGH);
    return high < 0 || low < 0;
}

/* digits / count in place; returns the remainder. */
static uint64_t divide_digits(char *digits, uint32_t n, uint64_t count)
{
    wi_u128 rest = 0;
    for (uint32_t i = 0; i < n; i++) {
        rest = rest * 10 + (uint32_t)(digits[i] - '0');
        digits[i] = (char)('0' + (int)(rest / count));
        rest %= count;
    }
    return (uint64_t)rest;
}

bool wt_exact_divide(const struct wt_exact_sum *sum, uint32_t n, uint64_t count,
                     wi_i128 *out)
{
    char digits[DIGITS];
    const bool minus = sum_digits(sum, digits);
    const uint32_t length = WHOLE + n;
    memset(digits + WHOLE, '0', n);
    const uint64_t rest = divide_digits(digits, length, count);
    wi_u128 v = 0;
    wi_u128 most = 1;
    for (uint32_t i = 0; i < 38; i++) {
        most *= 10;
    }
    for (uint32_t i = 0; i < length; i++) {
        if (v >= most / 10) {
            return false;
        }
        v = v * 10 + (uint32_t)(digits[i] - '0');
    }
    v += rest >= count - rest;
    *out = minus ? -(wi_i128)v : (wi_i128)v;
    return v < most;
}

double wt_exact_float64(const struct wt_exact_sum *sum, uint64_t count)
{
    char digits[DIGITS];
    char text[DIGITS + 4];
    const bool minus = sum_digits(sum, digits);
    memset(digits + WHOLE, '0', FRACTION);
    const bool more = divide_digits(digits, DIGITS, count) > 0;
    text[0] = minus ? '-' : '+';
    memcpy(text + 1, digits, WHOLE);
    text[1 + WHOLE] = '.';
    memcpy(text + 2 + WHOLE, digits + WHOLE, FRACTION);
    memcpy(text + 2 + DIGITS, more ? "1" : "0", 2);
    return strtod(text, NULL);
}
