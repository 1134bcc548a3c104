/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A table in memory as an engine: batches that were taken from a stream before,
 * and are lent out again and again without being copied.
 *
 *   request.text    "N"      the first N columns
 *                   "N one"  of the first row alone
 */
#ifndef WB_SCAN_HELD_H
#define WB_SCAN_HELD_H

#include <weir/scan.h>

struct wb_held;

/** Take all batches of a stream.
 *  @param from  released in any case
 *  Errors: WEIR_ERR_DATA (the stream's own), WEIR_ERR_NO_MEMORY. Blocks: on the
 *  stream. Threads: one. Ownership: wb_held_close. */
weir_err wb_held_open(struct ArrowArrayStream *from, struct wb_held **out,
                      struct weir_error *err);

/** The engine; its close does nothing. Errors: none. Blocks: never. Threads:
 *  any. Ownership: held's. */
struct weir_scan_engine wb_held_engine(struct wb_held *held);

/** Every stream of the engine, and every batch of these, was released. NULL is
 *  allowed. Errors: none. Blocks: never. Threads: one. Ownership: frees it. */
void wb_held_close(struct wb_held *held);

#endif /* WB_SCAN_HELD_H */
