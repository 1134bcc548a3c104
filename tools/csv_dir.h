/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The output directory: all files or none.
 *
 *   csv_dir_check ... csv_dir_open --> csv_dir_part_open ... --> csv_dir_commit
 *                                                            \->
 *                                                            csv_dir_abandon
 *
 * Rows go to DIR/.part-00000.csv.tmp ..., which become DIR/part-00000.csv ...
 * when all are on the disk; or to files with names of their own. From open
 * to commit or abandon these files are also removed when SIGINT, SIGTERM or
 * SIGHUP ends the program. Parts that SIGKILL leaves are removed by the next
 * run: runs hold a lock (flock) on DIR.
 */
#ifndef WEIR_CSV_DIR_H
#define WEIR_CSV_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/error.h>

struct csv_dir;

/** May DIR be used? Yes if it does not exist, is empty but for temporary files,
 *  or with `force`.
 *  Errors: WEIR_ERR_ARG (it may not), WEIR_ERR_SYSTEM. Blocks: shortly.
 *  Threads: any. Ownership: nothing. */
weir_err csv_dir_check(const char *path, bool force, struct weir_error *err);

/**
 * Make DIR if it is not there, and its temporary files.
 *
 * @param path   borrowed until the end
 * @param names  of the files, shorter than CSV_PART_NAME_BYTES - 5; copied
 *               [NULL: part-00000.csv ...]
 * @param parts  1 .. 99999
 *
 * Errors:     WEIR_ERR_SYSTEM, WEIR_ERR_NO_MEMORY, WEIR_ERR_STATE (another run
 *             is using it); nothing is left behind
 * Blocks:     shortly
 * Threads:    the only one of the process; one directory at a time
 * Ownership:  csv_dir_commit or csv_dir_abandon
 */
weir_err csv_dir_open(const char *path, const char *const *names,
                      uint32_t parts, struct csv_dir **out,
                      struct weir_error *err);

/** Open a temporary file to write, in any process.
 *  Errors: WEIR_ERR_SYSTEM. Blocks: never. Threads: any. Ownership: *fd_out is
 *  the caller's. */
weir_err csv_dir_part_open(const struct csv_dir *dir, uint32_t part,
                           int *fd_out, struct weir_error *err);

#define CSV_PART_NAME_BYTES 32
/** Name of the finished file, for messages. Errors: none. Blocks: never. */
void csv_dir_part_name(uint32_t part, char name[CSV_PART_NAME_BYTES]);

/**
 * Give all files their names, and remove parts of an earlier run beyond these.
 *
 * Errors:     WEIR_ERR_SYSTEM; nothing is left behind
 * Blocks:     on the disk
 * Threads:    as open
 * Ownership:  frees dir
 */
weir_err csv_dir_commit(struct csv_dir *dir, struct weir_error *err);

/** Remove the files, and DIR if it was made here. Errors: none.
 *  Blocks: shortly. Threads: as open. Ownership: frees dir; NULL is allowed. */
void csv_dir_abandon(struct csv_dir *dir);

#endif /* WEIR_CSV_DIR_H */
