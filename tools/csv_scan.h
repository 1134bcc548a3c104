/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Records of a CSV file, one at a time, with where they are.
 *
 *   csv_scan_open(fd, name) --> csv_scan_range(begin, end, line)
 *                           --> csv_scan_next() ... WEIR_DONE --> csv_scan_close
 *
 * The grammar is that of RFC 4180 and libcsv reads it, strictly, with these
 * choices:
 *   - a record ends at LF, CR LF or CR; these inside quotes are data;
 *   - spaces are data;
 *   - a field without anything is null, a field of two quotes is empty;
 *   - a quote inside a field that does not begin with one is an error;
 *   - a line without anything is no record, except in a file of one column,
 *     where it is a null.
 *
 * libcsv says neither where a record begins nor on which line, so it is fed a
 * line at a time: a record can only end where a line does.
 */
#ifndef WEIR_CSV_SCAN_H
#define WEIR_CSV_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>

/* Of a record, line ends included. */
#define CSV_MAX_RECORD_BYTES (32u << 20)

struct csv_scan;

struct csv_field {
    const char *text; /* NULL: null. Not terminated */
    size_t len;
};

/** Valid until the next call. */
struct csv_record {
    struct csv_field *fields;
    uint32_t n_fields;
    uint64_t begin; /* offset of its first byte */
    uint64_t end;   /* offset behind its line end; a LF after a CR may follow */
    uint64_t line;  /* that it begins on, from 1 */
    uint64_t bytes; /* of all fields */
};

/**
 * Open a scanner of a file; several may read one descriptor.
 *
 * @param fd       regular file, read by pread; stays the caller's
 * @param name     for messages; borrowed until close
 * @param columns  that each record must have; 0: not known yet
 *
 * Errors:     WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    one at a time
 * Ownership:  csv_scan_close
 */
weir_err csv_scan_open(int fd, const char *name, uint32_t columns,
                       struct csv_scan **out, struct weir_error *err);
void csv_scan_close(struct csv_scan *scan);

/** Read [begin, end) from now on; begin is where a record begins, on `line`.
 *  Errors: none. Blocks: never. Threads: as open. Ownership: nothing. */
void csv_scan_range(struct csv_scan *scan, uint64_t begin, uint64_t end,
                    uint64_t line);

/** Set what each record must have from now on. */
void csv_scan_columns(struct csv_scan *scan, uint32_t columns);

/**
 * Read the next record.
 *
 * Returns:    WEIR_OK | WEIR_DONE (end of the range)
 * Errors:     WEIR_ERR_DATA (file, line, what is wrong), WEIR_ERR_SYSTEM,
 *             WEIR_ERR_NO_MEMORY
 * Blocks:     on the file
 * Threads:    as open
 * Ownership:  the record is the scanner's
 */
weir_err csv_scan_next(struct csv_scan *scan, struct csv_record *record_out,
                       struct weir_error *err);

#endif /* WEIR_CSV_SCAN_H */
