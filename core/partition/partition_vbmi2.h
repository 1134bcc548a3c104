/* SPDX-License-Identifier: Apache-2.0 */
/** Inside of the partitioner: kernels for AVX-512 with VBMI2. */
#ifndef WI_PARTITION_VBMI2_H
#define WI_PARTITION_VBMI2_H

#include "core/partition/partition_impl.h"

#if WI_X86

/** Is this the faster way? Not with a few destinations, most of which get more
 *  than 16 of 64 rows. */
static inline bool wi_lists_by_bytes(const struct wi_partition *p)
{
    return p->isa >= WI_ISA_VBMI2 && p->n_dest >= 5 &&
           p->n_dest <= WI_LISTS_BYTES;
}

/** As wi_hash_lists_avx512() and wi_lists_avx512(). */
void wi_hash_lists_vbmi2(const void *keys, const struct wi_hash_lists *in,
                         uint32_t *idx_out, uint32_t *count_out);
void wi_lists_vbmi2(const uint16_t *dest, uint32_t first, uint32_t n,
                    uint32_t n_dest, uint32_t *idx_out, uint32_t *count_out);

#endif /* WI_X86 */

#endif /* WI_PARTITION_VBMI2_H */
