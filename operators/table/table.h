/* SPDX-License-Identifier: Apache-2.0 */
/** The inside of weir_table: what scan and plan need of it. */
#ifndef WI_OPERATORS_TABLE_H
#define WI_OPERATORS_TABLE_H

#include <weir/table.h>

#include "operators/base/type.h"

struct wi_kept;

struct weir_table {
    struct weir_table_ops ops;
    void *arg;
    struct wi_columns columns;
    bool foreign;         /* the program's: its batches are checked */
    struct wi_kept *kept; /* what scans keep in memory; NULL: nothing */
};

/** As weir_table_open, from a list of columns, which is taken over on WEIR_OK.
 *  Errors: WEIR_ERR_SCHEMA (two columns have one name), WEIR_ERR_NO_MEMORY. */
weir_err wi_table_open(struct wi_columns *columns,
                       const struct weir_table_ops *ops, void *arg,
                       weir_table **table_out, struct weir_error *err);

/** Rows of one part: [first, end) of n, cut as evenly as whole rows allow. */
struct wi_row_range {
    uint64_t first;
    uint64_t end;
};
struct wi_row_range wi_table_cut(uint64_t n, uint32_t part, uint32_t n_parts);

#endif /* WI_OPERATORS_TABLE_H */
