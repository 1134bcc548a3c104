/* SPDX-License-Identifier: Apache-2.0 */
/** Bits and words at any address. */
#ifndef WI_BASE_BYTES_H
#define WI_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

/** Bit `at` of a bitmap, least significant first: 0 or 1. */
static inline uint32_t wi_bit(const void *bits, uint64_t at)
{
    uint32_t byte = ((const uint8_t *)bits)[at >> 3];
    return byte >> (at & 7) & 1u;
}

static inline uint32_t wi_load_u32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint64_t wi_load_u64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline void wi_store_u32(void *p, uint32_t v)
{
    memcpy(p, &v, sizeof(v));
}

static inline void wi_store_u64(void *p, uint64_t v)
{
    memcpy(p, &v, sizeof(v));
}

#endif /* WI_BASE_BYTES_H */
