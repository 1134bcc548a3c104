/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Several query plans, each against the same opponents: a line per plan, and
 * over all plans the geometric mean of the ratios and the least.
 */
#ifndef WB_QUERY_SET_H
#define WB_QUERY_SET_H

#include "bench/lib/query_series.h"

#define WB_QUERY_PLANS 64u

/** Each series has run; all have the same opponents in the same order. */
struct wb_query_set {
    uint32_t n;
    struct wb_query_series series[WB_QUERY_PLANS];
};

/** What an opponent's time over that of the base is, over all plans. */
struct wb_query_ratios {
    double mean;  /* geometric */
    double least; /* of plan series[worst] */
    uint32_t worst;
};

/** The ratios of opponent `which`. Base and opponent are there.
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
struct wb_query_ratios wb_query_set_ratios(const struct wb_query_set *set,
                                           uint32_t which);

/** Print a table for people. */
void wb_query_set_print(const struct wb_query_set *set, FILE *out);

/** Print one JSON object on one line. Errors: as wb_report_write. */
weir_err wb_query_set_print_json(const struct wb_query_set *set, FILE *out,
                                 struct weir_error *err);

#endif /* WB_QUERY_SET_H */
