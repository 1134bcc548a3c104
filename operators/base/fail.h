/* SPDX-License-Identifier: Apache-2.0 */
/** Error messages of operators and plans. */
#ifndef WI_OPERATORS_FAIL_H
#define WI_OPERATORS_FAIL_H

#include <stdint.h>

#include <weir/error.h>

/** Write code and message (cut to fit, one line of text: wi_utf8_clean) into err
 *  unless NULL; returns code. The function that detects the fault calls it,
 *  once; callers pass the code on. */
weir_err wi_exec_fail(struct weir_error *err, weir_err code, const char *fmt,
                      ...) __attribute__((format(printf, 3, 4), cold));

/** The same for memory that the system did not give. */
weir_err wi_exec_no_memory(struct weir_error *err, uint64_t bytes)
    __attribute__((cold));

#endif /* WI_OPERATORS_FAIL_H */
