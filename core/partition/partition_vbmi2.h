/* SPDX-License-Identifier: Apache-2.0 */
/** Inside of the partitioner: kernels for AVX-512 with VBMI2. */
#ifndef WI_PARTITION_VBMI2_H
#define WI_PARTITION_VBMI2_H

#include "core/partition/partition_impl.h"

#if WI_X86

/** As wi_hash_lists_avx512() and wi_lists_avx512(). */
void wi_hash_lists_vbmi2(const void *keys, const struct wi_hash_lists *in,
                         uint32_t *idx_out, uint32_t *count_out);
void wi_lists_vbmi2(struct wi_partition *p, uint32_t first, uint32_t n);

#endif /* WI_X86 */

#endif /* WI_PARTITION_VBMI2_H */
