/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The memory plan: how large everything is that travels. Decided once, at open,
 * and never exceeded.
 *
 * Each peer is granted one ring area per link. It is cut into units; a ring is
 * one unit (two frames: the reserved minimum of an edge) or, while the area has
 * units to spare, several next to each other (ring_frames).
 *
 *   ring area   | ctl 0 | ctl 1 | ... | unit 0 | unit 1 | ... |
 *   one unit    | slack | 2 frames |   the sender starts its ring somewhere in
 *                                      the slack, differently for each peer, so
 *                                      that the rings a worker writes at a time
 *                                      do not fall on the same cache sets
 *
 *   units needed   max_shuffles x W x W   rings thread-to-thread
 *                  max_shuffles x W       rings thread-to-node
 *   granted        twice that while it fits, so that every ring can grow; and
 *                  several times as many where the number of shuffles was left
 *                  to us, for more than the usual number at a time
 *   memory         (members incl. self) x ring area
 *                  + posted transports: members x the same for outgoing rings
 *                  + rings thread-to-node: max_shuffles x W writers x
 *                    members x W stages, where their open frames are filled
 *
 * An area that is less than an eighth short of whole huge pages is rounded up
 * to them, so that transports can use them.
 *
 * A stage is smaller than STAGE_BYTES where not even the smallest rings leave
 * room for that.
 *
 * Thread-to-thread is taken while it fits the cap, else thread-to-node, else
 * the open fails and says the sum; but where the cap was left to us, with
 * smaller frames, and at last with rings for as many links at a time as fit.
 * Then open frames have what rings leave: a writer of too many destinations is
 * refused. So peers' units may differ, and with them the frames that fit.
 */
#ifndef WI_BUDGET_H
#define WI_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/error.h>

#include "core/base/cc.h"

struct wi_budget_params {
    uint32_t workers;
    uint32_t max_members;
    uint32_t max_shuffles;
    uint32_t frame_bytes;
    uint32_t ring_frames;
    uint64_t cap_bytes;
    bool flexible; /* rather smaller frames, or fewer links, than none */
    bool mapped;   /* peers write into each other's memory: no outgoing copy */
    uint64_t spare_bytes; /* rings beyond those of max_shuffles, if they are
                             thread-to-thread: up to this sum */
};

struct wi_budget {
    bool per_node;        /* rings thread-to-node */
    uint32_t frame_bytes; /* most that fits twice in a unit */
    uint32_t slack_bytes;
    uint32_t unit_bytes;
    uint32_t n_units;      /* per link */
    uint32_t ring_units;   /* of a full-size ring */
    uint64_t area_bytes;   /* ring area of one link, multiple of a page */
    uint64_t usual_bytes;  /* of it, what rings of max_shuffles need */
    uint32_t stage_bytes;  /* rings thread-to-node: of one open frame, else 0 */
    uint64_t stages_bytes; /* of all open frames of one writer */
    uint64_t rings_cap_bytes; /* of the cap, what stages leave */
    uint64_t total_bytes;
    uint64_t cap_bytes;
    char text[320];
};

#define WI_LEAST_FRAME_BYTES 1024u

/** Slack in a unit of two such frames. */
static inline uint32_t wi_budget_slack(uint32_t frame_bytes)
{
    uint64_t slack = wi_align_up(frame_bytes / 4, WI_CACHE_LINE);
    return (uint32_t)wi_min_u64(slack, WI_PAGE);
}

/** The largest frame that fits twice, and its slack, in a unit. */
static inline uint32_t wi_budget_frame(uint32_t unit_bytes)
{
    uint32_t most = unit_bytes > WI_PAGE ? (unit_bytes - WI_PAGE) / 2 : 0;
    uint32_t least = unit_bytes / 9 * 4; /* where the slack is a quarter */
    uint32_t frame = wi_max_u32(most, least) / WI_CACHE_LINE * WI_CACHE_LINE;
    while (2ull * frame + wi_budget_slack(frame) > unit_bytes) {
        frame -= WI_CACHE_LINE; /* once or twice, for what was rounded */
    }
    return frame;
}

/**
 * Make the plan.
 *
 * Errors:     WEIR_ERR_BUDGET: the sum, the cap, and what to change
 * Blocks:     never.  Threads: any.  Ownership: nothing
 */
weir_err wi_budget_make(const struct wi_budget_params *p, struct wi_budget *out,
                        struct weir_error *err);

#endif /* WI_BUDGET_H */
