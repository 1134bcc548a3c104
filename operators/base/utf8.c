/* SPDX-License-Identifier: Apache-2.0 */
/* ASCII a block at a time, everything else without branches. The only C library
 * for this in Debian is libunistring, whose u8_check() decodes every
 * character. */
#include "operators/base/utf8.h"

#include <stdint.h>
#include <string.h>

enum { BLOCK = 32 };

static const uint64_t HIGH_BITS = UINT64_C(0x8080808080808080);

static inline uint64_t eight(const char *text)
{
    uint64_t bytes;
    memcpy(&bytes, text, sizeof(bytes));
    return bytes;
}

static inline bool block_is_ascii(const char *text)
{
    return ((eight(text) | eight(text + 8) | eight(text + 16) |
             eight(text + 24)) &
            HIGH_BITS) == 0;
}

bool wi_utf8_is_ascii(const char *text, size_t n)
{
    uint64_t high = 0;
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        if (!block_is_ascii(text + i)) {
            return false;
        }
    }
    for (; i < n; i++) {
        high |= (unsigned char)text[i];
    }
    return (high & HIGH_BITS) == 0;
}

/*
 * An automaton whose states are bit positions in a word. Each byte value has a
 * word that holds the next state at the position of each state: so a step is
 * one shift, and no branch depends on the text. ERROR is position 0, where all
 * words are 0.
 *
 *   ACCEPT --c2..df--> TAIL1 --80..bf--> ACCEPT
 *   ACCEPT --e1..ef--> TAIL2 --80..bf--> TAIL1
 *   ACCEPT --f1..f3--> TAIL3 --80..bf--> TAIL2
 *   AFTER_E0, _ED, _F0, _F4: the second byte has other bounds (RFC 3629, 4)
 *
 * Source: P. Vognsen, "Shift-based DFAs"; B. Hoehrmann, "Flexible and
 * Economical UTF-8 Decoder".
 */
enum state {
    ERROR = 0,
    ACCEPT = 6,
    TAIL1 = 12,
    TAIL2 = 18,
    TAIL3 = 24,
    AFTER_E0 = 30,
    AFTER_ED = 36,
    AFTER_F0 = 42,
    AFTER_F4 = 48,
};

#define GO(from, to) ((uint64_t)(to) << (from))
#define TAIL (GO(TAIL1, ACCEPT) | GO(TAIL2, TAIL1) | GO(TAIL3, TAIL2))

static const uint64_t steps[256] = {
    [0x00 ... 0x7f] = GO(ACCEPT, ACCEPT),
    [0x80 ... 0x8f] = TAIL | GO(AFTER_ED, TAIL1) | GO(AFTER_F4, TAIL2),
    [0x90 ... 0x9f] = TAIL | GO(AFTER_ED, TAIL1) | GO(AFTER_F0, TAIL2),
    [0xa0 ... 0xbf] = TAIL | GO(AFTER_E0, TAIL1) | GO(AFTER_F0, TAIL2),
    [0xc2 ... 0xdf] = GO(ACCEPT, TAIL1),
    [0xe0] = GO(ACCEPT, AFTER_E0),
    [0xe1 ... 0xec] = GO(ACCEPT, TAIL2),
    [0xed] = GO(ACCEPT, AFTER_ED),
    [0xee ... 0xef] = GO(ACCEPT, TAIL2),
    [0xf0] = GO(ACCEPT, AFTER_F0),
    [0xf1 ... 0xf3] = GO(ACCEPT, TAIL3),
    [0xf4] = GO(ACCEPT, AFTER_F4),
};

/* Bits above the state's six are left over from the last step. */
static inline uint64_t step(uint64_t state, char byte)
{
    return steps[(unsigned char)byte] >> (state & 63);
}

bool wi_utf8_check(const char *text, size_t n)
{
    uint64_t state = ACCEPT;
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        if ((state & 63) == ACCEPT && block_is_ascii(text + i)) {
            continue;
        }
        for (size_t k = 0; k < BLOCK; k++) {
            state = step(state, text[i + k]);
        }
    }
    for (; i < n; i++) {
        state = step(state, text[i]);
    }
    return (state & 63) == ACCEPT;
}

size_t wi_utf8_span(const char *text, size_t n)
{
    uint64_t state = ACCEPT;
    size_t span = 0;
    for (size_t i = 0; i < n && (state & 63) != ERROR; i++) {
        state = step(state, text[i]);
        span = (state & 63) == ACCEPT ? i + 1 : span;
    }
    return span;
}

void wi_utf8_clean(char *text)
{
    const size_t n = strlen(text);
    for (size_t i = 0; i < n; i++) {
        const bool control = (unsigned char)text[i] < ' ' || text[i] == 0x7f;
        text[i] = control ? '?' : text[i];
    }
    for (size_t i = wi_utf8_span(text, n); i < n;
         i += wi_utf8_span(text + i, n - i)) {
        text[i] = '?';
    }
}
