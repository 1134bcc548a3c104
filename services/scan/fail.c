/* SPDX-License-Identifier: Apache-2.0 */
/* Error messages of the scan service. They hold texts of engines and peers, so
 * control characters become spaces. */
#include "services/scan/fail.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>

void wi_scan_text(char *text, size_t room, const char *fmt, va_list args)
{
    /* The C locale is no allocation. */
    locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    (void)vsnprintf(text, room, fmt, args);
    (void)uselocale(before);
}

weir_err wi_scan_fail(struct weir_error *err, weir_err code, const char *fmt,
                      ...)
{
    if (err == NULL) {
        return code;
    }
    va_list args;
    va_start(args, fmt);
    wi_scan_text(err->message, sizeof(err->message), fmt, args);
    va_end(args);
    err->code = code;
    for (char *c = err->message; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 127) {
            *c = ' ';
        }
    }
    return code;
}
