/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inside of the frame files: the buffer table of a DATA frame, whose entry i is
 * {u32 offset, u32 length} at byte 64 + 8 * i.
 */
#ifndef WI_FRAME_TABLE_H
#define WI_FRAME_TABLE_H

#include <stdint.h>
#include <string.h>

#include "core/base/bytes.h"

enum { WI_TABLE_OFF = 64 };

struct wi_extent {
    uint32_t off; /* from the frame's start */
    uint32_t len; /* used bytes */
};

/** Read an entry once: the barrier keeps the compiler from loading the value
 *  again after it was checked. */
static inline struct wi_extent wi_table_get(const uint8_t *mem, uint32_t i)
{
    struct wi_extent e;
    uint64_t both = wi_load_u64(mem + WI_TABLE_OFF + (size_t)i * 8);
    __asm__ __volatile__("" : "+r"(both));
    e.off = (uint32_t)both;
    e.len = (uint32_t)(both >> 32);
    return e;
}

static inline void wi_table_put(uint8_t *mem, uint32_t i, struct wi_extent e)
{
    memcpy(mem + WI_TABLE_OFF + (size_t)i * 8, &e, 8);
}

/** First byte after the table. */
static inline uint32_t wi_table_end(uint32_t n_buffers)
{
    return (WI_TABLE_OFF + 8 * n_buffers + 63) & ~63u;
}

#endif /* WI_FRAME_TABLE_H */
