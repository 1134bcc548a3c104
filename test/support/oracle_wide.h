/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A table with a column of each type that the other oracle tables lack or have
 * no extremes of: `wide`, with `id` and the columns below. Few different values
 * of each, so that there are duplicates; nulls where the type allows them.
 */
#ifndef WT_ORACLE_WIDE_H
#define WT_ORACLE_WIDE_H

#include "test/support/oracle.h"

enum { WT_WIDE_VALUES = 8, WT_WIDE_ROWS = 150 };

/** A text is what a CSV file has, but "~" is a NUL. */
struct wt_wide_column {
    struct wt_oracle_column column;
    const char *bound; /* a value somewhere in the middle, for ranges */
    const char *text[WT_WIDE_VALUES];
};

/** All but `id`, which is an int64. @param n_out  how many */
const struct wt_wide_column *wt_wide_columns(uint32_t *n_out);

/** Write and load it. */
void wt_wide_data(struct wt_oracle *o);

/** `"wide": {...}`, as "tables" of a plan has it. Ownership: free(). */
char *wt_wide_table(void);

#endif /* WT_ORACLE_WIDE_H */
