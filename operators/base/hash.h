/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Hashes and comparisons of rows by key columns, a vector at a time.
 *
 * These hashes are of one worker's tables: they differ from the hash that
 * shuffles partition by (docs/wire.md), so that the rows of one partition
 * spread over a whole table.
 */
#ifndef WI_OPERATORS_HASH_H
#define WI_OPERATORS_HASH_H

#include "operators/base/store.h"

/** hash_out[i] becomes the hash of row i, over the columns cols[0..n_cols). All
 *  nulls hash alike, all NaNs too, and -0.0 as 0.0. Never fails. */
void wi_hash_rows(const struct wi_chunk *chunk, const uint32_t *cols,
                  uint32_t n_cols, uint64_t *hash_out);

/** What is compared: column chunk_cols[k] with column store_cols[k]. */
struct wi_match {
    const struct wi_chunk *chunk;
    const struct wi_store *store;
    const uint32_t *chunk_cols;
    const uint32_t *store_cols;
    uint32_t n_cols;
    bool nulls_equal; /* null equals null (grouping), else nothing (joins) */
};

/**
 * Which pairs have equal keys?
 *
 * Compares chunk row pair_row[i] (an index of rows, not a position) with store
 * row pair_store[i], for i in 0..n-1; keeps the pairs that agree in all
 * columns, in order.
 *
 * Returns:    pairs kept, compacted to the front of both arrays
 * Errors:     none. Blocks: never. Threads: the worker's. Ownership: nothing.
 */
uint32_t wi_match_pairs(const struct wi_match *match, uint32_t *pair_row,
                        uint32_t *pair_store, uint32_t n);

/** differs_out[i] is 1 if row i is the first, or its keys differ from those of
 *  the row before; null equals null. Returns how many differ. */
uint32_t wi_find_runs(const struct wi_chunk *chunk, const uint32_t *cols,
                      uint32_t n_cols, uint8_t *differs_out);

/** Order of two values of one representation: <0, 0, >0. Strings by bytes,
 *  NaN above all numbers. Nulls are the caller's business. */
int wi_value_compare(const struct wi_vec *a, uint32_t pos_a,
                     const struct wi_vec *b, uint32_t pos_b);

#endif /* WI_OPERATORS_HASH_H */
