/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rows that say what they are: every value of a row follows from the row's id,
 * so that a receiver can check each value of each row without having seen the
 * sender.
 *
 * Column 0 is called "id" and has format "l"; a column called "k" holds keys
 * (any integer format), all others hold bytes mixed from id and column.
 */
#ifndef WT_ROWS_H
#define WT_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/batch.h>

#include "test/support/nest.h"

enum { WT_MAX_FIELDS = 48, WT_WHY_BYTES = 160 };

struct wt_rows {
    const struct weir_field *fields;
    uint32_t n_fields;
    uint64_t keys;         /* different values of "k" [as many as there are] */
    uint32_t var_bytes;    /* longest usual value of u and z [24] */
    uint64_t big_every;    /* each so many ids u and z are .. [never] */
    uint32_t big_bytes;    /* .. that long */
    bool all_null;         /* what may be null is */
    uint32_t offset;       /* rows before the first in each column's buffers */
    uint32_t outer_offset; /* the same in the struct */
    const struct wt_nest *nested; /* columns after these [none] */
    uint32_t n_nested;
    struct wt_nest_size nested_size; /* of those */
};

/** Schema of the rows, or of batches as they are pushed, which `nested` may
 *  tell apart. Ownership: out->release. */
void wt_rows_schema(const struct wt_rows *spec, bool pushed,
                    struct ArrowSchema *out);

/** Rows of ids first .. first+n-1. Ownership: out->release. */
void wt_rows_make(const struct wt_rows *spec, uint64_t first, uint32_t n,
                  struct ArrowArray *out);

uint64_t wt_rows_id(const struct ArrowArray *batch, int64_t row);

/** Value of column "k" in the row of this id. */
uint64_t wt_rows_key(const struct wt_rows *spec, uint64_t id);

/** Is every value of a row what its id demands? If not, why says where. */
bool wt_rows_check(const struct wt_rows *spec, const struct ArrowArray *batch,
                   int64_t row, char *why);

/** A good mixing of two numbers. */
uint64_t wt_mix(uint64_t a, uint64_t b);

#endif /* WT_ROWS_H */
