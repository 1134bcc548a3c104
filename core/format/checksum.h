/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The sum that a frame's checksum is made of.
 *
 *   lead blocks | buffer 0 | buffer 1 | ..
 *
 * The data are blocks of eight little-endian 64-bit words, one word w per lane.
 * Per lane:
 *
 *   a += w;   b += a;   (Fletcher's two sums over 64-bit words)
 *   c += u;   e += c;   (the same over u, which has the upper halves below)
 *
 * a and b alone miss two words that change places at a distance of 2^k blocks
 * if they differ in their upper k bits only: b then changes by a multiple of
 * 2^64. u has these bits in its lower half, so such an exchange moves e by less
 * than 2^64 at any distance below 2^32 blocks.
 *
 * In the first block of a piece, u is w >> 32. After it, u is the word that
 * begins four bytes before w: a load without a shift, which meets each upper
 * half one lane further (that of lane 7 in lane 0 of the next block). After a
 * piece of several blocks, one more step of c and e takes the last upper
 * halves. At the end each sum is multiplied by an odd constant of its own,
 * which tells the lanes apart, and all are mixed.
 *
 * One call per frame, so that the sums stay in registers: a frame of one row
 * is on the path of a row's latency.
 */
#ifndef WI_CHECKSUM_H
#define WI_CHECKSUM_H

#include <stdalign.h>
#include <stdint.h>

#include "core/base/isa.h"

enum { WI_SUM_LANES = 8, WI_SUM_BLOCK_BYTES = 64 };

/** The sums of one piece: a, b, c, e of each lane. */
struct wi_sum_part {
    alignas(64) uint64_t sums[4][WI_SUM_LANES];
    uint32_t blocks;
};

/** What is summed, in this order. Any alignment. */
struct wi_sum {
    const uint8_t *lead;
    uint32_t lead_blocks;
    /* Buffers of a DATA frame, as its table has them now: clamped to `bytes`,
     * rounded up to whole blocks. */
    uint32_t n_buffers;
    const uint8_t *mem; /* the frame; not read if n_buffers is 0 */
    uint32_t bytes;     /* of the frame, multiple of 64 */
    /* NULL, or by buffer: what wi_sum_move() made of it; NULL: it is read */
    const struct wi_sum_part *const *parts;
};

/**
 * The sum and `salt` as one number, never 0.
 *
 * Errors: none.  Blocks: never; about 0.1 ns per word from L1
 * Threads: any.  Ownership: memory is only read
 */
uint64_t wi_sum_get(const struct wi_sum *sum, enum wi_isa isa, uint64_t salt);

/**
 * Move blocks of a piece to where they belong, around the cache, and add them
 * to its sums. A piece begins with zeros in *part.
 *
 * @param to    aligned to 64 bytes
 * @param from  the four bytes before it are the last ones moved, if there are
 *              any; not in the frame
 *
 * Errors: none.  Blocks: never
 * Threads: any; wi_flush_stores() before others may look at `to`
 * Ownership: caller's
 */
void wi_sum_move(struct wi_sum_part *part, uint8_t *to, const uint8_t *from,
                 uint32_t blocks, enum wi_isa isa);

/** The piece is whole; its last four bytes are `last`.
 *  Errors: none. Blocks: never. Threads: any. Ownership: caller's. */
void wi_sum_part_end(struct wi_sum_part *part, uint32_t last);

/**
 * As wi_sum_get() for a DATA frame of a row or two, whose few words need no
 * vectors; zeros at the end of a span are skipped.
 *
 * @param bytes      of the frame, multiple of 64, at least 64 and its table
 * @param n_buffers  entries of its table
 *
 * Returns: the sum; 0 if there is more than a few words: use wi_sum_get()
 * Errors: none.  Blocks: never.  Threads: any.  Ownership: as wi_sum_get()
 */
uint64_t wi_sum_narrow(const uint8_t *mem, uint32_t bytes, uint32_t n_buffers,
                       uint64_t salt);

/** Number i of the odd constants: 0 .. 31 are those of the sums' lanes. */
#define WI_SUM_FACTOR(i) (0x9e3779b97f4a7c15u * (2 * (uint64_t)(i) + 1))

/** A word of the salt by its number: what a lane's sum becomes at the end. */
static inline uint64_t wi_sum_word(uint64_t word, uint32_t number)
{
    uint64_t x = word * WI_SUM_FACTOR(4 * WI_SUM_LANES + number);
    return x ^ (x >> 29);
}

#endif /* WI_CHECKSUM_H */
