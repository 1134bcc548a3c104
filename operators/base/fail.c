/* SPDX-License-Identifier: Apache-2.0 */
/* Error messages of operators and plans. */
#include "operators/base/fail.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "operators/base/neutral.h"
#include "operators/base/utf8.h"

weir_err wi_exec_fail(struct weir_error *err, weir_err code, const char *fmt,
                      ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, fmt);
        err->code = code;
        (void)wi_neutral_vformat(err->message, sizeof(err->message), fmt, args);
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

weir_err wi_exec_check_given(struct weir_error *err,
                             const struct wi_exec_arg *args, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (args[i].value == NULL) {
            return wi_exec_fail(err, WEIR_ERR_ARG, "%s must not be NULL",
                                args[i].name);
        }
    }
    return WEIR_OK;
}

weir_err wi_exec_check_list(struct weir_error *err, const void *list,
                            uint32_t n, const char *name)
{
    if (list != NULL && n == 0) {
        return wi_exec_fail(err, WEIR_ERR_ARG,
                            "%s is given and n_%s is 0: give both or neither",
                            name, name);
    }
    return list == NULL && n != 0
               ? wi_exec_fail(err, WEIR_ERR_ARG, "%s is NULL and n_%s is %u",
                              name, name, n)
               : WEIR_OK;
}
