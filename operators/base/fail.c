/* SPDX-License-Identifier: Apache-2.0 */
/* Error messages of operators and plans. */
#include "operators/base/fail.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* What a message quotes may be anything: a name, a value, a piece of a file. */
static void keep_to_one_line(char *text)
{
    for (char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 127) {
            *c = '?';
        }
    }
}

weir_err wi_exec_fail(struct weir_error *err, weir_err code, const char *fmt,
                      ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, fmt);
        err->code = code;
        (void)vsnprintf(err->message, sizeof(err->message), fmt, args);
        va_end(args);
        keep_to_one_line(err->message);
    }
    return code;
}

weir_err wi_exec_no_memory(struct weir_error *err, uint64_t bytes)
{
    return wi_exec_fail(err, WEIR_ERR_NO_MEMORY,
                        "the system gave no memory for %" PRIu64 " bytes",
                        bytes);
}
