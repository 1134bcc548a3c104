/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The wire, a second time: bytes as docs/wire.md says them, written from that
 * page and not from core/. Offsets are those of its tables. For peers that do
 * as they like (rogue.h): every field can be given any value.
 */
#ifndef WT_WIRE_H
#define WT_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum wt_msg_type {
    WT_HELLO = 1,
    WT_ACCEPT = 2,
    WT_READY = 3,
    WT_REFUSE = 4,
    WT_BYE = 5,
    WT_PING = 6,
    WT_BELL = 7,
    WT_EDGE_OPEN = 8,
    WT_EDGE_STOP = 9,
    WT_EDGE_ABANDON = 10,
    WT_EDGE_CLOSED = 11,
    WT_NOTIFY = 12,
    WT_CREDIT = 13,
    WT_FAIL = 14,
    WT_JOIN = 15,
    WT_MEMBER = 16,
    WT_SHUFFLE = 17,
    WT_CLOSE = 18,
    WT_DIFFER = 19,
    WT_FILTER = 20,
    WT_FIND = 21,
    WT_FOUND = 22,
    WT_DROP = 23,
    WT_REVOKE = 24,
    WT_ASK = 25,
    WT_ANSWER = 26,
    WT_LEAVE = 27,
    WT_SYNC = 28,
    WT_SYNCED = 29,
    WT_MSG_TYPES = 32, /* room for those of later versions */
};

enum { WT_MSG_BYTES = 2048, WT_HEADER = 64, WT_TABLE = 64 };

/** One message, or a packet of several. */
struct wt_msg {
    uint32_t len;
    uint8_t at[WT_MSG_BYTES];
};

static inline void wt_put(void *at, uint64_t value, uint32_t bytes)
{
    uint8_t *b = at;
    for (uint32_t i = 0; i < bytes; i++) {
        b[i] = (uint8_t)(value >> (8 * i));
    }
}

static inline uint64_t wt_get(const void *at, uint32_t bytes)
{
    const uint8_t *b = at;
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        value |= (uint64_t)b[i] << (8 * i);
    }
    return value;
}

/** A message of this type, all fields zero. */
struct wt_msg wt_msg(enum wt_msg_type type);

/** Its field of this many bytes at this offset. */
static inline void wt_set(struct wt_msg *m, uint32_t off, uint32_t bytes,
                          uint64_t value)
{
    wt_put(m->at + off, value, bytes);
}

void wt_set_text(struct wt_msg *m, uint32_t off, uint32_t bytes,
                 const char *text);

/** Put another message after those that are there. */
void wt_append(struct wt_msg *packet, const struct wt_msg *m);

/* ---- frames -------------------------------------------------------------- */

/** Where a frame is in its ring. */
struct wt_place_in_ring {
    uint64_t pos;
    uint32_t epoch;
};

/** A DATA frame of one int64 column, not nullable. Returns its bytes. */
uint32_t wt_frame_data(uint8_t *at, struct wt_place_in_ring place,
                       const int64_t *keys, uint32_t rows);

/** An END frame with these sums. Returns its bytes. */
uint32_t wt_frame_end(uint8_t *at, struct wt_place_in_ring place,
                      const uint64_t sums[4]);

/** A CHUNK frame with part of an image. Returns its bytes. */
uint32_t wt_frame_chunk(uint8_t *at, struct wt_place_in_ring place,
                        const uint8_t *image, uint32_t total, uint32_t off,
                        uint32_t bytes);

/** Set a frame's checksum to what it has to be. */
void wt_frame_seal(uint8_t *at);

/** The checksum of a frame as it stands. */
uint64_t wt_frame_sum(const uint8_t *at);

/* ---- fingerprints -------------------------------------------------------- */

/** A shuffle by hash of one column, "key" (l), as test/support/plan.h has
 *  it. */
struct wt_shuffle_print {
    uint64_t seed;
    uint32_t n_members; /* all produce and consume, one worker each */
    const uint32_t *members;
};

uint64_t wt_fingerprint(const struct wt_shuffle_print *s);

#endif /* WT_WIRE_H */
