/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inside of the builder: a FIXED column that is written around the cache.
 *
 *   values --gather--> stage in L1 --sum, whole lines--> frame in memory
 *                        |
 *                        +--the line that is not full--> struct wi_stream
 *
 * The lines of a mapped ring were last read by another core. To write to them
 * a core has to get them from there; stores around the cache do not, and the
 * reader finds the lines in memory. What is written is not read again: it is
 * summed on its way.
 */
#ifndef WI_FRAME_STREAM_H
#define WI_FRAME_STREAM_H

#include <stdint.h>

#include "core/format/checksum.h"
#include "core/format/frame_copy.h"

enum { WI_STREAM_WIDTH = 64 }; /* of the widest values */

struct wi_stream {
    struct wi_sum_part part; /* lines that were written */
    uint8_t line[64];        /* the next one */
    uint8_t *to;             /* where it goes */
    uint32_t fill;           /* bytes in it */
    uint32_t last;           /* the four bytes before it */
};

/** Values go to `to`, aligned to 64 bytes.
 *  Errors: none. Blocks: never. Threads: one. Ownership: caller's. */
void wi_stream_start(struct wi_stream *st, uint8_t *to);

/** Append values of `width` bytes, at most WI_STREAM_WIDTH.
 *  Errors: none. Blocks: never. Threads: one. Ownership: caller's. */
void wi_stream_put(struct wi_stream *st, const struct wi_view *v,
                   uint32_t width, const struct wi_rows *rows);

/** Write the last line, with zeros at its end; `part` is whole then.
 *  Errors: none. Blocks: never. Threads: one. Ownership: caller's. */
void wi_stream_end(struct wi_stream *st);

#endif /* WI_FRAME_STREAM_H */
