/* SPDX-License-Identifier: Apache-2.0 */
/** Error messages of the scan service. */
#ifndef WI_SCAN_FAIL_H
#define WI_SCAN_FAIL_H

#include <stdarg.h>
#include <stddef.h>

#include <weir/error.h>

/** Write code and message (cut to fit, one line) into err unless NULL; returns
 *  code. Who detects the fault calls it, once; callers pass the code on. */
weir_err wi_scan_fail(struct weir_error *err, weir_err code, const char *fmt,
                      ...) __attribute__((format(printf, 3, 4), cold));

/** vsnprintf(3), whatever the locale of the host program. */
void wi_scan_text(char *text, size_t room, const char *fmt, va_list args)
    __attribute__((format(printf, 3, 0)));

#endif /* WI_SCAN_FAIL_H */
