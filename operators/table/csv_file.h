/* SPDX-License-Identifier: Apache-2.0 */
/** Data files: only regular ones, because other files could block. */
#ifndef WI_OPERATORS_CSV_FILE_H
#define WI_OPERATORS_CSV_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>

/** Which file. */
struct wi_csv_place {
    const char *path;
    const char *below; /* a folder where path begins, and that it does not lead
                          out of; NULL: anywhere */
    const char *name;  /* for messages */
};

/**
 * Open a regular file to read at any offset. A file that grows later is read up
 * to the size that it has now.
 *
 * @param fd_out  [out] close() it
 *
 * Errors:     WEIR_ERR_SYSTEM (it is not there, or may not be read),
 *             WEIR_ERR_NO_MEMORY (no descriptor is left),
 *             WEIR_ERR_DATA (a directory, pipe, socket or device: says so; it
 *             leads out), WEIR_ERR_UNSUPPORTED (the kernel cannot tell)
 * Blocks:     on the disk; never for a writer
 * Threads:    any
 * Ownership:  fd_out is the caller's
 */
weir_err wi_csv_file_open(const struct wi_csv_place *place, int *fd_out,
                          uint64_t *bytes_out, struct weir_error *err);

struct wi_csv_file {
    int fd;           /* regular file, read by pread; stays the caller's */
    const char *name; /* for messages; borrowed */
    uint64_t bytes;
    char delimiter;
};

/**
 * Read at an offset: what is there, up to `most` bytes.
 *
 * @param off   before the file's end
 * @param most  1 or more
 *
 * Errors:     WEIR_ERR_SYSTEM, WEIR_ERR_DATA (the file became shorter)
 * Blocks:     on the disk
 * Threads:    any
 * Ownership:  nothing
 */
weir_err wi_csv_file_read(const struct wi_csv_file *file, uint64_t off,
                          uint64_t most, char *to, size_t *got_out,
                          struct weir_error *err);

#endif /* WI_OPERATORS_CSV_FILE_H */
