/* SPDX-License-Identifier: Apache-2.0 */
/** Order statistics of a few samples. */
#ifndef WB_MEDIAN_H
#define WB_MEDIAN_H

#include <stdint.h>

struct wb_spread {
    double median;
    double min;
    double max;
};

/** Median, least and greatest of v[0..n), n >= 1; sorts v. The median of an
 *  even number is the mean of the two in the middle.
 *  Errors: none. Blocks: never. Threads: any. Ownership: v is the caller's. */
struct wb_spread wb_spread_of(double *v, uint32_t n);

#endif /* WB_MEDIAN_H */
