/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Scans: columnar results of queries, pulled by whoever wants them
 * (libweir-scan, a library of its own).
 *
 *   client                                    server
 *   weir_scan_connect(node, address)          weir_scan_server_open(node, ...)
 *   weir_scan_open(request) --- ask ------->  engine.open --> ArrowArrayStream
 *           <-- schema, reader, first batch
 *   stream.get_next   <===== get ==========   batches, in regions
 *   stream.release    ------ ask ---------->  the reader is freed
 *   weir_scan_disconnect
 *
 * An engine is any producer of an Arrow C stream: fill struct weir_scan_engine
 * with functions of your own, or take one that is here:
 *
 *   weir_scan_adbc_open   any ADBC driver, loaded at run time: SQLite, DuckDB,
 *                         PostgreSQL, ...
 *
 * All types that Arrow has travel, nested and dictionary ones too; buffers are
 * bytes. The client reads them where they lie (shm) or gets them into memory of
 * its own, a number of batches ahead of its caller.
 *
 * A reader belongs to the client that opened it: others cannot use it, and it
 * is freed when the client disconnects or dies. Memory of batches is bounded
 * over all clients of a server, which share it.
 */
#ifndef WEIR_SCAN_H
#define WEIR_SCAN_H

#include <weir/scan_client.h>  /* IWYU pragma: export */
#include <weir/scan_engine.h>  /* IWYU pragma: export */
#include <weir/scan_request.h> /* IWYU pragma: export */
#include <weir/scan_server.h>  /* IWYU pragma: export */

#endif /* WEIR_SCAN_H */
