/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Arrow batches as CSV text, for the types that generated tables have.
 *
 * rows_out.h prints every type to a stream, with quotes where they are needed;
 * this fills memory that is written at once, for files of gigabytes.
 */
#ifndef WEIR_GEN_TEXT_H
#define WEIR_GEN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "operators/table/table.h"

/** A text that grows. Zeroed: empty; free(data) ends it. */
struct gen_text {
    char *data;
    size_t len;
    size_t room;
};

/** Append the header line. Returns false without memory. */
bool gen_text_names(const struct wi_columns *columns, struct gen_text *text);

/**
 * Append a line per row.
 *
 * @param columns  int32, timestamp(us), decimal of at most 18 digits, and utf8
 *                 of which no value needs quotes
 * @param batch    with these columns
 *
 * Returns:    false without memory
 * Errors:     none
 * Blocks:     never
 * Threads:    one at a time per text
 * Ownership:  nothing
 */
bool gen_text_rows(const struct wi_columns *columns,
                   const struct ArrowArray *batch, struct gen_text *text);

#endif /* WEIR_GEN_TEXT_H */
