/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Batches whose columns are laid out otherwise than the schema says, taken in:
 *
 *   schema   pushed                     becomes
 *   u, z     U, Z   64-bit offsets      texts, row by row (text.h)
 *   u, z     vu, vz views               texts, row by row
 *   plain    index into a dictionary    texts; or a column of values
 *   lists    lists, maps                texts: each value packed (pack.h)
 *
 * The bytes of texts stay where they are until they are copied into a frame;
 * what a row has is found, and checked, once per batch.
 *
 * An intake belongs to one thread; none of its calls waits.
 */
#ifndef WI_INTAKE_H
#define WI_INTAKE_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>

#include "core/format/schema.h"

struct wi_intake;

/**
 * Compare the layout that batches will have with the schema.
 *
 * @param given  NULL: as the schema says
 *
 * Returns:    WEIR_OK; *out is NULL if they do not differ, and no column is a
 *             list
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_SCHEMA (names the column),
 *             WEIR_ERR_NO_MEMORY
 * Blocks:     never.  Threads: any
 * Ownership:  wi_intake_close; the schema outlives it, given is borrowed
 */
weir_err wi_intake_open(const struct wi_schema *s,
                        const struct ArrowSchema *given, struct wi_intake **out,
                        struct weir_error *err);
/** NULL is allowed. */
void wi_intake_close(struct wi_intake *in);

/**
 * wi_schema_import() for batches of that layout. Offsets of columns that are
 * laid out as the schema says are left to wi_schema_check_offsets().
 *
 * Errors:     also WEIR_ERR_DATA (a view, an offset or an index that points
 *             outside; names column and row), WEIR_ERR_NO_MEMORY
 * Blocks:     never; O(rows) of the columns that differ
 * Threads:    the owner's
 * Ownership:  views borrow the batch, and the intake until its next import
 */
weir_err wi_intake_import(struct wi_intake *in, const struct ArrowArray *batch,
                          struct wi_view *views, struct weir_error *err);

/** wi_schema_is_imported() for the last batch of wi_intake_import(). */
bool wi_intake_is_imported(const struct wi_intake *in,
                           const struct ArrowArray *batch, uint64_t rows,
                           const struct wi_view *views);

#endif /* WI_INTAKE_H */
