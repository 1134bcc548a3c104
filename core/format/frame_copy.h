/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The loops that move values into a frame: read by row number, write in
 * sequence, no checks. The builder has made room.
 *
 * Rows are idx[0..n), or first..first+n if idx is NULL, counted from the
 * view's offset. Row numbers are below 2^31 (wi_schema_import sees to it).
 */
#ifndef WI_FRAME_COPY_H
#define WI_FRAME_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/isa.h"
#include "core/format/schema.h"

struct wi_rows {
    const uint32_t *idx; /* NULL: first, first + 1, .. */
    uint32_t first;
    uint32_t n;
};

/** As memcpy.
 *  Errors: none. Blocks: never. Threads: any. Ownership: caller's. */
void wi_copy_block(uint8_t *dst, const uint8_t *src, size_t bytes,
                   enum wi_isa isa);

/** Values of eight bytes to dst, those of rows idx[0..n).
 *  Errors: none. Blocks: never. Threads: any. Ownership: caller's. */
void wi_gather_words(uint8_t *dst, const uint8_t *src,
                     const struct wi_rows *rows, enum wi_isa isa);

/** Values of `width` bytes to dst.
 *  Errors: none. Blocks: never. Threads: any. Ownership: caller's. */
void wi_copy_fixed(uint8_t *dst, const struct wi_view *v, uint32_t width,
                   const struct wi_rows *rows);

/** Bytes of VAR values in a frame: [used, end) of cap_bytes are new. */
struct wi_var {
    uint32_t used;
    uint32_t cap_bytes;
    uint32_t end; /* [out] after the last row that fits */
};

/**
 * VAR values: their bytes to dst + used, and ends[i] = end of row i, until a
 * row would end after cap_bytes. Both are only written: a peer may be able to
 * write there too. Any byte of dst after `used` may be written.
 *
 * Returns: rows that fit
 */
uint32_t wi_copy_texts(int32_t *ends, uint8_t *dst, struct wi_var *var,
                       const struct wi_view *v, const struct wi_rows *rows);

/** Bytes of the VAR values of these rows in the source. */
uint32_t wi_var_bytes(const struct wi_view *v, const struct wi_rows *rows);

#endif /* WI_FRAME_COPY_H */
