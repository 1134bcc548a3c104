/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Bits into a frame: validity and booleans (frame_copy.h has the other values).
 *
 *   bits of the source --window of 2,048 rows--> in words, aligned
 *   rows of a list     --64 at a time---------> a word of the frame
 *
 * The lists of a split ascend and span at most as many rows as a window has, so
 * its few words are copied once and every row of a list looks up its bit there.
 * Lists that do not are served too, bit by bit.
 */
#ifndef WI_FRAME_BITS_H
#define WI_FRAME_BITS_H

#include <stdint.h>

#include "core/base/isa.h"
#include "core/format/frame_copy.h"

/**
 * Bits to positions at, at + 1, .. of dst. Unless at % 64 is 0, an earlier call
 * left the word that holds position `at`, with zeros from `at` on. Whole words
 * are written; their bits after the last row are zero.
 *
 * @param bits   source bitmap, its row 0 at bit `offset`
 *
 * Errors: none. Blocks: never. Threads: any. Ownership: caller's.
 */
void wi_copy_bits(uint8_t *dst, uint32_t at, const uint8_t *bits,
                  uint64_t offset, const struct wi_rows *rows, enum wi_isa isa);

/** As wi_copy_bits with n ones. */
void wi_set_bits(uint8_t *dst, uint32_t at, uint32_t n);

#endif /* WI_FRAME_BITS_H */
