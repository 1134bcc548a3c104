/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inside of the partitioner's AVX-512 files: eight hashes at a time, and the
 * lists that they fill. See partition_impl.h for what is computed.
 */
#ifndef WI_PARTITION_LANES_H
#define WI_PARTITION_LANES_H

#include "core/partition/partition_impl.h"

#if WI_X86

#include <immintrin.h>

/* H of eight words. */
static inline WI_TARGET_AVX512 __m512i wi_hash8(__m512i v, __m512i k0,
                                                __m512i k1)
{
    __m512i odd = _mm512_set1_epi64((long long)WI_HASH_ODD);
    __m512i y = _mm512_xor_si512(v, k0);
    __m512i x = _mm512_xor_si512(y, _mm512_srli_epi64(y, 29));
    x = _mm512_mullo_epi64(x, odd);
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 32));
    return _mm512_mullo_epi64(x, k1);
}

/* hash >> 32 times n_dest: the destination is in the upper half. */
static inline WI_TARGET_AVX512 __m512i wi_scale8(__m512i h, __m512i n_dest)
{
    return _mm512_mul_epu32(_mm512_srli_epi64(h, 32), n_dest);
}

/* Where the next row number of each list goes, at first. */
static inline void wi_lists_begin(uint32_t *idx_out, uint32_t n_dest,
                                  uint32_t **list)
{
    for (uint32_t d = 0; d < n_dest; d++) {
        list[d] = idx_out + d * WI_LIST_STRIDE;
    }
}

static inline void wi_lists_end(const uint32_t *idx_out, uint32_t n_dest,
                                uint32_t *const *list, uint32_t *count_out)
{
    for (uint32_t d = 0; d < n_dest; d++) {
        count_out[d] = (uint32_t)(list[d] - (idx_out + d * WI_LIST_STRIDE));
    }
}

#endif /* WI_X86 */

#endif /* WI_PARTITION_LANES_H */
