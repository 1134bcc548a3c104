/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A round of a soak.
 *
 *   query of all, a fault somewhere in it --> exact rows, or an error with a
 *                                             code and a name (fault.h)
 *   while a member is dead, stopped or cut off: query of the others, exact
 *   the fault is over
 *   after a stop: a query that may fail once more
 *   query of all, exact
 */
#ifndef WT_PLAY_H
#define WT_PLAY_H

#include "test/soak/fault.h"

/** All members open and join, and queries of each size run. */
void wt_play_begin(struct wt_soak *s);

/** Play round s->round. A violation ends the program. */
void wt_play_round(struct wt_soak *s);

/** In words: what the round under way does. */
const char *wt_play_now(void);

#endif /* WT_PLAY_H */
