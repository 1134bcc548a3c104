/* SPDX-License-Identifier: Apache-2.0 */
/** A CSV table: csv_open.c fills it in, the scans of csv.c use it. */
#ifndef WI_OPERATORS_CSV_H
#define WI_OPERATORS_CSV_H

#include <string.h>

#include "operators/table/csv_scan.h"
#include "operators/table/table.h"

struct wi_csv {
    char *path;
    char *null_text;
    uint32_t null_bytes;
    struct wi_csv_file file;
    uint64_t data;             /* where the first record begins */
    uint64_t data_line;        /* and its line */
    uint32_t n_fields;         /* of each record */
    uint32_t *field_of;        /* of each column */
    struct wi_columns columns; /* a view of the table's */
    bool seen;                 /* open read all values; they have these types */
    uint64_t *begins; /* where some records begin, ascending; from malloc */
    uint32_t n_begins;
};

/** arg is a struct wi_csv, from malloc. */
extern const struct weir_table_ops wi_csv_ops;

/** Says which byte of the field is not UTF-8, and what can be done.
 *  Returns WEIR_ERR_DATA. */
weir_err wi_csv_fail_text(const struct wi_csv *csv, uint64_t line,
                          const char *column, const struct wi_csv_field *f,
                          struct weir_error *err) __attribute__((cold));

static inline bool wi_csv_is_null(const struct wi_csv *csv,
                                  const struct wi_csv_field *f)
{
    return f->len == csv->null_bytes && !f->quoted &&
           memcmp(f->text, csv->null_text, f->len) == 0;
}

#endif /* WI_OPERATORS_CSV_H */
