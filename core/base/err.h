/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Writing error messages: the function that detects a fault calls one of
 * these once; callers pass the code on.
 */
#ifndef WI_BASE_ERR_H
#define WI_BASE_ERR_H

#include <weir/error.h>

#include "core/base/cc.h"

/** A pointer that the caller must give, and the name it has in the header. */
struct wi_arg {
    const void *value;
    const char *name;
};
#define WI_ARG(arg)                                                            \
    {                                                                          \
        (arg), #arg                                                            \
    }

/** Write code and message (cut to fit) into err unless NULL; returns code. */
weir_err wi_fail(struct weir_error *err, weir_err code, const char *fmt, ...)
    WI_PRINTF(3, 4) WI_COLD;

/** As wi_fail with WEIR_ERR_SYSTEM and ": <strerror(errno_value)>" appended. */
weir_err wi_fail_errno(struct weir_error *err, int errno_value, const char *fmt,
                       ...) WI_PRINTF(3, 4) WI_COLD;

/** An argument is missing; returns WEIR_ERR_ARG. */
weir_err wi_fail_null(struct weir_error *err, const char *name) WI_COLD;

/** WEIR_OK, or WEIR_ERR_ARG and the name of the first that is NULL. */
#define wi_check_args(err, ...)                                                \
    wi_check_given((err), (const struct wi_arg[]){__VA_ARGS__},                \
                   sizeof((const struct wi_arg[]){__VA_ARGS__}) /              \
                       sizeof(struct wi_arg))
weir_err wi_check_given(struct weir_error *err, const struct wi_arg *args,
                        size_t n);

/** A list and its count come together: WEIR_ERR_ARG if one is given and the
 *  other is not. */
weir_err wi_check_list(struct weir_error *err, const void *list, uint32_t n,
                       const char *name);

#endif /* WI_BASE_ERR_H */
