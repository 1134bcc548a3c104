/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inside of the partitioner: destinations by hash (partition_impl.h has the
 * hash).
 */
#ifndef WI_PARTITION_HASH_H
#define WI_PARTITION_HASH_H

#include "core/partition/partition_impl.h"

/**
 * The word v of each row [first, first + n) of a key column. Nulls get
 * WI_HASH_NULL; bytes and decimals are hashed with `seed`.
 */
void wi_key_words(const struct wi_column *c, const struct wi_view *v,
                  uint64_t first, uint32_t n, uint64_t seed,
                  uint64_t *words_out);

/** Hashes of the keys of rows [first, first + n). */
void wi_partition_hashes(struct wi_partition *p, const struct wi_view *views,
                         uint64_t first, uint32_t n, uint64_t *hashes_out);

/** Destinations of rows [first, first + n) by hash, into p->dest. */
void wi_hash_split(struct wi_partition *p, const struct wi_view *views,
                   uint32_t first, uint32_t n);

/** Straight to lists, if there is a loop for this case. False: there is not. */
bool wi_hash_lists(struct wi_partition *p, const struct wi_view *views,
                   uint32_t first, uint32_t n);

/** dest[i] of n hashes. */
void wi_hash_reduce(const struct wi_partition *p, const uint64_t *hashes,
                    uint32_t n, uint16_t *dest_out);

#endif /* WI_PARTITION_HASH_H */
