/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Groups: numbers 0, 1, 2, ... for the distinct keys of rows, in the order in
 * which they come.
 *
 *   chunk  k = 7 7 3 null 7   ->   number_out = 0 0 1 2 0
 *                                  store        7, 3, null
 *
 * Null is a key like others; of 0 and -0, which are equal, 0 is kept. While all
 * keys are whole numbers that lie close together, an array holds the number of
 * each code (dense.h), later an index.
 */
#ifndef WI_OPERATORS_GROUPS_H
#define WI_OPERATORS_GROUPS_H

#include "operators/base/dense.h"
#include "operators/base/index.h"
#include "operators/base/runs.h"

/* written by: the worker */
struct wi_groups {
    struct wi_op_mem *mem;
    uint32_t n_keys;
    const uint32_t *keys;  /* columns of the chunks */
    uint32_t *store_cols;  /* 0 .. n_keys-1 */
    struct wi_vec *cols;   /* scratch [n_keys] */
    struct wi_store store; /* row g is the key of group g */
    bool suits_dense;
    bool is_dense;
    struct wi_key_range range[WI_DENSE_KEYS];
    struct wi_dense dense;
    uint32_t *map; /* [dense.n_codes], or NULL */
    struct wi_index index;
    struct wi_probe probe;
    struct wi_runs runs;
    uint32_t code[WI_CHUNK_ROWS];
    uint32_t pos[WI_CHUNK_ROWS];
};

/** @param in    columns of the chunks
 *  @param keys  1 or more of them; stays the caller's
 *  Errors: WEIR_ERR_NO_MEMORY. Blocks: never. Threads: the worker's. Ownership:
 *  wi_groups_fini, also after an error and on a zeroed one. */
weir_err wi_groups_init(struct wi_groups *groups, const struct wi_columns *in,
                        const uint32_t *keys, uint32_t n_keys,
                        struct wi_op_mem *mem, struct weir_error *err);
void wi_groups_fini(struct wi_groups *groups);

/** Forget all groups. @param free_memory  false: it is kept for new ones */
void wi_groups_clear(struct wi_groups *groups, bool free_memory);

/** The group of each row of a chunk; new ones are added. Errors: as
 *  wi_store_append. */
weir_err wi_groups_find(struct wi_groups *groups, const struct wi_chunk *chunk,
                        uint32_t *number_out, struct weir_error *err);

#endif /* WI_OPERATORS_GROUPS_H */
