/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A fan and a radix partition of the same rows, in turn, for several numbers of
 * destinations; and the report.
 */
#ifndef WB_FAN_SERIES_H
#define WB_FAN_SERIES_H

#include <stdio.h>

#include "bench/lib/fan.h"
#include "bench/lib/median.h"

enum { WB_FAN_COUNTS = 16, WB_FAN_MOST = 16384, WB_FAN_REPEAT = 101 };

/** One number of destinations; ns per row. */
struct wb_fan_point {
    uint32_t destinations;
    struct wb_spread weir;
    struct wb_spread radix;
    double ratio; /* median of weir / radix, run by run */
    double rows_per_frame;
    char plan[256];
};

struct wb_fan_series {
    struct wb_fan_params params; /* `destinations` is each point's */
    uint64_t rows;
    uint32_t repeat;
    uint32_t n;
    struct wb_fan_point points[WB_FAN_COUNTS];
};

/**
 * Run all points. Each pair of runs is checked: rows and sums of every
 * destination must agree, and be all rows.
 *
 * Errors:     WEIR_ERR_ARG (destinations that are no multiple of workers),
 *             WEIR_ERR_DATA (a run lost or changed rows), and as wb_fan_run
 * Blocks:     until all runs have ended
 * Threads:    one
 * Ownership:  nothing
 */
weir_err wb_fan_series_run(struct wb_fan_series *s, struct weir_error *err);

/** Print for people, and as one JSON object on one line.
 *  Errors: as wb_report_write. Blocks: on output. Threads: one.
 *  Ownership: nothing. */
void wb_fan_series_print(const struct wb_fan_series *s, FILE *out);
weir_err wb_fan_series_json(const struct wb_fan_series *s, FILE *out,
                            struct weir_error *err);

#endif /* WB_FAN_SERIES_H */
