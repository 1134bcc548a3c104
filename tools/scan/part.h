/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A file that is there when it is whole, or not at all.
 *
 *   part_begin(FILE) --> write to part_path() --> part_keep | part_drop
 *
 * SIGINT, SIGTERM and SIGHUP drop it before they end the process. One at a
 * time.
 */
#ifndef WEIR_TOOL_PART_H
#define WEIR_TOOL_PART_H

#include <weir/error.h>

/** @param file  borrowed until the end
 *  Errors: WEIR_ERR_ARG (too long), WEIR_ERR_SYSTEM (its folder). Blocks: on
 *  the folder. Threads: one. */
weir_err part_begin(const char *file, struct weir_error *err);

/** Where to write. Errors: none. Blocks: never. Threads: any. Ownership:
 *  static. */
const char *part_path(void);

/** Give it its name. Errors: WEIR_ERR_SYSTEM. Blocks: on the folder.
 *  Threads: one. */
weir_err part_keep(struct weir_error *err);

/** Errors: none. Blocks: on the folder. Threads: one. */
void part_drop(void);

#endif /* WEIR_TOOL_PART_H */
