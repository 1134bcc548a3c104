/* SPDX-License-Identifier: Apache-2.0 */
/** How results are written for programs: one JSON object, one line. */
#ifndef WB_REPORT_H
#define WB_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include <weir/error.h>

/**
 * Write an object, with processor and level of instructions, and flush the
 * output.
 *
 * @param object  NULL (what json_pack gives for lack of memory) is an error
 *
 * Errors:     WEIR_ERR_NO_MEMORY, WEIR_ERR_SYSTEM (the output)
 * Blocks:     on output
 * Threads:    one
 * Ownership:  drops the object
 */
weir_err wb_report_write(json_t *object, FILE *out, struct weir_error *err);

#endif /* WB_REPORT_H */
