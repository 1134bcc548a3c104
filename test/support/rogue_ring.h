/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A ring that a rogue has at a node: as a producer of the lab's shared query
 * opens it, or with whatever is wrong about it.
 */
#ifndef WT_ROGUE_RING_H
#define WT_ROGUE_RING_H

#include "test/support/lab.h"

struct wt_ring {
    struct wt_rogue_link *link;
    uint32_t unit;
    uint32_t epoch;
    uint32_t bytes;
    uint64_t pos;     /* what is published */
    uint64_t sums[4]; /* rows, bytes, checksum, frames */
};

/** EDGE_OPEN for stage 1 or 2 of the shared query at node i, right in every
 *  field; the ring that it speaks of goes to *r. */
struct wt_msg wt_ring_message(struct wt_lab *lab, uint32_t i, uint32_t stage,
                              uint32_t unit, struct wt_ring *r);

/** The same, sent. */
void wt_ring_open(struct wt_lab *lab, uint32_t i, uint32_t stage, uint32_t unit,
                  struct wt_ring *r);

/** Where the next frame goes, and what it has to say of that. */
struct wt_place_in_ring wt_ring_place(const struct wt_ring *r);

/** Write bytes at the next position, without a word of it. */
void wt_ring_write(struct wt_ring *r, const void *bytes, uint32_t len);

/** NOTIFY that the position is `len` further. */
void wt_ring_publish(struct wt_ring *r, uint64_t len);

/** A right DATA frame of `rows` rows, and its NOTIFY. */
void wt_ring_rows(struct wt_ring *r, uint32_t rows);

/** The right END frame, and its NOTIFY. */
void wt_ring_end(struct wt_ring *r);

#endif /* WT_ROGUE_RING_H */
