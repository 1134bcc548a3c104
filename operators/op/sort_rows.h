/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Sorted rows of a store: an array of row numbers with prefixes of their keys.
 *
 *   {prefix, row} {prefix, row} ...   by prefix, then by all keys, then by row
 */
#ifndef WI_OPERATORS_SORT_ROWS_H
#define WI_OPERATORS_SORT_ROWS_H

#include "operators/base/store.h"
#include "operators/op/order.h"

struct wi_sort_row {
    uint64_t prefix; /* order.h */
    uint32_t row;
};

struct wi_sorted {
    struct wi_op_mem *mem;
    struct wi_sort_row *at; /* [n] */
    uint64_t n;
};

/** Sort all rows of a store; equal ones stay in their order. Errors: as
 *  wi_mem_take. Blocks: never. Threads: the worker's. Ownership:
 *  wi_sorted_fini, which may be called on a zeroed one. */
weir_err wi_sorted_init(struct wi_sorted *sorted, const struct wi_store *store,
                        const struct wi_sort_key *keys, uint32_t n_keys,
                        struct weir_error *err);
void wi_sorted_fini(struct wi_sorted *sorted);

#endif /* WI_OPERATORS_SORT_ROWS_H */
