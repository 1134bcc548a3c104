/* SPDX-License-Identifier: Apache-2.0 */
/** Inside of the partitioner: kernels for AVX-512. */
#ifndef WI_PARTITION_AVX512_H
#define WI_PARTITION_AVX512_H

#include "core/partition/partition_impl.h"

#if WI_X86

/** From non-null 64-bit keys to lists in one loop: the multiplications of one
 *  block overlap the compressions of another. */
void wi_hash_lists_avx512(const void *keys, const struct wi_hash_lists *in,
                          uint32_t *idx_out, uint32_t *count_out);
/** Hash and reduce n non-null 64-bit keys in one go. */
void wi_hash_keys_avx512(const void *keys, uint32_t n, uint64_t k0, uint64_t k1,
                         uint32_t n_dest, uint16_t *dest_out);
/** hashes[i] = H(words[i] ^ hashes[i]). */
void wi_hash_words_avx512(const uint64_t *words, uint64_t *hashes, uint32_t n,
                          uint64_t k0, uint64_t k1);
void wi_hash_reduce_avx512(const uint64_t *hashes, uint32_t n, uint32_t n_dest,
                           uint16_t *dest_out);
/** Lists of all destinations from p->dest, at a stride of WI_LIST_STRIDE. */
void wi_lists_avx512(struct wi_partition *p, uint32_t first, uint32_t n);

#endif /* WI_X86 */

#endif /* WI_PARTITION_AVX512_H */
