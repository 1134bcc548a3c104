/* SPDX-License-Identifier: Apache-2.0 */
/** Inside of the partitioner: kernels for AVX2. */
#ifndef WI_PARTITION_AVX2_H
#define WI_PARTITION_AVX2_H

#include "core/partition/partition_impl.h"

#if WI_X86
/** Lists of all destinations from p->dest, at a stride of WI_LIST_STRIDE. */
void wi_lists_avx2(struct wi_partition *p, uint32_t first, uint32_t n);

/** From non-null 64-bit keys to lists, by bytes in between. */
void wi_hash_lists_avx2(const void *keys, const struct wi_hash_lists *in,
                        uint32_t *idx_out, uint32_t *count_out);

/** Hash and reduce n non-null 64-bit keys in one go. */
void wi_hash_keys_avx2(const void *keys, uint32_t n, uint64_t k0, uint64_t k1,
                       uint32_t n_dest, uint16_t *dest_out);
#endif

#endif /* WI_PARTITION_AVX2_H */
