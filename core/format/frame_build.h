/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Building DATA frames in place.
 *
 *   wi_builder_start --> wi_builder_append ... --> wi_builder_finish
 *
 * A builder belongs to one thread; none of its calls waits.
 */
#ifndef WI_FRAME_BUILD_H
#define WI_FRAME_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/error.h>

#include "core/format/schema.h"

/** Builds DATA frames in place, column by column. One per lane of a writer; it
 *  remembers the width of VAR columns from frame to frame, so that the areas of
 *  a frame fill up together. */
struct wi_builder;

weir_err wi_builder_open(const struct wi_schema *s, struct wi_builder **out,
                         struct weir_error *err);
void wi_builder_close(struct wi_builder *b);

/** From now on wi_builder_around() is obeyed. Errors: WEIR_ERR_NO_MEMORY. */
weir_err wi_builder_stream(struct wi_builder *b, struct weir_error *err);

/** Make the builder destination `dest` of a fan (frame_fan.h), which outlives
 *  it: rows of its open frames may come from there as well. */
struct wi_fan;
void wi_builder_join(struct wi_builder *b, struct wi_fan *fan, uint32_t dest);

/**
 * Start a frame at mem.
 *
 * @param mem       64-byte aligned, cap_bytes writable; old contents are junk
 *                  (validity and bit buffers must be zeroed as needed)
 * @param cap_bytes multiple of 64, at least wi_frame_min_bytes()
 * @param max_rows  lay out for at most this many rows (0: as many as fit)
 */
void wi_builder_start(struct wi_builder *b, uint8_t *mem, uint32_t cap_bytes,
                      uint32_t max_rows);

/** The frame just started lies in memory whose lines other cores have: write
 *  it around the cache if its rows are likely to come many at a time. */
void wi_builder_around(struct wi_builder *b);

/** Forget the open frame and its rows; its memory is the caller's again. */
void wi_builder_drop(struct wi_builder *b);

/** Rows in the open frame. */
uint32_t wi_builder_rows(const struct wi_builder *b);

/** Rows that still fit in the open frame while VAR bytes last. */
uint32_t wi_builder_room(const struct wi_builder *b);

/**
 * Append rows idx[0..n) of the viewed batch (idx NULL: rows first..first+n).
 * The scatter of the row path: one tight loop per column that reads by index
 * and writes in sequence; no check, call or branch per value in FIXED columns.
 *
 * Returns: rows taken, < n when the frame is full (also 0).
 */
uint32_t wi_builder_append(struct wi_builder *b, const struct wi_view *views,
                           const uint32_t *idx, uint32_t first, uint32_t n);

/**
 * Finish the frame: header (kind, bytes, rows, n_buffers; the ring sets pos,
 * worker and epoch), table, zero padding. If less than half of the space is
 * used, the buffers are moved together first, so that a half-empty frame takes
 * half the bytes.
 *
 * @param checksum  compute it, else 0
 *
 * Returns: header.bytes, a multiple of 64; 0 if no row was appended (nothing
 *          was written, the space may be reused)
 */
uint32_t wi_builder_finish(struct wi_builder *b, bool checksum);

/** Bytes of a DATA frame that holds just this row (64-byte multiple). */
uint64_t wi_frame_row_bytes(const struct wi_schema *s,
                            const struct wi_view *views, uint64_t row);

/** Bytes that any frame of one row without VAR bytes needs. */
uint32_t wi_frame_min_bytes(const struct wi_schema *s);

#endif /* WI_FRAME_BUILD_H */
