/* SPDX-License-Identifier: Apache-2.0 */
/** Order of rows by sort keys, for sort and merge. */
#ifndef WI_OPERATORS_ORDER_H
#define WI_OPERATORS_ORDER_H

#include "operators/op/ops.h"

/** Order of two rows: position pos_a of the vectors a, pos_b of b, which have
 *  the columns that the keys name. Returns <0, 0, >0. Errors: none. Blocks:
 *  never. Threads: any. Ownership: nothing. */
int wi_order_rows(const struct wi_sort_key *keys, uint32_t n_keys,
                  const struct wi_vec *a, uint32_t pos_a,
                  const struct wi_vec *b, uint32_t pos_b);

/** A number per row of the chunk that orders as the key does, as far as 64 bits
 *  can tell: a smaller one comes first, equal ones may still differ. */
void wi_order_prefix(const struct wi_sort_key *key,
                     const struct wi_chunk *chunk, uint64_t *prefix_out);

/** Do equal prefixes mean equal keys in this column of rows? */
bool wi_order_prefix_is_all(const struct wi_vec *vec);

#endif /* WI_OPERATORS_ORDER_H */
