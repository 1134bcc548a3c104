/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Opponents of a query plan, run in turn (A B C A B C), with the same answer
 * from all of them, and the report.
 */
#ifndef WB_QUERY_SERIES_H
#define WB_QUERY_SERIES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "bench/lib/median.h"
#include "bench/lib/query.h"

#define WB_QUERY_OPPONENTS 8u

struct wb_query_opponent {
    const char *name;    /* "shm": a transport; or any, with a run of its own */
    const char *version; /* of a foreign engine [NULL] */
    uint32_t threads;    /* of a foreign engine */
    weir_err (*run)(void *arg, double *seconds_out, char *answer_out,
                    struct weir_error *err); /* [the plan over `name`] */
    void *arg;
    struct wb_spread seconds; /* set by wb_query_series_run, as */
    bool rows_ok; /* in every run the same answer as the first opponent's */
};

struct wb_query_series {
    const char *plan_name;
    struct wb_query_params params; /* transport is filled in */
    uint32_t repeat;
    uint32_t cores; /* of the machine, for the report */
    uint32_t n;
    struct wb_query_opponent opponents[WB_QUERY_OPPONENTS];
    uint32_t answer_rows;    /* set by wb_query_series_run, as */
    struct weir_error wrong; /* the first answer that differs; WEIR_OK: none */
};

/**
 * Run everything; `note` (may be NULL) gets a line per run, for progress. Other
 * answers do not end it: see rows_ok and wrong.
 *
 * Errors:     the first run's that failed, with the opponent's name
 * Blocks:     until all runs have ended
 * Threads:    one, the only one of the process
 * Ownership:  nothing
 */
weir_err wb_query_series_run(struct wb_query_series *series, FILE *note,
                             struct weir_error *err);

/** Print a table for people, with a line for each ratio. */
void wb_query_series_print(const struct wb_query_series *series, FILE *out);

/** The same as an object. Returns: NULL: no memory. Ownership: the caller's. */
json_t *wb_query_series_json(const struct wb_query_series *series);

/** Print one JSON object on one line. Errors: as wb_report_write. */
weir_err wb_query_series_print_json(const struct wb_query_series *series,
                                    FILE *out, struct weir_error *err);

/** The opponent whose times the others' are divided by; NULL: it is not there.
 *  Ownership: the series'. */
const struct wb_query_opponent *
wb_query_series_base(const struct wb_query_series *series);

#endif /* WB_QUERY_SERIES_H */
