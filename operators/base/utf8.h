/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Is it text? UTF-8 as in RFC 3629: no overlong forms, no surrogates,
 * nothing above U+10FFFF. A NUL is a character.
 *
 * All of them:
 *
 * Errors:     none
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing
 */
#ifndef WI_OPERATORS_UTF8_H
#define WI_OPERATORS_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/** How many bytes from the start are UTF-8: n, or the offset of the first
 *  character that is not. */
size_t wi_utf8_span(const char *text, size_t n);

/** Are all bytes below 0x80? Runs at the speed of memory: if a whole buffer is
 *  ASCII, the texts in it need no check of their own. */
bool wi_utf8_is_ascii(const char *text, size_t n);

/** Are all bytes UTF-8? Faster than wi_utf8_span. */
bool wi_utf8_check(const char *text, size_t n);

/** Make a message one line of text: control characters and what is not UTF-8
 *  become question marks. */
void wi_utf8_clean(char *text);

#endif /* WI_OPERATORS_UTF8_H */
