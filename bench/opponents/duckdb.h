/* SPDX-License-Identifier: Apache-2.0 */
/**
 * DuckDB as an opponent of query plans: a process of Python that has loaded
 * the same tables into memory, and runs queries when told to.
 *
 * duckdb_query.py is its other end; it is part of this program and given to
 * `python3 -c`.
 */
#ifndef WB_DUCKDB_H
#define WB_DUCKDB_H

#include <stdint.h>

#include <weir/error.h>

#define WB_DUCKDB_QUERIES 64u

struct wb_duckdb;

struct wb_duckdb_params {
    const char *python;   /* an interpreter that has the package duckdb */
    const char *data_dir; /* CSV files, a table each; schema.sql if they are to
                             have other types than DuckDB infers */
    const char *sql[WB_DUCKDB_QUERIES];
    uint32_t n_sql;
    uint32_t threads;
};

/**
 * Start it, and wait until the tables are loaded.
 *
 * Errors:     WEIR_ERR_NOT_FOUND (no interpreter or no package: says how to get
 *             them), WEIR_ERR_SYSTEM, WEIR_ERR_NO_MEMORY
 * Blocks:     while it loads
 * Threads:    one
 * Ownership:  wb_duckdb_close
 */
weir_err wb_duckdb_open(const struct wb_duckdb_params *params,
                        struct wb_duckdb **out, struct weir_error *err);

/** End it. NULL is allowed. Errors: none. Blocks: until it has ended. */
void wb_duckdb_close(struct wb_duckdb *duckdb);

/** "duckdb 1.2.3". Errors: none. Blocks: never. Ownership: static until
 *  close. */
const char *wb_duckdb_version(const struct wb_duckdb *duckdb);

/** Run sql[query] once. @param answer_out  as of wb_query_run
 *  Errors: WEIR_ERR_PEER_LOST (it ended), WEIR_ERR_DATA (it said something
 *  else), WEIR_ERR_BUDGET (the answer is too long). Blocks: until it has run.
 *  Threads: one. Ownership: answer_out is the caller's. */
weir_err wb_duckdb_run(struct wb_duckdb *duckdb, uint32_t query,
                       double *seconds_out, char *answer_out,
                       struct weir_error *err);

#endif /* WB_DUCKDB_H */
