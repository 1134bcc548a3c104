/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The right side of a join: rows by key.
 *
 *   init  add(chunk) add(chunk) ...  build  build ...  find(chunk) find ...
 *
 *   find gives   head[row] --> store row --next--> store row --next--> nowhere
 *                              all rows of the store that have the key
 *
 * Whole-number keys that lie close together are found in an array by their code
 * (dense.h), others by hash (index.h).
 */
#ifndef WI_OPERATORS_JOIN_TABLE_H
#define WI_OPERATORS_JOIN_TABLE_H

#include "operators/base/dense.h"
#include "operators/base/index.h"
#include "operators/base/runs.h"
#include "operators/op/ops.h"

/* written by: the worker */
struct wi_join_table {
    const struct wi_join_params *p;
    struct wi_op_mem *mem;
    struct wi_store store; /* keys, then right_out */
    uint32_t *key_cols;    /* 0..n_keys-1, of the store */
    struct wi_vec *cols;   /* the store's, of a chunk */
    struct wi_key_range range[WI_DENSE_KEYS];
    bool suits_dense;
    bool is_dense;
    struct wi_dense dense;
    uint32_t *heads; /* [dense.n_codes + 1] */
    struct wi_index index;
    uint32_t *next; /* [n_next]; NULL: every key is there once */
    uint64_t n_next;
    uint64_t n_built; /* rows of the store that can be found */
    struct wi_probe probe;
    struct wi_runs runs;
    uint32_t number[WI_CHUNK_ROWS];
    uint32_t rows[WI_CHUNK_ROWS];
};

/** A zeroed table. Errors: WEIR_ERR_NO_MEMORY. Blocks: never. Threads: the
 *  worker's. Ownership: wi_join_table_fini, also after an error. */
weir_err wi_join_table_init(struct wi_join_table *table,
                            const struct wi_join_params *p,
                            struct wi_op_mem *mem, struct weir_error *err);
void wi_join_table_fini(struct wi_join_table *table);

/** Keep a chunk's rows, except those with a null key. Errors: as
 *  wi_store_append. */
weir_err wi_join_table_add(struct wi_join_table *table,
                           const struct wi_chunk *chunk,
                           struct weir_error *err);

/** After all rows were added: index some more of them. Call it until n_built
 *  is store.n. Errors: as wi_mem_take. */
weir_err wi_join_table_build(struct wi_join_table *table,
                             struct weir_error *err);

/** First row with the key of each row of a left chunk, or WI_NOWHERE. */
void wi_join_table_find(struct wi_join_table *table,
                        const struct wi_chunk *chunk, uint32_t *head_out);

#endif /* WI_OPERATORS_JOIN_TABLE_H */
