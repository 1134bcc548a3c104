/* SPDX-License-Identifier: Apache-2.0 */
/* Error messages of operators and plans. */
#include "operators/base/fail.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "operators/base/utf8.h"

weir_err wi_exec_fail(struct weir_error *err, weir_err code, const char *fmt,
                      ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, fmt);
        err->code = code;
        (void)vsnprintf(err->message, sizeof(err->message), fmt, args);
        va_end(args);
        wi_utf8_clean(err->message);
    }
    return code;
}

weir_err wi_exec_no_memory(struct weir_error *err, uint64_t bytes)
{
    return wi_exec_fail(err, WEIR_ERR_NO_MEMORY,
                        "the system gave no memory for %" PRIu64 " bytes",
                        bytes);
}
