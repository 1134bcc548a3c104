/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rows one at a time, for row engines: a thin layer over batches.
 *
 *   weir_row_writer_open(writer, schema, rows)
 *   weir_row_set_int64(rw, 0, 42); weir_row_set_bytes(rw, 1, "x", 1);
 *   weir_row_end(rw)           // at `rows` rows, or 1 MiB of texts, the batch
 *                              // is pushed
 *   weir_row_writer_flush(rw)
 *
 *   while (weir_row_next(&cursor)) { weir_row_int64(&cursor, 0); ... }
 *
 * The writer collects a small batch in its own memory and pushes it when it is
 * full or flushed. The cursor walks a received batch in place.
 */
#ifndef WEIR_ROW_H
#define WEIR_ROW_H

#include <stdint.h>

#include <weir/shuffle.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_row_writer weir_row_writer;

/**
 * Open a row writer over a writer.
 *
 * @param schema  the shuffle's schema; borrowed for this call
 * @param rows    rows collected before a push, 1..65536 [0: 1024]
 *
 * Errors:     WEIR_ERR_SCHEMA (also: not the shuffle's, or it is nested),
 *             WEIR_ERR_ARG, WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    the worker's thread
 * Ownership:  weir_row_writer_close; the writer stays the caller's
 */
WEIR_API weir_err weir_row_writer_open(weir_writer *writer,
                                       const struct ArrowSchema *schema,
                                       uint32_t rows,
                                       weir_row_writer **row_writer_out,
                                       struct weir_error *err);

/**
 * Set one value of the current row. A column that is not set is null.
 * _int64 serves all integers, bool, decimals of 32 and 64 bits, dates, times,
 * timestamps, durations and intervals of months (range checked), _double
 * float32 and float64, _bytes utf8, binary, fixed-size binary, and what is left
 * (float16, decimals of 128 and 256 bits, intervals of days), as they lie in an
 * Arrow buffer, little endian.
 *
 * Errors:     WEIR_ERR_ARG (no such column, bytes is NULL), WEIR_ERR_SCHEMA
 *             (other type), WEIR_ERR_DATA (out of range, wrong length),
 *             WEIR_ERR_NO_MEMORY, WEIR_ERR_STATE (a batch waits for
 *             weir_row_writer_flush)
 * Blocks:     never
 * Threads:    the worker's thread
 * Ownership:  bytes are copied
 */
WEIR_API weir_err weir_row_set_int64(weir_row_writer *rw, uint32_t column,
                                     int64_t value);
WEIR_API weir_err weir_row_set_double(weir_row_writer *rw, uint32_t column,
                                      double value);
WEIR_API weir_err weir_row_set_bytes(weir_row_writer *rw, uint32_t column,
                                     const void *bytes, uint64_t len);

/**
 * End the current row; pushes the batch when it is full.
 *
 * Returns:    WEIR_OK | WEIR_AGAIN (the row is kept, the batch could not be
 *             pushed yet: call weir_row_writer_flush until WEIR_OK before
 *             setting more) | WEIR_DONE
 * Errors:     WEIR_ERR_DATA (a column that is not nullable was not set; the
 *             row is dropped), WEIR_ERR_STATE (a batch waits for
 *             weir_row_writer_flush), and as weir_writer_push
 * Blocks:     never
 * Threads:    the worker's thread
 * Ownership:  nothing
 */
WEIR_API weir_err weir_row_end(weir_row_writer *rw);

/** Push the rows that have ended and publish them; an open row stays open.
 *  Returns: as weir_row_end.
 *  Errors: as weir_row_end. Blocks: never. Threads: the worker's thread.
 *  Ownership: nothing. */
WEIR_API weir_err weir_row_writer_flush(weir_row_writer *rw);

/** weir_row_end() and weir_row_writer_flush() that wait for room in the rings.
 *  For workers that do nothing but write: a worker that also reads must not
 *  wait here (docs/concurrency.md).
 *  Returns: WEIR_OK | WEIR_DONE.  Errors: as weir_row_end.
 *  Blocks: until there is room or the query ends.
 *  Threads: the worker's thread.  Ownership: nothing. */
WEIR_API weir_err weir_row_end_wait(weir_row_writer *rw);
WEIR_API weir_err weir_row_writer_flush_wait(weir_row_writer *rw);

/**
 * Why the last call of this row writer that failed did so: which row of its
 * batch, which column, what was found and expected. If the query failed, what
 * failed it.
 *
 * @param err  [out] code and message, may be NULL
 *
 * Returns:    the code; WEIR_OK: no call failed
 * Errors:     WEIR_ERR_ARG (no row writer)
 * Blocks:     never
 * Threads:    the worker's thread
 * Ownership:  nothing
 */
WEIR_API weir_err weir_row_writer_error(const weir_row_writer *rw,
                                        struct weir_error *err);

/** Close; rows that were not flushed are dropped. NULL is allowed.
 *  Errors: none. Blocks: never. Threads: one. Ownership: frees rw. */
WEIR_API void weir_row_writer_close(weir_row_writer *rw);

/** A position in a batch; fill it with weir_row_cursor_at(). */
struct weir_row_cursor {
    const struct ArrowArray *batch;
    const struct ArrowSchema *schema;
    int64_t row; /* -1 before the first weir_row_next */
};

/** A cursor before the first row of a batch.
 *  Errors: none. Blocks: never. Threads: any. Ownership: borrows both. */
WEIR_API struct weir_row_cursor
weir_row_cursor_at(const struct ArrowArray *batch,
                   const struct ArrowSchema *schema);

/** Go to the next row: 1, or 0 at the end, and without cursor or batch.
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
WEIR_API int weir_row_next(struct weir_row_cursor *cursor);

/** Values of the current row; cursor, batch, schema and len_out are not NULL,
 *  the column exists and has a type that fits (asserted). _bytes points into
 *  the batch.
 *  Errors: none. Blocks: never. Threads: any. Ownership: the batch's. */
WEIR_API int weir_row_is_null(const struct weir_row_cursor *c, uint32_t column);
WEIR_API int64_t weir_row_int64(const struct weir_row_cursor *c,
                                uint32_t column);
WEIR_API double weir_row_double(const struct weir_row_cursor *c,
                                uint32_t column);
WEIR_API const void *weir_row_bytes(const struct weir_row_cursor *c,
                                    uint32_t column, uint64_t *len_out);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_ROW_H */
