/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Keys, hash and sum of the synthetic plan: one piece of code for every
 * opponent that does not bring its own (the library hashes for itself).
 *
 *   row number --wb_keys_make--> key --wb_dest_make(seed)--> destination
 *
 * A key is its row number times an odd constant, folded: a bijection, so all
 * keys differ, and one multiplication, so that generating costs little beside
 * what is measured. Row numbers are unique in the cluster: worker << 40 | row.
 *
 * The hash is the library's own (docs/wire.md, "hash"), so that no opponent has
 * a cheaper or a better one.
 *
 * Errors: none. Blocks: never. Threads: any. Ownership: the caller's arrays.
 */
#ifndef WB_KEYS_H
#define WB_KEYS_H

#include <stdint.h>

/* Rows handled at a time: a batch, its keys and destinations stay in L1. */
#define WB_BATCH_ROWS 2048u

/* Hash seeds of the two stages. */
#define WB_SEED_STAGE1 UINT64_C(0x51a9e1)
#define WB_SEED_STAGE2 UINT64_C(0x9b2c7d53)

/** First row number of a worker, by its number in the cluster. */
static inline uint64_t wb_first_row(uint32_t worker)
{
    return (uint64_t)worker << 40;
}

/** Write the keys of rows [first, first + n); returns their sum mod 2^64. */
uint64_t wb_keys_make(int64_t *keys, uint64_t first, uint32_t n);

/** Fold keys into [0, distinct), to make skew; returns the new sum. */
uint64_t wb_keys_fold(int64_t *keys, uint32_t n, uint64_t distinct);

/** Destination of each key, 0 .. n_dest-1; n_dest <= 65536. */
void wb_dest_make(uint16_t *dest, const int64_t *keys, uint32_t n,
                  uint64_t seed, uint32_t n_dest);

/** Add the number of rows of each destination to count[0..n_dest). */
void wb_dest_count(uint32_t *count, const uint16_t *dest, uint32_t n,
                   uint32_t n_dest);

/** Sum of keys mod 2^64. */
uint64_t wb_keys_sum(const int64_t *keys, uint64_t n);

#endif /* WB_KEYS_H */
