/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Regions, asks and fetches in a lab (lab.h), while a rogue is at work: what
 * has to stay as it is, and what has to end.
 *
 *   node 1 --gets, always right--> node 0 --one operation--> rogue
 *                                  regions {7, 1}, and {7, 2} for writing
 *                                  answers in space 8, never in space 9
 */
#ifndef WT_WARES_H
#define WT_WARES_H

#include "test/support/lab.h"

enum { WT_WARES_BYTES = 100003, WT_WARES_RING = 64 };

struct wt_wares {
    weir_region *region[2];
    weir_asks *asks[2];
    weir_fetch *honest; /* of node 1 */
    weir_peer *owner;
    uint32_t honest_left; /* gets that are still to be made */
    uint8_t honest_dst[WT_WARES_BYTES];
    weir_fetch *victim; /* of node 0 */
    weir_peer *rogue;
    uint32_t begun; /* operations */
    uint32_t ended;
    weir_err end; /* of the last of them */
    char error[WEIR_ERROR_MESSAGE_BYTES];
    uint8_t victim_dst[4096];
    uint64_t was[2]; /* memory held by each node before */
};

/** Open everything; the honest reader begins. */
void wt_wares_open(struct wt_lab *lab, struct wt_wares *w);

/** The operations that a rogue is to spoil: bytes [1000, 1100) of its region
 *  {7, 5}, 100 bytes for its region {7, 6}, and "?" for its space 5. */
void wt_wares_get(struct wt_lab *lab);
void wt_wares_far_get(struct wt_lab *lab); /* at 8000 */
void wt_wares_put(struct wt_lab *lab);
void wt_wares_ask(struct wt_lab *lab);

/** Take and answer what there is. True: something moved. */
bool wt_wares_move(struct wt_lab *lab);

/** All of the victim's operations have ended, and all of the honest gets. */
bool wt_wares_ended(struct wt_lab *lab);
bool wt_wares_at_rest(struct wt_lab *lab);

/** Nothing of the owner's has changed, nothing is held by a peer that is gone,
 *  and the memory is back; close everything. Else the process ends. */
void wt_wares_close(struct wt_lab *lab, const char *after);

#endif /* WT_WARES_H */
