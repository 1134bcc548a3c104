/* SPDX-License-Identifier: Apache-2.0 */
/**
 * An engine of DuckDB whose clients' statements are looked at first.
 *
 *   request --> guard: one statement, and one of those that are served
 *                 |      (statement.h)
 *                 +----> the engine
 */
#ifndef WEIR_TOOL_GUARD_H
#define WEIR_TOOL_GUARD_H

#include <weir/scan_engine.h>

#include "tools/scan/statement.h"

/**
 * Put a guard before an engine.
 *
 * @param driver  DuckDB's library, whose parser counts statements
 * @param engine  [in, out] of that library; then the guard, which closes it
 *
 * Errors:     WEIR_ERR_NO_MEMORY, WEIR_ERR_UNSUPPORTED (the library has no
 *             parser to call); engine is as before then
 * Blocks:     never
 * Threads:    any
 * Ownership:  engine->close
 */
weir_err guard_open(const char *driver, const struct statement_may *may,
                    struct weir_scan_engine *engine, struct weir_error *err);

#endif /* WEIR_TOOL_GUARD_H */
