/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Records of a CSV file, one at a time, with where they are.
 *
 *   wi_csv_scan_open(file) --> wi_csv_scan_range(begin, stop, line)
 *                          --> wi_csv_scan_next() ... WEIR_DONE
 *                          --> wi_csv_scan_close
 *
 * The grammar is that of RFC 4180, read strictly, with these choices:
 *   - a record ends at LF, CR LF or CR; inside quotes they are data;
 *   - spaces are data;
 *   - an empty field is not the same as a field of two quotes;
 *   - a quote inside a field that does not begin with one is an error;
 *   - an empty line is no record, except in a file of one column, where it is
 *     an empty field.
 */
#ifndef WI_OPERATORS_CSV_SCAN_H
#define WI_OPERATORS_CSV_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "operators/table/csv_file.h"

/* Of a record, line ends included. */
#define WI_CSV_MAX_RECORD_BYTES (32u << 20)

struct wi_csv_scan;

struct wi_csv_field {
    const char *text; /* not terminated */
    uint32_t len;
    bool quoted;
    bool escaped; /* for the scanner only */
};

/** Valid until the next call. */
struct wi_csv_record {
    struct wi_csv_field *fields;
    uint32_t n_fields;
    bool ascii;     /* no byte of it is above 0x7f; false: not known */
    uint64_t begin; /* offset of its first byte */
    uint64_t end;   /* offset after its line end; a LF after a CR may follow */
    uint64_t line;  /* it begins on this line, from 1 */
    uint64_t next_line; /* the next one begins on this line */
};

/** Empty, without quotes: null, unless the user says otherwise. */
static inline bool wi_csv_is_empty(const struct wi_csv_field *f)
{
    return f->len == 0 && !f->quoted;
}

/**
 * Open a scanner of a file; several may read one descriptor.
 *
 * @param file     copied
 * @param columns  fields that each record must have; 0: not known yet
 *
 * Errors:     WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    one at a time
 * Ownership:  wi_csv_scan_close
 */
weir_err wi_csv_scan_open(const struct wi_csv_file *file, uint32_t columns,
                          struct wi_csv_scan **out, struct weir_error *err);
void wi_csv_scan_close(struct wi_csv_scan *scan);

/** From now on, read the records that begin in [begin, stop). `begin` is where
 *  a record begins, on `line`, or the file's end.
 *  Errors: none. Blocks: never. Threads: as open. Ownership: nothing. */
void wi_csv_scan_range(struct wi_csv_scan *scan, uint64_t begin, uint64_t stop,
                       uint64_t line);

/** Set how many fields each record must have from now on. */
void wi_csv_scan_columns(struct wi_csv_scan *scan, uint32_t columns);

/**
 * Read the next record.
 *
 * Returns:    WEIR_OK | WEIR_DONE (no more begin in the range)
 * Errors:     WEIR_ERR_DATA (file, line, what is wrong), WEIR_ERR_SYSTEM,
 *             WEIR_ERR_NO_MEMORY
 * Blocks:     on the file
 * Threads:    as open
 * Ownership:  the record is the scanner's
 */
weir_err wi_csv_scan_next(struct wi_csv_scan *scan,
                          struct wi_csv_record *record_out,
                          struct weir_error *err);

#endif /* WI_OPERATORS_CSV_SCAN_H */
