/* SPDX-License-Identifier: Apache-2.0 */
/** Where DuckDB's library is, for commands that load it. */
#ifndef WEIR_TOOL_DUCKDB_H
#define WEIR_TOOL_DUCKDB_H

/** $WEIR_DUCKDB, or libduckdb.so beside this build, or the name alone: where
 *  the system looks for libraries. Errors: none. Blocks: never. Threads: one.
 *  Ownership: static. */
const char *duckdb_driver(void);

#endif /* WEIR_TOOL_DUCKDB_H */
