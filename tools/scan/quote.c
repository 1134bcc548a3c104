/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/scan/quote.h"

#include <stdlib.h>

char *sql_quote(const char *text, unsigned long bytes, char mark)
{
    char *quoted = malloc(2 * bytes + 3);
    char *to = quoted;
    if (quoted == NULL) {
        return NULL;
    }
    *to++ = mark;
    for (unsigned long i = 0; i < bytes; i++) {
        if (text[i] == mark) {
            *to++ = mark;
        }
        *to++ = text[i];
    }
    *to++ = mark;
    *to = '\0';
    return quoted;
}
