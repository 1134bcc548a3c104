/* SPDX-License-Identifier: Apache-2.0 */
/** Maps of a ring area's units: one bit each, 1: in use. Whose they are is in
 *  edge.h, what they are in budget.h. Under the node's lock. */
#ifndef WI_UNITS_H
#define WI_UNITS_H

#include <stdbool.h>
#include <stdint.h>

static inline bool wi_units_used(const uint64_t *bits, uint32_t i)
{
    return (bits[i / 64] >> (i % 64) & 1) != 0;
}

static inline void wi_units_mark(uint64_t *bits, uint32_t first, uint32_t n,
                                 bool on)
{
    for (uint32_t i = first; i < first + n; i++) {
        uint64_t bit = 1ull << (i % 64);
        bits[i / 64] = on ? bits[i / 64] | bit : bits[i / 64] & ~bit;
    }
}

#endif /* WI_UNITS_H */
