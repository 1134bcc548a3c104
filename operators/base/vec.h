/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Vectors and chunks: rows as operators hand them to each other.
 *
 *   struct wi_chunk                      col[0]            col[1]
 *   n = 3 rows, sel = {1, 4, 5}   -->    values null       values null
 *                                        v0     0          v0
 *                                        v1     0  <-      v1     <-
 *                                        ..                ..
 *
 * Rules
 *  - Row i of a chunk is at position sel[i] of each vector, or at i if sel is
 *    NULL. Positions ascend, and lie below WI_CHUNK_ROWS.
 *  - `null` has a byte per position, 1 = null; NULL means that no value is
 *    null. The value at a null position is arbitrary but readable (a string's
 *    length is then 0).
 *  - Values that are not selected may be anything: no result depends on them,
 *    and computing on them must not raise an error.
 *  - A chunk is only read, and is valid until the next step of the operator
 *    that gave it. Its columns may point into memory of operators below, or
 *    into a receive ring. Rows to keep are copied (store.h).
 */
#ifndef WI_OPERATORS_VEC_H
#define WI_OPERATORS_VEC_H

#include "operators/base/mem.h"
#include "operators/base/value.h"

#define WI_CHUNK_ROWS 2048u

struct wi_vec {
    enum wi_rep rep;
    void *values; /* uint8_t, int64_t, wi_i128, double or struct wi_str */
    uint8_t *null;
};

struct wi_chunk {
    uint32_t n; /* rows */
    uint32_t n_cols;
    const uint32_t *sel;
    struct wi_vec *col;
};

/** Position of row i. */
static inline uint32_t wi_chunk_pos(const struct wi_chunk *chunk, uint32_t i)
{
    return chunk->sel == NULL ? i : chunk->sel[i];
}

static inline const uint8_t *wi_vec_bool(const struct wi_vec *v)
{
    return v->values;
}
static inline const int64_t *wi_vec_i64(const struct wi_vec *v)
{
    return v->values;
}
static inline const wi_i128 *wi_vec_i128(const struct wi_vec *v)
{
    return v->values;
}
static inline const double *wi_vec_f64(const struct wi_vec *v)
{
    return v->values;
}
static inline const struct wi_str *wi_vec_str(const struct wi_vec *v)
{
    return v->values;
}

/**
 * A vector with memory of its own for WI_CHUNK_ROWS values and their nulls.
 *
 * `null` is not NULL: writers fill it, or set it to NULL in their own copy.
 *
 * Errors:     as wi_mem_take
 * Blocks:     never
 * Threads:    the worker's
 * Ownership:  wi_vec_fini
 */
weir_err wi_vec_init(struct wi_vec *vec, enum wi_rep rep, struct wi_op_mem *mem,
                     struct weir_error *err);
void wi_vec_fini(struct wi_vec *vec, struct wi_op_mem *mem);

/** An array of n vectors, each with memory for its type. Ownership:
 *  wi_vecs_close; NULL is allowed there. */
weir_err wi_vecs_open(const struct wi_columns *columns, struct wi_op_mem *mem,
                      struct wi_vec **out, struct weir_error *err);
void wi_vecs_close(struct wi_vec *vecs, uint32_t n, struct wi_op_mem *mem);

/** The value at a position; a string points to the same bytes. */
struct wi_value wi_value_at(const struct wi_vec *vec, uint32_t pos);

/** Set the value at a position, not to null; the vector has its own memory. Of
 *  a string the pointer is copied, not the bytes. `null` is left alone. */
void wi_vec_set(struct wi_vec *vec, uint64_t pos, const struct wi_value *value);

/** -0 becomes 0, and every NaN the same: of numbers that are equal, one. */
void wi_f64_settle(double *values, uint64_t n);

/** Copy positions from[0..n) of `in` to positions 0..n-1 of `out`. Of strings
 *  the pointers are copied, not the bytes. Never fails. */
void wi_vec_gather(const struct wi_vec *in, const uint32_t *from, uint32_t n,
                   struct wi_vec *out);

#endif /* WI_OPERATORS_VEC_H */
