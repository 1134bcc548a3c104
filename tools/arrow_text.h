/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Values of Arrow columns as text, exactly: what is read back as the same type
 * is the same value.
 *
 *   bool                 true, false
 *   integers             -12
 *   floats               the shortest that is read back the same; nan, inf
 *   decimal(P,S)         12.50, with all S digits
 *   date32               2013-07-01
 *   timestamp            2013-07-01 12:30:00, .250 behind it if not whole
 *   utf8                 as it is
 *   binary, fixed-size   two hex digits a byte
 */
#ifndef WEIR_ARROW_TEXT_H
#define WEIR_ARROW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/batch.h>

/** A column of a batch, ready to print. */
struct arrow_column {
    const struct ArrowArray *array;
    int64_t first; /* row 0 of the batch in the buffers */
    char kind;     /* first letter of the Arrow format; below */
    bool number;   /* aligned to the right; a JSON number or bool */
    uint32_t width;
    uint32_t scale;
    uint32_t unit; /* digits behind a timestamp's point */
};

/** Look at column `idx` of a batch. False: a format that is not supported.
 *  Errors: none. Blocks: never. Threads: any. Ownership: borrows batch. */
bool arrow_column_init(struct arrow_column *c, const struct ArrowSchema *schema,
                       const struct ArrowArray *batch, int64_t idx);

#define ARROW_TEXT_BYTES 64

/** A value; texts and bytes of any length point into the batch or are printed
 *  as hex by the caller (arrow_text_hex). */
struct arrow_text {
    const char *text; /* NULL: null */
    size_t n_bytes;
    bool bytes; /* binary: not printable yet */
    char memory[ARROW_TEXT_BYTES];
};

/** Row `row` of the batch. Errors: none. Blocks: never. Threads: any.
 *  Ownership: out->text points into out or into the batch. */
void arrow_text(const struct arrow_column *c, int64_t row,
                struct arrow_text *out);

/** n bytes as 2 n hex digits, not terminated. Errors: none. Blocks: never.
 *  Threads: any. Ownership: nothing. */
void arrow_text_hex(const char *bytes, size_t n, char *hex_out);

#endif /* WEIR_ARROW_TEXT_H */
