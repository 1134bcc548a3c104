/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Random plans over the oracle's tables (oracle_data.h), with the same query in
 * SQL: filters, computed columns, joins, aggregates, unions, top-k, limits and
 * shuffles of every kind in any order that makes sense.
 */
#ifndef WT_RANDOM_PLAN_H
#define WT_RANDOM_PLAN_H

#include <stdbool.h>
#include <stdint.h>

struct wt_random_plan {
    char *json;
    char *sql;
    bool ordered; /* by all columns */
    bool keep;    /* its tables keep their rows: for a second run */
};

/** A function of the seed. */
void wt_random_plan_init(struct wt_random_plan *plan, uint64_t seed);
void wt_random_plan_fini(struct wt_random_plan *plan);

#endif /* WT_RANDOM_PLAN_H */
