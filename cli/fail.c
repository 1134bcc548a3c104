/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "operators/base/utf8.h"

weir_err tool_fail(struct weir_error *err, weir_err code, const char *fmt, ...)
{
    va_list args;
    if (err == NULL) {
        return code;
    }
    err->code = code;
    va_start(args, fmt);
    (void)vsnprintf(err->message, sizeof(err->message), fmt, args);
    va_end(args);
    wi_utf8_clean(err->message);
    return code;
}

weir_err tool_fail_errno(struct weir_error *err, const char *fmt, ...)
{
    const char *why = strerror(errno);
    va_list args;
    if (err == NULL) {
        return WEIR_ERR_SYSTEM;
    }
    err->code = WEIR_ERR_SYSTEM;
    va_start(args, fmt);
    (void)vsnprintf(err->message, sizeof(err->message), fmt, args);
    va_end(args);
    size_t used = strlen(err->message);
    (void)snprintf(err->message + used, sizeof(err->message) - used, ": %s",
                   why);
    wi_utf8_clean(err->message);
    return WEIR_ERR_SYSTEM;
}
