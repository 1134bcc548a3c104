/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A folder of files as a database: a view over each, by DuckDB.
 *
 *   orders.parquet, lines.csv  -->  views "orders" and "lines"
 */
#ifndef WEIR_TOOL_FOLDER_H
#define WEIR_TOOL_FOLDER_H

#include <stdint.h>

#include <weir/scan_engine.h>

/**
 * Make the views: .parquet, .csv, .csv.gz, .json; other files are left out, and
 * so are those that begin with a dot.
 *
 * @param views_out  [out] how many
 * @param paths_out  [out] the files, each as a text of SQL, with commas between
 *
 * Errors:     WEIR_ERR_DATA (a file that the engine cannot read, no file that
 *             it could, two of one name), WEIR_ERR_SYSTEM, WEIR_ERR_NO_MEMORY
 * Blocks:     on files
 * Threads:    any
 * Ownership:  free(*paths_out), which is set on WEIR_OK only
 */
weir_err folder_views(const char *folder, const struct weir_scan_engine *engine,
                      uint32_t *views_out, char **paths_out,
                      struct weir_error *err);

#endif /* WEIR_TOOL_FOLDER_H */
