/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rings: circular byte buffers with cumulative 64-bit positions.
 *
 *        head            tail
 *   ------v===============v-------------------  positions only grow;
 *   |     | frames        | free               |  byte = pos mod size
 *   -------------------------------------------
 *
 * A frame never wraps: what is left before the end and too small for the next
 * frame is skipped with a PAD frame. Frames are multiples of 64 bytes, rings
 * multiples of 64 bytes, so a PAD header always fits.
 *
 * The control block of a mapped ring lies in the consumer's ring area, and both
 * ends use it. A posted ring has two, the producer's in its wi_out and the
 * consumer's in its wi_in: what the peer can write to is not believed.
 *
 * Edge E1: the producer writes frame bytes, then releases `tail`; the consumer
 * acquires `tail`, then reads the bytes. Edge E5: the consumer finishes with
 * the bytes, then releases `head`; the producer acquires `head`, then writes.
 */
#ifndef WI_RING_H
#define WI_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/atomic.h"
#include "core/base/cc.h"

#define WI_RING_ALIGN 64u

/* Why a producer wants to be woken; the consumer sees only that it does. */
enum {
    WI_WAITS_FOR_ROOM = 1, /* for the next frame */
    WI_WAITS_FOR_EMPTY =
        2, /* an empty ring: then what is part-filled goes out */
};

struct wi_ring_ctl {
    /* written by: producer (`producer_waits` is cleared by the consumer) */
    alignas(WI_CACHE_LINE) _Atomic uint64_t tail;
    _Atomic uint32_t producer_waits; /* for what: above; 0: it does not */
    /* written by: consumer (posted rings: by whoever reaps completions) */
    alignas(WI_CACHE_LINE) _Atomic uint64_t head;
};
_Static_assert(sizeof(struct wi_ring_ctl) == 128, "two cache lines");

/** Where the next frame may go. */
struct wi_span {
    uint64_t pos;   /* position of mem */
    uint32_t off;   /* byte offset of mem in the ring */
    uint32_t bytes; /* writable there; 0: no room */
    uint32_t pad;   /* bytes of PAD frame to put in front, at pos - pad */
};

/**
 * Find room for a frame of want_bytes, or of at least min_bytes where the ring
 * ends.
 *
 * @param size  of the ring, multiple of 64
 * @param tail  where the next byte goes
 * @param head  first byte still in use
 *
 * Returns: bytes == 0 if there is not enough room yet; else min_bytes <= bytes
 * <= want_bytes. Pure; min_bytes <= want_bytes <= size / 2.
 */
static inline struct wi_span wi_ring_reserve(uint32_t size, uint64_t tail,
                                             uint64_t head, uint32_t want_bytes,
                                             uint32_t min_bytes)
{
    struct wi_span s = {.pos = tail, .off = (uint32_t)(tail % size)};
    uint64_t room = size - (tail - head);
    uint32_t to_end = size - s.off;
    if (to_end < min_bytes) {
        s.pad = to_end;
        s.pos += to_end;
        s.off = 0;
        to_end = size;
    }
    uint32_t bytes = wi_min_u32(want_bytes, to_end);
    s.bytes = room >= (uint64_t)bytes + s.pad ? bytes : 0;
    return s;
}

/** Bytes from pos to the next wrap, at most up to limit. */
static inline uint32_t wi_ring_contiguous(uint32_t size, uint64_t pos,
                                          uint64_t limit)
{
    uint64_t to_end = size - pos % size;
    return (uint32_t)wi_min_u64(to_end, limit - pos);
}

#endif /* WI_RING_H */
