/* SPDX-License-Identifier: Apache-2.0 */
/** Bitmaps: bit i of an array of 64-bit words, by one thread at a time. */
#ifndef WI_BITMAP_H
#define WI_BITMAP_H

#include <stdbool.h>
#include <stdint.h>

static inline bool wi_bitmap_test(const uint64_t *bits, uint32_t i)
{
    return (bits[i / 64] >> (i % 64) & 1) != 0;
}

/** Set or clear n bits from `first` on. */
static inline void wi_bitmap_mark(uint64_t *bits, uint32_t first, uint32_t n,
                                  bool on)
{
    for (uint32_t i = first; i < first + n; i++) {
        uint64_t bit = 1ull << (i % 64);
        bits[i / 64] = on ? bits[i / 64] | bit : bits[i / 64] & ~bit;
    }
}

#endif /* WI_BITMAP_H */
