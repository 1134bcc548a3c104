/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Engines of `weir bench scan`, by the ADBC driver of DuckDB: the table that
 * all contestants read, lineitem, in a database file of its own.
 *
 * DuckDB starts threads: only processes that do not fork afterwards open one.
 */
#ifndef WB_SCAN_ENGINE_H
#define WB_SCAN_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/scan.h>

/** Open a database; `writes`: it is made if it is not there.
 *  Errors: as weir_scan_adbc_open. Blocks: on files. Threads: one.
 *  Ownership: engine_out->close. */
weir_err wb_engine_open(const char *driver, const char *database, bool writes,
                        struct weir_scan_engine *engine_out,
                        struct weir_error *err);

/**
 * Make the database with the table lineitem of that many rows, in a process of
 * its own, unless the file is there already.
 *
 * Errors:     as above; as wl_group_run
 * Blocks:     a second per million rows
 * Threads:    one, the only one of the process
 * Ownership:  nothing; there is no file if it failed
 */
weir_err wb_engine_make(const char *driver, const char *database, uint64_t rows,
                        struct weir_error *err);

#endif /* WB_SCAN_ENGINE_H */
