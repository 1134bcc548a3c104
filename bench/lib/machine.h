/* SPDX-License-Identifier: Apache-2.0 */
/** What figures were measured on: they belong to it. */
#ifndef WB_MACHINE_H
#define WB_MACHINE_H

#include <stddef.h>
#include <stdio.h>

enum { WB_PROCESSOR_TEXT = 128 };

/**
 * The processor, as "AMD EPYC, family 25, model 1", or what the kernel calls
 * its kind ("aarch64") where it tells no name.
 *
 * @param text  room for WB_PROCESSOR_TEXT bytes
 * @param root  "" or, in tests, a directory that stands for "/"
 *
 * Errors: none. Blocks: reads a file of the kernel's. Threads: any.
 * Ownership: caller's.
 */
void wb_processor(char *text, const char *root);

/** One line: processor, and the level of instructions of this process.
 *  Errors: none. Blocks: on output. Threads: one. Ownership: none. */
void wb_machine_print(FILE *out);

#endif /* WB_MACHINE_H */
