/* SPDX-License-Identifier: Apache-2.0 */
/** Plans from files, for the commands that take one. */
#ifndef WEIR_PLAN_FILE_H
#define WEIR_PLAN_FILE_H

#include <weir/plan.h>

/**
 * Read a plan; "-" is standard input, and a pipe with a writer will do, too.
 *
 * @param data_dir  where its relative paths begin
 *
 * Errors:     WEIR_ERR_SYSTEM (the file), WEIR_ERR_DATA (a directory, a pipe
 *             that nobody writes to), WEIR_ERR_NO_MEMORY; as weir_plan_read,
 *             with the file's name in front
 * Blocks:     on files
 * Threads:    any
 * Ownership:  weir_plan_close
 */
weir_err plan_file_read(const char *path, const char *data_dir,
                        weir_plan **plan_out, struct weir_error *err);

/** The same of a file in a folder that it lies in, as do the files that it
 *  names: only_below of weir_plan_read_params.
 *
 *  Returns: WEIR_OK; WEIR_DONE: there is no such file. */
weir_err plan_file_read_below(const char *folder, const char *name,
                              weir_plan **plan_out, struct weir_error *err);

/** The same of a text whose files lie in a folder. @param n_bytes  of it
 *  Errors: as weir_plan_read. Blocks: on the files that it names. */
weir_err plan_text_read_below(const char *text, size_t n_bytes,
                              const char *folder, weir_plan **plan_out,
                              struct weir_error *err);

#endif /* WEIR_PLAN_FILE_H */
