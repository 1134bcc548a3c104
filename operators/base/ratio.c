/* SPDX-License-Identifier: Apache-2.0 */
/* A quotient is first rounded to odd, to two bits or more than the float has:
 * its last bit is set if anything follows. Rounding that once more gives what
 * rounding the exact quotient gives.
 *
 * Source: S. Boldo, G. Melquiond, "Emulation of a FMA and correctly rounded
 * sums: proved algorithms using rounding to odd", IEEE Transactions on
 * Computers 57(4), 2008. */
#include "operators/base/ratio.h"

#include <math.h>

/* Bits of v from its first one on; 0 of 0. */
static int length_of(wi_u128 v)
{
    const uint64_t high = (uint64_t)(v >> 64);
    const uint64_t low = (uint64_t)v;
    return high != 0  ? 128 - __builtin_clzll(high)
           : low != 0 ? 64 - __builtin_clzll(low)
                      : 0;
}

/* x / y = what is returned * 2^exponent, rounded to odd if it has more than
 * `bits` bits. The rest is below y, so that there is room to shift it. */
static uint64_t odd_quotient(wi_u128 x, wi_u128 y, int bits, int *exponent)
{
    wi_u128 q = x / y;
    wi_u128 rest = x % y;
    *exponent = 0;
    while (length_of(q) < bits && rest != 0) {
        const int room = 128 - length_of(rest);
        const int wanted = bits - length_of(q);
        const int shift = room < wanted ? room : wanted;
        rest <<= shift;
        q = q << shift | rest / y;
        rest %= y;
        *exponent -= shift;
    }
    const int more = length_of(q) - bits;
    if (more > 0) {
        rest |= q & (((wi_u128)1 << more) - 1);
        q >>= more;
        *exponent += more;
    }
    return (uint64_t)q | (rest != 0);
}

double wi_ratio_f64_any(wi_i128 x, wi_u128 y)
{
    int exponent;
    const uint64_t q = odd_quotient(wi_abs_i128(x), y, 55, &exponent);
    const double size = ldexp((double)q, exponent);
    return x < 0 ? -size : size;
}

/* By way of a float64 that is rounded to odd. */
double wi_ratio_f32_any(wi_i128 x, wi_u128 y)
{
    int exponent;
    const uint64_t q = odd_quotient(wi_abs_i128(x), y, 53, &exponent);
    const double size = (double)(float)ldexp((double)q, exponent);
    return x < 0 ? -size : size;
}
