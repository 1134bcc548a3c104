/* SPDX-License-Identifier: Apache-2.0 */
/* Error names, texts and scopes, all from the one X-macro in weir/error.h. */
#include "core/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/neutral.h"

const char *weir_err_name(weir_err code)
{
    switch (code) {
#define WI_NAME(name, value, text)                                             \
    case name:                                                                 \
        return #name;
        WEIR_ERROR_CODES(WI_NAME)
#undef WI_NAME
    default:
        return "WEIR_ERR_UNKNOWN";
    }
}

const char *weir_err_text(weir_err code)
{
    switch (code) {
#define WI_TEXT(name, value, text)                                             \
    case name:                                                                 \
        return text;
        WEIR_ERROR_CODES(WI_TEXT)
#undef WI_TEXT
    default:
        return "unknown code";
    }
}

weir_scope weir_err_scope(weir_err code)
{
    int v = (int)code;
    if (v >= 0) {
        return WEIR_SCOPE_NONE;
    }
    if (v > -100) {
        return WEIR_SCOPE_CALL;
    }
    if (v > -200) {
        return WEIR_SCOPE_QUERY;
    }
    return v > -300 ? WEIR_SCOPE_PEER : WEIR_SCOPE_NODE;
}

/* Messages quote names, paths and texts of peers: control characters go. */
static void keep_to_one_line(char *text)
{
    for (char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 127) {
            *c = '?';
        }
    }
}

weir_err wi_fail(struct weir_error *err, weir_err code, const char *fmt, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, fmt);
        err->code = code;
        (void)wi_neutral_vformat(err->message, sizeof(err->message), fmt, args);
        va_end(args);
        keep_to_one_line(err->message);
    }
    return code;
}

weir_err wi_fail_null(struct weir_error *err, const char *name)
{
    return wi_fail(err, WEIR_ERR_ARG, "%s must not be NULL", name);
}

weir_err wi_check_given(struct weir_error *err, const struct wi_arg *args,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (args[i].value == NULL) {
            return wi_fail_null(err, args[i].name);
        }
    }
    return WEIR_OK;
}

weir_err wi_check_list(struct weir_error *err, const void *list, uint32_t n,
                       const char *name)
{
    if (list != NULL && n == 0) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "%s is given and n_%s is 0: give both or neither", name,
                       name);
    }
    return list == NULL && n != 0
               ? wi_fail(err, WEIR_ERR_ARG, "%s is NULL and n_%s is %u", name,
                         name, n)
               : WEIR_OK;
}

weir_err wi_fail_errno(struct weir_error *err, int errno_value, const char *fmt,
                       ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, fmt);
        err->code = WEIR_ERR_SYSTEM;
        int n =
            wi_neutral_vformat(err->message, sizeof(err->message), fmt, args);
        va_end(args);
        size_t used = n < 0 ? 0 : (size_t)n;
        if (used < sizeof(err->message)) {
            (void)snprintf(err->message + used, sizeof(err->message) - used,
                           ": %s", strerror(errno_value));
        }
        keep_to_one_line(err->message);
    }
    return WEIR_ERR_SYSTEM;
}
