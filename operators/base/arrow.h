/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Arrow batches in and out of chunks.
 *
 *   in:   int64, float64, timestamp, decimal(P>18)  point into the batch
 *         everything else                           is widened into own memory
 *   out:  one copy, dense and narrow, ready for weir_writer_push or a program
 */
#ifndef WI_OPERATORS_ARROW_H
#define WI_OPERATORS_ARROW_H

#include "operators/base/vec.h"

struct wi_arrow_in;
struct wi_arrow_out;

/**
 * Open a converter for batches of these columns.
 *
 * @param columns  stays the caller's, unchanged until close
 *
 * Errors:     as wi_mem_take, WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    the worker's
 * Ownership:  wi_arrow_in_close
 */
weir_err wi_arrow_in_open(const struct wi_columns *columns,
                          struct wi_op_mem *mem, struct wi_arrow_in **out,
                          struct weir_error *err);
void wi_arrow_in_close(struct wi_arrow_in *in);

/**
 * Check a batch that a program hands over, before anything reads its buffers:
 * columns, buffers, lengths, nulls, offsets of texts, and UTF-8.
 *
 * @param number  of the batch, for the message
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_SCHEMA, WEIR_ERR_DATA (offsets, UTF-8):
 *             names the batch, the column and the row
 * Blocks:     never; O(rows) for texts, and for columns that allow no nulls
 * Threads:    any
 * Ownership:  nothing
 */
weir_err wi_arrow_check(const struct wi_columns *columns, uint64_t number,
                        const struct ArrowArray *batch, struct weir_error *err);

/**
 * Rows first .. first+n-1 of a batch as a chunk.
 *
 * @param n    1..WI_CHUNK_ROWS
 * @param out  [out] valid until the next call, at most as long as the batch
 *
 * Errors:     none: the batch is from weir_reader_next, or was checked
 * Blocks:     never
 * Threads:    the worker's
 * Ownership:  the converter's and the batch's
 */
void wi_arrow_in_slice(struct wi_arrow_in *in, const struct ArrowArray *batch,
                       int64_t first, uint32_t n, struct wi_chunk *out);

/** Open a converter to batches; the rest as wi_arrow_in_open. */
weir_err wi_arrow_out_open(const struct wi_columns *columns,
                           struct wi_op_mem *mem, struct wi_arrow_out **out,
                           struct weir_error *err);
void wi_arrow_out_close(struct wi_arrow_out *out);

/**
 * A chunk as an Arrow batch, in buffers of the converter that are used again.
 *
 * @param chunk      1 row or more
 * @param batch_out  [out] its release does nothing; valid until the next call
 *
 * Errors:     as wi_mem_take (strings grow); WEIR_ERR_QUERY_DATA: strings of
 *             a column over 2 GiB
 * Blocks:     never
 * Threads:    the worker's
 * Ownership:  the converter's
 */
weir_err wi_arrow_out_put(struct wi_arrow_out *out,
                          const struct wi_chunk *chunk,
                          const struct ArrowArray **batch_out,
                          struct weir_error *err);

#endif /* WI_OPERATORS_ARROW_H */
