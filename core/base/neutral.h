/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Text that does not depend on the locale of the host program: a decimal point
 * is a point, and letters are those of ASCII. What depends on it is called
 * between wi_neutral_begin() and wi_neutral_end(), which concern this thread
 * alone; test/scripts/check_locale.sh finds what is not.
 */
#ifndef WI_BASE_NEUTRAL_H
#define WI_BASE_NEUTRAL_H

#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** The locale of before, for wi_neutral_end. The C locale is no allocation, in
 *  glibc and in musl. */
static inline locale_t wi_neutral_begin(void)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return c != (locale_t)0 ? uselocale(c) : (locale_t)0;
}

static inline void wi_neutral_end(locale_t before)
{
    if (before != (locale_t)0) {
        (void)uselocale(before);
    }
}

/** vsnprintf(3), neutral. */
static inline int wi_neutral_vformat(char *text, size_t room, const char *fmt,
                                     va_list args)
{
    locale_t before = wi_neutral_begin();
    int n = vsnprintf(text, room, fmt, args);
    wi_neutral_end(before);
    return n;
}

/** snprintf(3), neutral. */
static inline int wi_neutral_format(char *text, size_t room, const char *fmt,
                                    ...) __attribute__((format(printf, 3, 4)));
static inline int wi_neutral_format(char *text, size_t room, const char *fmt,
                                    ...)
{
    va_list args;
    va_start(args, fmt);
    int n = wi_neutral_vformat(text, room, fmt, args);
    va_end(args);
    return n;
}

/** Printable ASCII. */
static inline bool wi_neutral_print(int c)
{
    return c >= ' ' && c <= '~';
}

#endif /* WI_BASE_NEUTRAL_H */
