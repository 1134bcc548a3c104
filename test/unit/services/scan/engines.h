/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Engines of ADBC drivers that are there, and one request to one of them.
 *
 *   SQLite   where tools/arrow.sh has put its driver
 *   DuckDB   where tools/duckdb.sh has put it
 *
 * A test goes over wt_scan_engines of them, each with an empty database.
 */
#ifndef WT_SCAN_ENGINES_H
#define WT_SCAN_ENGINES_H

#include <weir/scan.h>

#include "services/scan/job.h"

enum wt_scan_engine { WT_SQLITE, WT_DUCKDB, WT_ENGINES };

/** Is its driver there? */
int wt_scan_engine_there(enum wt_scan_engine which);

/** Open it, or fail the test. Ownership: engine_out->close. */
void wt_scan_engine_open(enum wt_scan_engine which,
                         struct weir_scan_engine *engine_out);

/** What came of a request. */
struct wt_answer {
    weir_err code;
    int64_t rows;
    struct weir_error err;
    struct weir_scan_fault fault;
    struct weir_scan_job job;
    struct ArrowArrayStream stream; /* release NULL: none */
};

/** Ask, and keep what comes. Ownership: wt_answer_fini. */
void wt_ask(const struct weir_scan_engine *engine,
            const struct weir_scan_request *request, struct wt_answer *answer);

/** The same for a text, which must be done without an error; gives the sum of
 *  the first column, int64, of all its rows. */
int64_t wt_ask_sum(const struct weir_scan_engine *engine, const char *text);

/** Releases what the answer holds. */
void wt_answer_fini(struct wt_answer *answer);

/** A stream of n batches of rows of one column "i": 0, 1, 2, ..., int64. */
void wt_count_stream(struct ArrowArrayStream *stream, int64_t n_batches,
                     int64_t rows);

/** The same, and then an error with this text instead of the end. */
void wt_count_stream_fails(struct ArrowArrayStream *stream, int64_t n_batches,
                           int64_t rows, const char *why);

#endif /* WT_SCAN_ENGINES_H */
