/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Values of Arrow columns as text, exactly: what is read back as the same type
 * is the same value.
 *
 *   bool                 true, false
 *   numbers, times       as operators/base/value_text.h
 *   utf8                 as it is
 *   binary, fixed-size   two hex digits a byte
 */
#ifndef WEIR_ARROW_TEXT_H
#define WEIR_ARROW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "operators/base/value_text.h"

/** A column of a batch, ready to print. */
struct arrow_column {
    struct wi_type type;
    const struct ArrowArray *array;
    int64_t first; /* row 0 of the batch in the buffers */
};

/** Column `idx` of a batch. Errors: none. Blocks: never. Threads: any.
 *  Ownership: borrows batch. */
struct arrow_column arrow_column_at(const struct wi_columns *columns,
                                    const struct ArrowArray *batch,
                                    uint32_t idx);

/** A value; texts and bytes of any length point into the batch or are printed
 *  as hex by the caller (arrow_text_hex). */
struct arrow_text {
    const char *text; /* NULL: null */
    size_t n_bytes;
    bool bytes; /* binary: not printable yet */
    char memory[WI_VALUE_TEXT_BYTES];
};

/** Row `row` of the batch. Errors: none. Blocks: never. Threads: any.
 *  Ownership: out->text points into out or into the batch. */
void arrow_text(const struct arrow_column *c, int64_t row,
                struct arrow_text *out);

/** n bytes as 2 n hex digits, not terminated. Errors: none. Blocks: never.
 *  Threads: any. Ownership: nothing. */
void arrow_text_hex(const char *bytes, size_t n, char *hex_out);

#endif /* WEIR_ARROW_TEXT_H */
