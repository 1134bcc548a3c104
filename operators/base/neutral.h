/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Text that does not depend on the locale of the host program: a decimal point
 * is a point, letters are those of ASCII, an I is a big i in Turkey, too. What
 * depends on it is called between wi_neutral_begin() and wi_neutral_end(),
 * which concern this thread alone; test/scripts/check_locale.sh finds what is
 * not.
 */
#ifndef WI_EXEC_NEUTRAL_H
#define WI_EXEC_NEUTRAL_H

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

static inline char wi_neutral_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline bool wi_neutral_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool wi_neutral_alnum(char c)
{
    char low = wi_neutral_lower(c);
    return (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9');
}

/** Are n bytes the same but for small and big letters? */
static inline bool wi_neutral_same(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (wi_neutral_lower(a[i]) != wi_neutral_lower(b[i])) {
            return false;
        }
    }
    return true;
}

#endif /* WI_EXEC_NEUTRAL_H */
