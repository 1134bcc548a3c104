/* SPDX-License-Identifier: Apache-2.0 */
/** Inside of the partitioner: kernels of vectors of 128 bits, for machines
 *  without better ones. */
#ifndef WI_PARTITION_VEC128_H
#define WI_PARTITION_VEC128_H

#include "core/partition/partition_impl.h"

/* Hashes need products of 64 bits, which GCC's own vectors do not have. */
#if WI_X86 || defined(__aarch64__)
#define WI_VEC128_HASH 1
#else
#define WI_VEC128_HASH 0
#endif

/** The numbers of the bits of a byte, ascending, one to a byte. */
extern const uint64_t wi_bit_numbers[256];

/** Lists of all destinations from p->dest, at a stride of WI_LIST_STRIDE. */
void wi_lists_vec128(struct wi_partition *p, uint32_t first, uint32_t n);

#if WI_VEC128_HASH
/** dest_out[i] of n hashes. */
void wi_hash_reduce_vec128(const uint64_t *hashes, uint32_t n, uint32_t n_dest,
                           uint16_t *dest_out);

/** Hash and reduce n non-null 64-bit keys in one go. */
void wi_hash_keys_vec128(const void *keys, uint32_t n, uint64_t k0, uint64_t k1,
                         uint32_t n_dest, uint16_t *dest_out);
#endif

#endif /* WI_PARTITION_VEC128_H */
