/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Regions and asks beside the queries: each node lends a region, answers asks,
 * and gets, puts and asks at random from all others, until it has done so often
 * enough. Every operation ends once, with the right bytes or for a reason.
 */
#ifndef WS_WARES_H
#define WS_WARES_H

#include "tools/sim/world.h"

/** Open on all nodes. Errors: those of the calls; a finding. */
void ws_wares_open(struct ws_world *w);

/** A node is killed: what it has ends with it. */
void ws_wares_die(struct ws_world *w, uint32_t node);

/** Close all; before the nodes are. */
void ws_wares_close(struct ws_world *w);

/** Free what nodes could still use until they were closed. */
void ws_wares_free(struct ws_world *w);

/** Operations that have not ended, on all nodes. */
uint32_t ws_wares_left(const struct ws_world *w);

#endif /* WS_WARES_H */
