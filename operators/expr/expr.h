/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Expressions: text, checked once against the columns it reads, then computed
 * a vector at a time.
 *
 *   "qty * price > 100.00"  --wi_expr_open-->  struct wi_expr  (shared, const)
 *                                                   |  per worker
 *                                              wi_eval_open
 *                                                   v
 *   struct wi_chunk  --wi_eval_run-->     struct wi_vec, positions as in the
 *                                         chunk
 *                    --wi_eval_select-->  positions where it is true
 *
 * docs/expressions.md specifies the language: grammar, types of results, nulls.
 *
 * Rules
 *  - Nothing is interpreted per row: each node of the tree is one loop over
 *    the chunk's selected positions.
 *  - Only selected positions are computed. AND, OR, CASE and COALESCE compute
 *    their arguments from left to right, each only for the rows that need it,
 *    so `b <> 0 and a / b > 2` never divides by zero.
 *  - An overflow, a division by zero or a cast that does not fit is an error,
 *    never a wrong value.
 */
#ifndef WI_OPERATORS_EXPR_H
#define WI_OPERATORS_EXPR_H

#include "operators/base/vec.h"

struct wi_expr;
struct wi_eval;

/**
 * Read and check an expression.
 *
 * @param text     UTF-8, NUL-terminated
 * @param columns  what it may read; not needed after the call
 * @param out      [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_ARG with the place in the text, what was found and what
 *             was expected: `character 7: int64 + utf8: both must be numbers`;
 *             WEIR_ERR_NOT_FOUND (no such column; lists those there are);
 *             WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    any
 * Ownership:  wi_expr_close
 */
weir_err wi_expr_open(const char *text, const struct wi_columns *columns,
                      struct wi_expr **out, struct weir_error *err);
void wi_expr_close(struct wi_expr *expr);

/** Type of its values. */
const struct wi_type *wi_expr_type(const struct wi_expr *expr);

/** Index of the column if the expression is just a column, else -1. */
int wi_expr_column(const struct wi_expr *expr);

/** Does it read this column? */
bool wi_expr_reads(const struct wi_expr *expr, uint32_t column);

/** Scratch memory to compute it, for one worker. The expression must outlive
 *  it. Errors: as wi_mem_take. Ownership: wi_eval_close. */
weir_err wi_eval_open(const struct wi_expr *expr, struct wi_op_mem *mem,
                      struct wi_eval **out, struct weir_error *err);
void wi_eval_close(struct wi_eval *eval);

/**
 * Compute it for a chunk's rows.
 *
 * @param out  [out] borrowed: points into eval or into the chunk; valid until
 *             the next call, and only as long as the chunk is
 *
 * Errors:     WEIR_ERR_QUERY_DATA (overflow, division by zero, cast): names the
 *             operation, the values and the expression; as wi_mem_take
 * Blocks:     never
 * Threads:    the worker's
 * Ownership:  nothing
 */
weir_err wi_eval_run(struct wi_eval *eval, const struct wi_chunk *chunk,
                     struct wi_vec *out, struct weir_error *err);

/** Positions of the rows for which a bool expression is true (not false, not
 *  null), ascending. @param sel_out  room for WI_CHUNK_ROWS; may not be
 *  chunk->sel. Errors: as wi_eval_run. */
weir_err wi_eval_select(struct wi_eval *eval, const struct wi_chunk *chunk,
                        uint32_t *sel_out, uint32_t *n_out,
                        struct weir_error *err);

#endif /* WI_OPERATORS_EXPR_H */
