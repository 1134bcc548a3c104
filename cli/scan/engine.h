/* SPDX-License-Identifier: Apache-2.0 */
/** Engines in this process, without a server. */
#ifndef WEIR_TOOL_ENGINE_H
#define WEIR_TOOL_ENGINE_H

#include <weir/scan_engine.h>

/** A query's answer. Errors: of the engine. Blocks: while it works. Threads:
 *  any. Ownership: stream_out->release. */
weir_err engine_query(const struct weir_scan_engine *engine, const char *text,
                      struct ArrowArrayStream *stream_out,
                      struct weir_error *err);

/** The same of a statement whose answer nobody wants. Errors: also
 *  WEIR_ERR_DATA (of the stream). Ownership: nothing. */
weir_err engine_run(const struct weir_scan_engine *engine, const char *text,
                    struct weir_error *err);

/** Put the rows of a stream into a new table. @param rows  released in any
 *  case. Errors, blocks, threads: as engine_run. Ownership: nothing. */
weir_err engine_ingest(const struct weir_scan_engine *engine, const char *table,
                       struct ArrowArrayStream *rows, struct weir_error *err);

#endif /* WEIR_TOOL_ENGINE_H */
