/* SPDX-License-Identifier: Apache-2.0 */
/* What the report of several plans says over all of them. */
#include <criterion/criterion.h>
#include <math.h>

#include "bench/lib/query_set.h"

static void add(struct wb_query_set *set, double shm, double other)
{
    struct wb_query_series *s = &set->series[set->n++];
    s->n = 2;
    s->opponents[0].name = "duckdb";
    s->opponents[0].seconds.median = other;
    s->opponents[1].name = "shm";
    s->opponents[1].seconds.median = shm;
}

Test(query_set, the_mean_is_geometric_and_the_least_has_a_plan)
{
    static struct wb_query_set set;
    add(&set, 1, 8);
    add(&set, 4, 1);
    add(&set, 3, 12);
    struct wb_query_ratios r = wb_query_set_ratios(&set, 0);
    cr_assert_lt(fabs(r.mean - 2), 1e-9);
    cr_assert_eq(r.least, 0.25);
    cr_assert_eq(r.worst, 1);
}
