/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Writing CSV (csv_field.h) to a descriptor, through a buffer. Lines end with
 * LF.
 */
#ifndef WI_OPERATORS_CSV_OUT_H
#define WI_OPERATORS_CSV_OUT_H

#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>

enum { WI_CSV_OUT_BYTES = 1 << 17 };

/** Fill with wi_csv_out_init; `failed` keeps the first errno, so that callers
 *  may check once, in wi_csv_out_sync. */
struct wi_csv_out {
    int fd;
    int failed;
    uint32_t fields; /* in the open line */
    size_t used;
    uint64_t bytes; /* written or buffered so far */
    char buffer[WI_CSV_OUT_BYTES];
};

/** Errors: none. Blocks: never. Threads: one. Ownership: fd is the caller's. */
void wi_csv_out_init(struct wi_csv_out *out, int fd);

/** Add a field to the open line; text NULL is null. `end` ends the line.
 *  Errors: kept. Blocks: on the file. Threads: one. Ownership: nothing. */
void wi_csv_out_field(struct wi_csv_out *out, const char *text, size_t len);
void wi_csv_out_end(struct wi_csv_out *out);

/** What went wrong so far, 0 or an errno. */
int wi_csv_out_failed(const struct wi_csv_out *out);

/**
 * Write what is buffered, and wait until it is on the disk.
 *
 * Errors:     WEIR_ERR_SYSTEM, of this call or one before it
 * Blocks:     on the disk
 * Threads:    one
 * Ownership:  nothing
 */
weir_err wi_csv_out_sync(struct wi_csv_out *out, const char *name,
                         struct weir_error *err);

#endif /* WI_OPERATORS_CSV_OUT_H */
