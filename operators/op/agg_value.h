/* SPDX-License-Identifier: Apache-2.0 */
/** What aggregates give out of their cells. */
#ifndef WI_OPERATORS_AGG_VALUE_H
#define WI_OPERATORS_AGG_VALUE_H

#include "operators/op/cells.h"
#include "operators/op/ops.h"

/** Groups to give out, and how. */
struct wi_agg_give {
    uint64_t first; /* group */
    uint32_t n;
    const struct wi_named_type *column; /* of what is given out */
};

/** Count, least or most: a value, or a state's column; or a sum, which fits its
 *  column.
 *  @param vec  [in, out] a vector's memory; points to the values afterwards
 *  Errors: WEIR_ERR_QUERY_DATA (overflow). Blocks: never. Threads: the
 *  worker's. Ownership: vec may point into the cell. */
weir_err wi_agg_give_cell(const struct wi_cell *cell,
                          const struct wi_agg_give *give, struct wi_vec *vec,
                          struct weir_error *err);

/** A sum of 128-bit values in two columns, as of wi_agg_state.
 *  @param vec  an array of two */
void wi_agg_give_long(const struct wi_cell *cell,
                      const struct wi_agg_give *give, struct wi_vec *vec);

/** An average. @param sum  an array of two: the sum, then its count
 *  @param scale  of the sum, if it is a decimal. Else as wi_agg_give_cell. */
weir_err wi_agg_give_avg(const struct wi_cell *sum, uint8_t scale,
                         const struct wi_agg_give *give, struct wi_vec *vec,
                         struct weir_error *err);

#endif /* WI_OPERATORS_AGG_VALUE_H */
