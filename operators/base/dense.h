/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Dense keys: whole numbers that lie close together, as one small number.
 *
 *   keys (w, d)   w in 3..6, d in 1..10   code = (w - 3) * 11 + (d - 1)
 *                                         w null: 4, d null: 10
 *
 * A code is an index into an array, where a hash would need a table. Equal
 * codes mean equal keys, so keys are not compared.
 */
#ifndef WI_OPERATORS_DENSE_H
#define WI_OPERATORS_DENSE_H

#include "operators/base/vec.h"

#define WI_DENSE_KEYS 8u

/* One key column's values, or none: n_values 0. */
struct wi_key_range {
    int64_t least;
    uint64_t n_values; /* most - least + 1, or UINT64_MAX */
};

struct wi_dense {
    uint32_t n_keys;
    uint64_t n_codes; /* codes are 0..n_codes-1 */
    struct wi_key_range range[WI_DENSE_KEYS];
};

/** Can these columns be keys? All WI_I64, and not too many. */
bool wi_dense_suits(const struct wi_columns *columns, const uint32_t *cols,
                    uint32_t n_cols);

/** Widen the ranges by a chunk's values. @param ranges  one per column */
void wi_dense_widen(struct wi_key_range *ranges, const struct wi_chunk *chunk,
                    const uint32_t *cols, uint32_t n_cols);

/** Set up the codes for these ranges. Returns false, with `dense` unchanged, if
 *  there would be more than `most`. */
bool wi_dense_init(struct wi_dense *dense, const struct wi_key_range *ranges,
                   uint32_t n_keys, uint64_t most);

/** Codes of a chunk's rows; n_codes for a row that lies outside.
 *  @param nulls  true: null is a value; false: it lies outside
 *  Returns whether all rows lie inside. */
bool wi_dense_codes(const struct wi_dense *dense, const struct wi_chunk *chunk,
                    const uint32_t *cols, bool nulls, uint32_t *code_out);

#endif /* WI_OPERATORS_DENSE_H */
