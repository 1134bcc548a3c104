/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Is it text? UTF-8 as RFC 3629 has it: no overlong forms, no surrogates,
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

/** Bytes from the beginning that are UTF-8: n if all of them are, else the
 *  place of the first character that is none. */
size_t wi_utf8_span(const char *text, size_t n);

/** Are all bytes below 0x80? At the speed of memory: what it says of a whole
 *  buffer spares a look at each text in it. */
bool wi_utf8_is_ascii(const char *text, size_t n);

/** Are all bytes UTF-8? The fast one. */
bool wi_utf8_check(const char *text, size_t n);

/** Make a message one line of text: control characters and what is not UTF-8
 *  become question marks. */
void wi_utf8_clean(char *text);

#endif /* WI_OPERATORS_UTF8_H */
