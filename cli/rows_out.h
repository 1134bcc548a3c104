/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Arrow batches on a stream: as an aligned table, as CSV or as JSON lines.
 *
 *   table   the whole answer is kept, for the widths of the columns; numbers to
 *           the right, nulls as "null" in texts and nothing else
 *
 *             no | total  | name
 *            ----+--------+-------
 *              1 |  12.50 | apple
 *              2 |   null | pear
 *           (2 rows)
 *
 *   csv     RFC 4180 with LF: a header line; a null is an empty field, an empty
 *           text is ""; bytes are themselves, elsewhere two hex digits each
 *   json    an object per row; integers, floats and bools as such, null, and
 *           everything else (decimals, too: readers would round them) as text
 */
#ifndef WEIR_ROWS_OUT_H
#define WEIR_ROWS_OUT_H

#include <stdio.h>

#include <weir/batch.h>

struct rows_out;

enum rows_format { ROWS_TABLE, ROWS_CSV, ROWS_JSON };

/** @param schema  of the batches; not kept.
 *  Errors: WEIR_ERR_SCHEMA, WEIR_ERR_NO_MEMORY. Blocks: never. Threads: one.
 *  Ownership: rows_out_close. */
weir_err rows_out_open(FILE *to, enum rows_format format,
                       const struct ArrowSchema *schema, struct rows_out **out,
                       struct weir_error *err);

/** Print a batch; a table keeps it. WEIR_OK | WEIR_DONE (nobody reads the pipe
 *  any more; SIGPIPE is ignored). Errors: WEIR_ERR_SYSTEM (the stream),
 *  WEIR_ERR_NO_MEMORY. Blocks: on the stream. Threads: one. */
weir_err rows_out_put(struct rows_out *out, const struct ArrowArray *batch,
                      struct weir_error *err);

/** Print what is kept. WEIR_OK | WEIR_DONE (as above). Errors:
 *  WEIR_ERR_SYSTEM. Blocks: on the stream. Threads: one. Ownership: nothing. */
weir_err rows_out_end(struct rows_out *out, struct weir_error *err);

/** NULL is allowed. Errors: none. */
void rows_out_close(struct rows_out *out);

#endif /* WEIR_ROWS_OUT_H */
