/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Batches of the caller, checked against a schema and viewed column by column.
 */
#ifndef WI_IMPORT_H
#define WI_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>

#include "core/base/isa.h"
#include "core/format/schema.h"

/**
 * Check a batch against the schema and fill one view per column, fields of
 * structs included.
 *
 * Columns that the schema says are not nullable must hold no nulls (null_count
 * 0, no validity buffer, or ones in it for all rows of the batch); a NULL
 * validity buffer is allowed anywhere. A column without nulls in these rows
 * gets a view without validity. The VAR offsets are not looked at. Where a
 * struct is null its fields are anything, also null if they must not be.
 *
 * @param views  n_columns entries
 *
 * Errors:     WEIR_ERR_SCHEMA (column count, buffer count, nulls where none are
 *             allowed, struct-level nulls, length not in 0 .. 2^31-1)
 * Blocks:     never; O(columns), plus O(rows/64) where nulls must be counted
 * Threads:    any.  Ownership: views borrow the batch
 */
weir_err wi_schema_import(const struct wi_schema *s,
                          const struct ArrowArray *batch, struct wi_view *views,
                          struct weir_error *err);

/**
 * Check the offsets of VAR columns in these rows: none negative, none
 * descending. Whoever copies or hashes values relies on it.
 *
 * @param views  of wi_schema_import()
 *
 * Errors:     WEIR_ERR_DATA (names column and row)
 * Blocks:     never; O(rows) of VAR columns, about a tenth of a ns each
 * Threads:    any.  Ownership: nothing
 */
weir_err wi_schema_check_offsets(const struct wi_schema *s,
                                 const struct wi_view *views, uint64_t rows,
                                 struct weir_error *err);

/* ---- parts of these, for intake.c ---------------------------------------- */

/** Is this a struct of as many columns, without nulls of its own?
 *  Errors: as wi_schema_import(). Blocks: never. Threads: any.
 *  Ownership: nothing. */
weir_err wi_batch_check(const struct wi_schema *s,
                        const struct ArrowArray *batch, struct weir_error *err);

/** Has it the columns of the schema, and this many rows? */
bool wi_batch_has_shape(const struct wi_schema *s,
                        const struct ArrowArray *batch, uint64_t rows);

/** Rows [first, first + n) of the children of a struct, the batch or a column:
 *  what of a child's array is looked at, from its own offset on. */
struct wi_slice {
    uint64_t first;
    uint64_t n;
    const uint8_t *validity;   /* of the struct's row i, at bit first + i; NULL:
                                none is null */
    const struct wi_slice *up; /* the struct that it is in; NULL: the batch */
};

static inline struct wi_slice wi_batch_slice(const struct ArrowArray *batch)
{
    return (struct wi_slice){.first = (uint64_t)batch->offset,
                             .n = (uint64_t)batch->length};
}

/** One column of wi_schema_import(), and of wi_schema_is_imported(); not a
 *  STRUCT. */
weir_err wi_column_import(const struct wi_column *c, const struct wi_slice *in,
                          const struct ArrowArray *a, struct wi_view *v,
                          struct weir_error *err);
bool wi_column_is_imported(const struct wi_column *c, const struct wi_slice *in,
                           const struct ArrowArray *a, const struct wi_view *v);

/** The same of a STRUCT without its fields, and what its fields are looked at
 *  in. */
weir_err wi_struct_import(const struct wi_column *c, const struct wi_slice *in,
                          const struct ArrowArray *a, struct wi_view *v,
                          struct wi_slice *fields_out, struct weir_error *err);
bool wi_struct_is_imported(const struct wi_column *c, const struct wi_slice *in,
                           const struct ArrowArray *a, const struct wi_view *v,
                           struct wi_slice *fields_out);

/** Has this array the rows of the slice, and an offset that is one? */
weir_err wi_column_check_rows(const struct wi_column *c,
                              const struct ArrowArray *a,
                              const struct wi_slice *in,
                              struct weir_error *err);

/** The validity of the slice's rows, which begin at `offset` in it; NULL if
 *  none of them is null. */
weir_err wi_column_nulls(const struct wi_column *c, const struct wi_slice *in,
                         const struct ArrowArray *a, uint64_t offset,
                         const uint8_t **out, struct weir_error *err);

/** Fails if the column is not nullable and one of these rows is null where no
 *  struct that it is in is null. */
weir_err wi_column_allows(const struct wi_column *c, const struct wi_slice *in,
                          const uint8_t *validity, uint64_t offset,
                          struct weir_error *err);

/** The first of n rows whose end (int32 offsets, at any address) is before its
 *  begin; n: none. */
uint64_t wi_offsets_descent(const uint8_t *offsets, uint64_t n,
                            enum wi_isa isa);

/**
 * Are these the views of this batch, with this many rows: the same buffers from
 * the same offsets on? The struct itself may be a copy.
 *
 * Blocks: never; O(columns).  Threads: any.  Ownership: nothing
 */
bool wi_schema_is_imported(const struct wi_schema *s,
                           const struct ArrowArray *batch, uint64_t rows,
                           const struct wi_view *views);

#endif /* WI_IMPORT_H */
