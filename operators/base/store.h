/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A store: rows that an operator keeps, by columns, in memory that grows.
 *
 *   append(chunk) append(chunk) ...   rows 0 .. n-1; a row keeps its number
 *   gather({7, 3, 3})                 any rows, as vectors
 *
 * Strings are copied into the store when appended; gathered strings point
 * into it and stay valid until fini.
 */
#ifndef WI_OPERATORS_STORE_H
#define WI_OPERATORS_STORE_H

#include "operators/base/text.h"
#include "operators/base/vec.h"

/** Rows that a column has memory for. */
struct wi_store_room {
    uint64_t values;
    uint64_t nulls;
};

/* written by: the worker */
struct wi_store {
    struct wi_op_mem *mem;
    uint32_t n_cols;
    uint64_t n;         /* rows */
    struct wi_vec *col; /* `null` NULL until the column's first null */
    struct wi_store_room *room;
    struct wi_text text;
};

/** Number of no row: gathering it gives null. */
#define WI_NOWHERE UINT32_MAX

/** Rows that fit a store: row numbers are 32 bits. */
#define WI_STORE_ROWS (UINT32_MAX - 1)

/** Errors: WEIR_ERR_NO_MEMORY. Ownership: wi_store_fini, which may also be
 *  called on a zeroed store. */
weir_err wi_store_init(struct wi_store *store, const struct wi_columns *columns,
                       struct wi_op_mem *mem, struct weir_error *err);
void wi_store_fini(struct wi_store *store);

/** Copy a chunk's rows to the end; chunk column i becomes column i.
 *  Errors: as wi_mem_take; WEIR_ERR_QUERY_MEMORY (over WI_STORE_ROWS). The
 *  store's rows are then unchanged. */
weir_err wi_store_append(struct wi_store *store, const struct wi_chunk *chunk,
                         struct weir_error *err);

/** Forget all rows and free the strings; the columns' memory stays. */
void wi_store_clear(struct wi_store *store);

/** Give back the columns' memory; the store must have no rows. */
void wi_store_trim(struct wi_store *store);

/** Column `col` of rows[0..n) into positions 0..n-1; WI_NOWHERE gives null. */
void wi_store_gather(const struct wi_store *store, uint32_t col,
                     const uint32_t *rows, uint32_t n, struct wi_vec *out);

/** The same into positions at[0..n), for a chunk whose selection is `at`;
 *  NULL means 0..n-1. */
void wi_store_gather_at(const struct wi_store *store, uint32_t col,
                        const uint32_t *rows, uint32_t n, const uint32_t *at,
                        struct wi_vec *out);

/** Rows first..first+n-1 as a chunk that points into the store; no copy.
 *  @param n  1..WI_CHUNK_ROWS
 *  @param col_out  memory for n_cols vectors */
void wi_store_slice(const struct wi_store *store, uint64_t first, uint32_t n,
                    struct wi_vec *col_out, struct wi_chunk *out);

#endif /* WI_OPERATORS_STORE_H */
