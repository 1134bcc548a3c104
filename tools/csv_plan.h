/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The first pass over a CSV file: its columns and their types, and where to cut
 * it.
 *
 * The whole file is read once before a row is sent, so a malformed line is
 * found before anything is written, types are never wrong later, and each part
 * begins where a record does, even if fields hold line ends.
 */
#ifndef WEIR_CSV_PLAN_H
#define WEIR_CSV_PLAN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <weir/error.h>
#include <weir/table.h>

#include "operators/table/csv_scan.h"
#include "operators/table/csv_type.h"

struct csv_column {
    char *name; /* terminated; as any text it may hold a NUL */
    size_t name_len;
    struct wi_csv_guess guess;
    struct wi_type type;
};

struct csv_plan {
    const char *path; /* the caller's */
    int fd;
    uint64_t bytes; /* of the file */
    uint64_t rows;
    uint32_t n_columns;
    struct csv_column *columns;
    uint64_t first_line; /* that the first record begins on */
    uint32_t n_parts;
    uint64_t *begins; /* [n_parts] where the first record of each begins; the
                         file's end if there is none */
    struct wi_csv_scan *scan; /* after the header, until csv_plan_scan */
};

/**
 * Open a file and read its header.
 *
 * @param path     regular file; borrowed until close
 * @param n_parts  to cut it into, 1 or more
 *
 * Errors:     WEIR_ERR_DATA (file, line, reason), WEIR_ERR_SYSTEM,
 *             WEIR_ERR_NO_MEMORY
 * Blocks:     on the file
 * Threads:    one
 * Ownership:  csv_plan_close, also after an error
 */
weir_err csv_plan_open(struct csv_plan *plan, const char *path,
                       uint32_t n_parts, struct weir_error *err);
void csv_plan_close(struct csv_plan *plan);

/**
 * Read the rest of the file.
 *
 * @param done_bytes  [out] for a progress display
 *
 * Errors:     as csv_plan_open
 * Blocks:     on the file
 * Threads:    one
 * Ownership:  nothing
 */
weir_err csv_plan_scan(struct csv_plan *plan, _Atomic uint64_t *done_bytes,
                       struct weir_error *err);

/** Index of a column by name.
 *  Errors: WEIR_ERR_NOT_FOUND (lists the columns), WEIR_ERR_ARG (several have
 *  that name). Blocks: never. Threads: any. Ownership: nothing. */
weir_err csv_plan_find(const struct csv_plan *plan, const char *name,
                       uint32_t *column_out, struct weir_error *err);

/** The records as a table. Columns are named by their number, as names in a
 *  file may be empty, repeated, or hold a NUL; texts are bytes, as they may
 *  have any encoding. A value that does not have the type found for its column
 *  is reported as a change of the file.
 *  Errors: WEIR_ERR_NO_MEMORY, WEIR_ERR_SYSTEM. Blocks: never. Threads: any.
 *  Ownership: weir_table_close; plan may be closed before. */
weir_err csv_plan_table(const struct csv_plan *plan, weir_table **table_out,
                        struct weir_error *err);

#define CSV_COLUMN_NAME_BYTES 12
/** The name in the table of a column: "c0", "c1" ... */
void csv_plan_column_name(uint32_t column, char name[CSV_COLUMN_NAME_BYTES]);

#endif /* WEIR_CSV_PLAN_H */
