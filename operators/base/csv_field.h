/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Writes a CSV field as in RFC 4180. It gets quotes if a reader needs them, if
 * it is empty but not null, or if it begins or ends with a space, which some
 * readers drop.
 */
#ifndef WI_OPERATORS_CSV_FIELD_H
#define WI_OPERATORS_CSV_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool wi_csv_needs_quotes(const char *text, size_t len)
{
    if (len == 0 || text[0] == ' ' || text[len - 1] == ' ') {
        return true;
    }
    for (size_t i = 0; i < len; i++) {
        const char c = text[i];
        if (c == ',' || c == '"' || c == '\n' || c == '\r') {
            return true;
        }
    }
    return false;
}

/** Give the field to `put` in one or more pieces. Inlined, so that `put` is not
 *  called through a pointer. Errors, Blocks, Threads: put's. Ownership:
 *  nothing. */
static inline void
wi_csv_field_put(const char *text, size_t len,
                 void (*put)(void *to, const char *text, size_t len), void *to)
{
    if (!wi_csv_needs_quotes(text, len)) {
        put(to, text, len);
        return;
    }
    put(to, "\"", 1);
    while (len > 0) {
        const char *quote = memchr(text, '"', len);
        const size_t n = quote == NULL ? len : (size_t)(quote - text) + 1;
        put(to, text, n);
        if (quote != NULL) {
            put(to, "\"", 1);
        }
        text += n;
        len -= n;
    }
    put(to, "\"", 1);
}

#endif /* WI_OPERATORS_CSV_FIELD_H */
