/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Writing error messages: the function that detects a fault calls one of
 * these once; callers pass the code on.
 */
#ifndef WI_BASE_ERR_H
#define WI_BASE_ERR_H

#include <weir/error.h>

#include "core/base/cc.h"

/** Write code and message (cut to fit) into err unless NULL; returns code. */
weir_err wi_fail(struct weir_error *err, weir_err code, const char *fmt, ...)
    WI_PRINTF(3, 4) WI_COLD;

/** As wi_fail with WEIR_ERR_SYSTEM and ": <strerror(errno_value)>" appended. */
weir_err wi_fail_errno(struct weir_error *err, int errno_value, const char *fmt,
                       ...) WI_PRINTF(3, 4) WI_COLD;

#endif /* WI_BASE_ERR_H */
