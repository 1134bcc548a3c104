/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where the rows of `weir scan` go.
 *
 *   nothing given     a table on standard output (cli/rows_out.h)
 *   FILE.csv          by DuckDB: into a table of its own, then COPY
 *   FILE.parquet      the same
 *   FILE.arrow        by nanoarrow: an Arrow IPC file, batch by batch
 */
#ifndef WEIR_TOOL_OUT_H
#define WEIR_TOOL_OUT_H

#include <stdbool.h>

#include <weir/batch.h>

enum out_kind { OUT_TABLE, OUT_CSV, OUT_PARQUET, OUT_ARROW };

/** What the ending of a name says; NULL: OUT_TABLE. False: nothing known.
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
bool out_kind_of(const char *file, enum out_kind *kind_out);

/**
 * Take all rows of a stream.
 *
 * @param stream  released in any case
 *
 * Returns:    WEIR_OK | WEIR_DONE (nobody reads standard output any more)
 * Errors:     WEIR_ERR_DATA (the stream's), WEIR_ERR_SCHEMA (a type that cannot
 *             be printed or written), WEIR_ERR_NOT_FOUND (libduckdb.so),
 *             WEIR_ERR_SYSTEM, WEIR_ERR_NO_MEMORY; there is no file then
 * Blocks:     until they have come
 * Threads:    that of the stream
 * Ownership:  nothing
 */
weir_err out_take(enum out_kind kind, const char *file,
                  struct ArrowArrayStream *stream, struct weir_error *err);

/** One of them: write to a file that is there, and empty (out_arrow.c).
 *  Errors, blocks, threads: as out_take; WEIR_ERR_UNSUPPORTED: not built. */
weir_err out_arrow(const char *file, struct ArrowArrayStream *stream,
                   struct weir_error *err);

#endif /* WEIR_TOOL_OUT_H */
