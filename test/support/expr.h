/* SPDX-License-Identifier: Apache-2.0 */
/** Rows for tests of expressions, and what an expression gives for them. */
#ifndef WT_EXPR_H
#define WT_EXPR_H

#include "operators/expr/expr.h"

/** Rows of columns whose values are given as text. */
struct wt_expr_rows {
    struct wi_columns columns;
    struct wi_op_mem mem;
    struct wi_vec *vecs;
    uint8_t **nulls; /* of each column; the vector's is NULL without any */
    struct wi_chunk chunk;
    char **texts; /* strings of values */
    uint32_t n_texts;
    uint32_t sel[WI_CHUNK_ROWS];
};

/** Columns as {"name", "type"} pairs, n rows of nulls. */
void wt_expr_rows_open(struct wt_expr_rows *rows,
                       const char *const (*columns)[2], uint32_t n_columns,
                       uint32_t n_rows);
void wt_expr_rows_close(struct wt_expr_rows *rows);

/** A value, as `cast('text' as type)` reads it; NULL: null. */
void wt_expr_rows_put(struct wt_expr_rows *rows, const char *column,
                      uint32_t row, const char *text);

#define WT_VALUE_BYTES 1024
/** What the expression gives for the row at that position: "'it': utf8",
 *  "null: int64", or "error: ..." with the message. */
const char *wt_expr_show(const struct wt_expr_rows *rows, const char *text,
                         uint32_t pos, char out[WT_VALUE_BYTES]);

/** The code that opening gives; the message goes to err. */
weir_err wt_expr_code(const struct wt_expr_rows *rows, const char *text,
                      struct weir_error *err);

#endif /* WT_EXPR_H */
