/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Writing computed tables to files, in several threads.
 *
 *   thread 0:  part 0 of a table -> text --+      parts are cut by row
 *   thread 1:  part 1            -> text --+-->   each part learns where it
 *   thread 0:  part 2            -> text --+      goes when those before it
 *                                                 have theirs
 *
 * A thread holds the text of one part: memory does not grow with the table.
 */
#ifndef WEIR_GEN_H
#define WEIR_GEN_H

#include <stdint.h>

#include <weir/table.h>

#include "launch/counter.h"

struct gen_file {
    const char *name; /* for messages */
    const weir_table *table;
    int fd; /* empty, to write */
    uint32_t n_parts;
    uint64_t rows_out;  /* set on WEIR_OK */
    uint64_t bytes_out; /* set on WEIR_OK */
};

struct gen_params {
    struct gen_file *files;
    uint32_t n_files;
    uint32_t jobs;               /* threads, 1 or more */
    struct wl_counter *counters; /* of each thread: parts done */
};

/**
 * Write all files. The system may still hold them in memory: what a crash of
 * the machine takes can be generated again.
 *
 * Errors:     WEIR_ERR_SYSTEM, WEIR_ERR_NO_MEMORY, what the tables say
 * Blocks:     on the disk
 * Threads:    one; starts others, and they have ended
 * Ownership:  nothing
 */
weir_err gen_run(const struct gen_params *params, struct weir_error *err);

#endif /* WEIR_GEN_H */
