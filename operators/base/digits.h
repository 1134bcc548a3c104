/* SPDX-License-Identifier: Apache-2.0 */
/** Digits in texts, for those that read values. Errors: none. Blocks: never.
 *  Threads: any. */
#ifndef WI_OPERATORS_DIGITS_H
#define WI_OPERATORS_DIGITS_H

#include <stddef.h>

#include "operators/base/type.h"

/** Over 9: none. */
static inline uint32_t wi_digit(char c)
{
    return (uint32_t)(unsigned char)c - '0';
}

/** 1..18 digits. */
static inline bool wi_short_number(const char *text, size_t len, uint64_t *out)
{
    uint64_t value = 0;
    bool ok = len > 0;
    for (size_t i = 0; i < len; i++) {
        uint32_t d = wi_digit(text[i]);
        ok &= d < 10;
        value = value * 10 + d;
    }
    *out = value;
    return ok;
}

/** What follows a sign, if there is one. */
static inline struct wi_str wi_skip_sign(struct wi_str text, bool *negative)
{
    *negative = text.n_bytes > 0 && text.data[0] == '-';
    const bool sign = *negative || (text.n_bytes > 0 && text.data[0] == '+');
    return (struct wi_str){text.data + sign, text.n_bytes - sign};
}

#endif /* WI_OPERATORS_DIGITS_H */
