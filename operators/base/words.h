/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Equality of texts without a call: a short text is two words, which may share
 * bytes.
 *
 *   17 and more   compared by memcmp
 *   8..16         its first 8 bytes, its last 8
 *   4..7          its first 4, its last 4
 *   1..3          first, middle and last byte
 *
 * Two texts of one length of up to 16 bytes are equal if their words are.
 */
#ifndef WI_OPERATORS_WORDS_H
#define WI_OPERATORS_WORDS_H

#include <string.h>

#include "operators/base/vec.h"

enum { WI_WORDS_BYTES = 16 }; /* of the longest text that its words decide */

struct wi_words {
    uint64_t head;
    uint64_t tail;
};

static inline uint64_t wi_load4(const char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

static inline uint64_t wi_load8(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

static inline struct wi_words wi_words_of(struct wi_str s)
{
    uint32_t n = s.n_bytes;
    if (n >= 8) {
        return (struct wi_words){wi_load8(s.data), wi_load8(s.data + n - 8)};
    }
    if (n >= 4) {
        return (struct wi_words){wi_load4(s.data), wi_load4(s.data + n - 4)};
    }
    if (n == 0) {
        return (struct wi_words){0, 0};
    }
    const unsigned char *at = (const unsigned char *)s.data;
    uint64_t head = (uint64_t)at[0] << 16 | (uint64_t)at[n / 2] << 8;
    return (struct wi_words){head | at[n - 1], 0};
}

static inline bool wi_str_same(struct wi_str a, struct wi_str b)
{
    if (a.n_bytes != b.n_bytes) {
        return false;
    }
    if (a.n_bytes > WI_WORDS_BYTES) {
        return memcmp(a.data, b.data, a.n_bytes) == 0;
    }
    struct wi_words x = wi_words_of(a);
    struct wi_words y = wi_words_of(b);
    return ((x.head ^ y.head) | (x.tail ^ y.tail)) == 0;
}

#endif /* WI_OPERATORS_WORDS_H */
