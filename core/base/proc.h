/* SPDX-License-Identifier: Apache-2.0 */
/** Small text files of the system: /proc, and the control groups (v2) of this
 *  process. */
#ifndef WI_BASE_PROC_H
#define WI_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WI_PROC_TEXT = 4096 }; /* room for the text of one file */

/** Read DIR/FILE into WI_PROC_TEXT bytes of text; "" if that fails. */
void wi_proc_read(char *text, const char *dir, const char *file);

/** The number after a word at the start of a line. False: not there. */
bool wi_proc_number(const char *text, const char *word, uint64_t *out);

/**
 * Call fn for the directory of this process's control group and of each above
 * it, innermost first.
 *
 * @param root  "" or, in tests, a directory that stands for "/"
 */
void wi_proc_groups(const char *root, void (*fn)(void *arg, const char *dir),
                    void *arg);

#endif /* WI_BASE_PROC_H */
