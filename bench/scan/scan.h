/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Result sets from one process to another: the experiment of Thallus, by number
 * of columns, over transports of Weir and against others.
 *
 *   this program --- take, read, one ---> rivals, in turn (A B C A B C)
 *                                         each a server and a client
 *
 * Source: the table is loaded before (the transport alone), or DuckDB runs each
 * query in the server. Each run has two passes over each result set: `take`
 * drops every batch as it comes, `read` adds up every value. Rows and sums are
 * the same for all rivals in every run, or it is an error.
 */
#ifndef WB_SCAN_SCAN_H
#define WB_SCAN_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <weir/error.h>

#include "bench/lib/median.h"
#include "bench/scan/contest.h"
#include "bench/scan/rival.h"

#define WB_SCAN_SETS 8u
#define WB_SCAN_RIVALS 10u
#define WB_SCAN_REPEAT 100u
#define WB_SCAN_COLUMNS 16u /* of the table */
#define WB_SCAN_ROWS UINT64_C(6000000)

enum wb_scan_figure {
    WB_SCAN_TAKE, /* seconds of a pass */
    WB_SCAN_READ,
    WB_SCAN_FIGURES
};

struct wb_scan_params {
    const char *driver;      /* libduckdb.so */
    const char *database;    /* a file; made if it is not there */
    const char *python;      /* of rivals that are not Weir's own */
    const char *sum_library; /* for these */
    const char *listen;
    const char *rivals[WB_SCAN_RIVALS];
    uint32_t n_rivals;
    uint32_t columns[WB_SCAN_SETS]; /* first of the table [1, 2, 4, 8, 16] */
    uint32_t n_sets;
    uint64_t rows;       /* of the table [6,000,000] */
    uint32_t batch_rows; /* of rivals that are not Weir's own [16384] */
    uint64_t batch_bytes;
    uint64_t memory_bytes;
    uint32_t ahead;
    uint32_t repeat; /* [5] */
    uint32_t ones;   /* scans of one row per run [100] */
    bool memory;     /* the source */
};

struct wb_scan_result {
    const char *name;
    char version[64];
    struct wb_spread seconds[WB_SCAN_SETS][WB_SCAN_FIGURES];
    struct wb_spread one_us; /* a scan of one row; 0: not measured */
};

struct wb_scan {
    struct wb_scan_params params; /* with the defaults */
    struct wb_scan_result results[WB_SCAN_RIVALS];
    uint64_t bytes[WB_SCAN_SETS]; /* of values */
};

/** Is it Weir's own transport? Errors: none. Blocks: never. Threads: any.
 *  Ownership: nothing. */
bool wb_scan_is_weir(const char *rival);

/**
 * Measure. `note` (may be NULL) gets a line per run.
 *
 * Errors:     WEIR_ERR_ARG; WEIR_ERR_INTEGRITY (rivals differ in rows or sums);
 *             as wb_engine_make, wb_rival_open, wb_rival_ask
 * Blocks:     until done
 * Threads:    one, the only one of the process
 * Ownership:  nothing
 */
weir_err wb_scan_run(const struct wb_scan_params *params, struct wb_scan *out,
                     FILE *note, struct weir_error *err);

/** Print for people, the ratios last ("flight/tcp 1.50"), and as one JSON
 *  object on one line.
 *  Errors: as wb_report_write. Blocks: on output. Threads: one. */
void wb_scan_print(const struct wb_scan *scan, FILE *out);
weir_err wb_scan_print_json(const struct wb_scan *scan, FILE *out,
                            struct weir_error *err);

#endif /* WB_SCAN_SCAN_H */
