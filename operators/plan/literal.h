/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rows that a plan spells out: bounds of a range, small tables.
 *
 *   begin row, put("10"), put("2013-07-01"), begin row, ...   texts
 *       |
 *   columns of values  -->  chunks
 *
 * Texts are written as a cast from utf8 reads them (docs/expressions.md).
 */
#ifndef WI_OPERATORS_LITERAL_H
#define WI_OPERATORS_LITERAL_H

#include <weir/table.h>

#include "operators/base/vec.h"

struct wi_literals {
    const struct wi_columns *columns;
    struct wi_vec *col; /* `null` is always there */
    uint64_t n;         /* rows */
    uint64_t room;
};

/** Begin without rows. @param columns  the caller's, unchanged until fini.
 *  Errors: WEIR_ERR_NO_MEMORY. Ownership: wi_literals_fini, after errors
 *  too. */
weir_err wi_literals_init(struct wi_literals *lit,
                          const struct wi_columns *columns,
                          struct weir_error *err);
void wi_literals_fini(struct wi_literals *lit);

/** Add a row of nulls. Errors: WEIR_ERR_NO_MEMORY. */
weir_err wi_literals_row(struct wi_literals *lit, struct weir_error *err);

/** Set a value of the last row. Errors: WEIR_ERR_ARG: `"x" is no int64: digits
 *  were expected`; WEIR_ERR_NO_MEMORY. */
weir_err wi_literals_put(struct wi_literals *lit, uint32_t col,
                         struct wi_str text, struct weir_error *err);

/** Rows first..first+n-1 as a chunk. @param col_out  memory for the vectors */
void wi_literals_slice(const struct wi_literals *lit, uint64_t first,
                       uint32_t n, struct wi_vec *col_out,
                       struct wi_chunk *out);

/** A table of these rows: each node has all of them, each worker reads a part.
 *  Takes over lit and its columns on WEIR_OK.
 *  Errors: WEIR_ERR_NO_MEMORY, WEIR_ERR_SCHEMA. Ownership: weir_table_close. */
weir_err wi_literals_table(struct wi_literals *lit, struct wi_columns *columns,
                           weir_table **table_out, struct weir_error *err);

#endif /* WI_OPERATORS_LITERAL_H */
