/* SPDX-License-Identifier: Apache-2.0 */
/** Arithmetic of 128 bits that reports overflow. The compiler's own will not
 *  do: clang's needs a library that is missing where gcc's is linked. */
#ifndef WI_OPERATORS_NUMBER_H
#define WI_OPERATORS_NUMBER_H

#include "operators/base/type.h"

static inline wi_u128 wi_abs_i128(wi_i128 v)
{
    return v < 0 ? -(wi_u128)v : (wi_u128)v;
}

static inline bool wi_fits_i64(wi_i128 v)
{
    return v == (int64_t)v;
}

/** *out = a * b. true: overflow, and *out may be anything. */
static inline bool wi_mul_i128(wi_i128 a, wi_i128 b, wi_i128 *out)
{
    if (wi_fits_i64(a) && wi_fits_i64(b)) {
        *out = (wi_i128)(int64_t)a * (int64_t)b;
        return false;
    }
    wi_u128 x = wi_abs_i128(a);
    wi_u128 y = wi_abs_i128(b);
    wi_u128 high = x >> 64 ? x >> 64 : y >> 64; /* of the factor that has it */
    wi_u128 other = x >> 64 ? y : x;
    wi_u128 low = x >> 64 ? (uint64_t)x : (uint64_t)y;
    wi_u128 cross = high * (uint64_t)other;
    wi_u128 sum = (cross << 64) + low * (uint64_t)other;
    bool minus = (a < 0) != (b < 0);
    *out = minus ? (wi_i128)-sum : (wi_i128)sum;
    return other >> 64 != 0 || cross >> 64 != 0 || sum < cross << 64 ||
           sum > ((wi_u128)1 << 127) - (minus ? 0 : 1);
}

/** v / n for n > 0, rounded half away from zero. */
static inline wi_i128 wi_round_div_i128(wi_i128 v, wi_i128 n)
{
    wi_i128 q = v / n;
    wi_i128 r = v % n;
    r = r < 0 ? -r : r;
    return r >= n - r ? q + (v < 0 ? -1 : 1) : q;
}

#endif /* WI_OPERATORS_NUMBER_H */
