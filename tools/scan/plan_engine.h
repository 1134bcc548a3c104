/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Weir's own executor as an engine of scans.
 *
 *   data set ""     FOLDER          its plans, and the files that they read
 *   data set NAME   FOLDER/NAME
 *
 *   statement       a plan in JSON (docs/plan.md), or NAME or NAME.json, the
 *                   file of one in the data set
 *
 * Queries and their schemas are answered; plans take no parameters and change
 * nothing.
 */
#ifndef WEIR_TOOL_PLAN_ENGINE_H
#define WEIR_TOOL_PLAN_ENGINE_H

#include <weir/scan_engine.h>

#include "tools/scan/plan_stream.h"

/**
 * @param folder      copied
 * @param run         of each plan
 * @param engine_out  [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_NO_MEMORY, WEIR_ERR_DATA (it is no folder)
 * Blocks:     on the file system
 * Threads:    any
 * Ownership:  engine_out->close
 */
weir_err plan_engine_open(const char *folder,
                          const struct plan_stream_params *run,
                          struct weir_scan_engine *engine_out,
                          struct weir_error *err);

#endif /* WEIR_TOOL_PLAN_ENGINE_H */
