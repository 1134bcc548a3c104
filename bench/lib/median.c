/* SPDX-License-Identifier: Apache-2.0 */
/* Order statistics by sorting: samples are few. */
#include "bench/lib/median.h"

#include <assert.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

struct wb_spread wb_spread_of(double *v, uint32_t n)
{
    assert(n > 0);
    qsort(v, n, sizeof(v[0]), by_value);
    struct wb_spread s = {.min = v[0], .max = v[n - 1]};
    s.median = n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2.0;
    return s;
}
