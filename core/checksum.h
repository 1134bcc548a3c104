/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The running sum behind a frame's checksum.
 *
 * Bytes are taken as blocks of eight little-endian 64-bit words, one word w
 * per lane; the last block of a span is filled with zeros. Per lane:
 *
 *   a += w;        b += a;        (Fletcher's two sums over 64-bit words)
 *   c += w >> 32;  e += c;        (the same over the upper halves)
 *
 * a and b alone miss two words that change places at a distance of 2^k blocks
 * if they differ in their upper k bits only, because b then changes by a
 * multiple of 2^64. In e the same exchange counts less than 2^64 at any
 * distance below 2^32 blocks. At the end each sum is multiplied by an odd
 * constant of its own, which tells the lanes apart, and all are mixed.
 */
#ifndef WI_CHECKSUM_H
#define WI_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

enum { WI_SUM_LANES = 8, WI_SUM_BLOCK_BYTES = 64 };

struct wi_sum {
    uint64_t a[WI_SUM_LANES];
    uint64_t b[WI_SUM_LANES];
    uint64_t c[WI_SUM_LANES];
    uint64_t e[WI_SUM_LANES];
    enum wi_isa isa;
};

/**
 * Start at zero.
 *
 * Errors: none.  Blocks: never.  Threads: any.  Ownership: caller's memory
 */
void wi_sum_init(struct wi_sum *sum, enum wi_isa isa);

/**
 * Add a span. Spans are told apart by their order and, rounded up to blocks,
 * their length; who needs exact lengths adds them too.
 *
 * Errors: none.  Blocks: never; about 0.1 ns per word from L1
 * Threads: any.  Ownership: bytes are only read, any alignment
 */
void wi_sum_add(struct wi_sum *sum, const void *bytes, size_t n);

/** The sum and `salt` as one number, never 0. Errors: none. Blocks: never.
 *  Threads: any. Ownership: nothing. */
uint64_t wi_sum_get(const struct wi_sum *sum, uint64_t salt);

#endif /* WI_CHECKSUM_H */
