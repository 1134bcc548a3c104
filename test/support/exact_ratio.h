/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Sums and quotients of any size, exactly, digit by digit.
 *
 *   wt_exact_add ...     wt_exact_divide     sum * 10^n / count, rounded
 *                        wt_exact_float64    sum / count, the nearest float64
 */
#ifndef WT_EXACT_RATIO_H
#define WT_EXACT_RATIO_H

#include "operators/base/type.h"

/** high * 10^19 + low; zeroed: 0. */
struct wt_exact_sum {
    wi_i128 high;
    wi_i128 low;
};

void wt_exact_add(struct wt_exact_sum *sum, wi_i128 v);

/** sum * 10^n / count, rounded half away from zero. false: over 38 digits. */
bool wt_exact_divide(const struct wt_exact_sum *sum, uint32_t n, uint64_t count,
                     wi_i128 *out);

/** The float64 that is nearest to sum / count. */
double wt_exact_float64(const struct wt_exact_sum *sum, uint64_t count);

#endif /* WT_EXACT_RATIO_H */
