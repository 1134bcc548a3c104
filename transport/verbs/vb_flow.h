/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Arithmetic of the verbs transport: windows, counters, keys. Pure functions,
 * tested without a device.
 *
 * Counters are cumulative and wrap at 2^32; 16 bits of them travel.
 */
#ifndef WI_VERBS_FLOW_H
#define WI_VERBS_FLOW_H

#include <stdbool.h>
#include <stdint.h>

enum {
    VB_RESERVE = 4,     /* places of the window that messages leave free */
    VB_ACK_RESERVE = 2, /* places that requests for acknowledgement leave */
    VB_KEY_TAGS = 64,
};

/** Largest base that a key can hold is below this. */
#define VB_KEY_SPAN (UINT64_C(1) << 47)

/**
 * How many more messages may go: of the peer's `window` receives, `sent` were
 * used and `freed` are posted again; `keep` are left for others.
 *
 * Why nothing blocks: messages of the core leave VB_RESERVE places. An
 * acknowledgement may take the last place, but is only sent when it frees at
 * least one at the other end. So if both ends fill their windows at the same
 * time, each receives, with the other's last message, a place for its own
 * acknowledgement.
 */
static inline uint32_t vb_window_room(uint32_t window, uint32_t sent,
                                      uint32_t freed, uint32_t keep)
{
    uint32_t used = sent - freed;
    return used + keep >= window ? 0 : window - keep - used;
}

/** Counter whose low 16 bits are `low` and which is not before `seen`. */
static inline uint32_t vb_count_after(uint32_t seen, uint16_t low)
{
    return seen + (uint16_t)(low - (uint16_t)seen);
}

/** Is counter a at or after b? They are never 2^31 apart. */
static inline bool vb_reached(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) >= 0;
}

/** Is an acknowledgement due even if nothing else is sent? It is when half of
 *  the window was freed since the peer was told. */
static inline bool vb_ack_due(uint32_t freed, uint32_t told, uint32_t window)
{
    return freed - told >= window / 2;
}

struct vb_key {
    uint64_t base; /* multiple of 2 MiB, below VB_KEY_SPAN */
    uint32_t rkey;
    uint8_t tag; /* below VB_KEY_TAGS */
};

static inline uint64_t vb_key_encode(struct vb_key key)
{
    return (uint64_t)key.tag << 58 | key.base >> 21 << 32 | key.rkey;
}

static inline struct vb_key vb_key_decode(uint64_t word)
{
    return (struct vb_key){
        .base = (word >> 32 & 0x3ffffff) << 21,
        .rkey = (uint32_t)word,
        .tag = (uint8_t)(word >> 58),
    };
}

#endif /* WI_VERBS_FLOW_H */
