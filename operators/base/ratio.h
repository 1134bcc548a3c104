/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Quotients of whole numbers as floats: the nearest one, half way the one whose
 * last bit is 0. Rounded once, so that equal quotients are equal floats.
 */
#ifndef WI_OPERATORS_RATIO_H
#define WI_OPERATORS_RATIO_H

#include "operators/base/number.h"

/** Whole numbers up to here are exact as float64. */
#define WI_RATIO_EXACT (INT64_C(1) << 53)

/** The float64 that is nearest to x / y, for any numbers. Cost: two or more
 *  divisions of 128 bits. @param y  1 .. 2^127-1 */
double wi_ratio_f64_any(wi_i128 x, wi_u128 y);

/** The float32 that is nearest to x / y. @param y  1 .. 2^127-1 */
double wi_ratio_f32_any(wi_i128 x, wi_u128 y);

/** As wi_ratio_f64_any; numbers that are exact as float64 are divided by the
 *  processor, which rounds that way. */
static inline double wi_ratio_f64(wi_i128 x, wi_u128 y)
{
    if (x <= WI_RATIO_EXACT && x >= -WI_RATIO_EXACT && y <= WI_RATIO_EXACT) {
        return (double)(int64_t)x / (double)(int64_t)y;
    }
    return wi_ratio_f64_any(x, y);
}

#endif /* WI_OPERATORS_RATIO_H */
