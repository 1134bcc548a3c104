/* SPDX-License-Identifier: Apache-2.0 */
/** Members that break the protocol: what a node sends is changed on its way, or
 *  added to. Its own engine knows nothing of it. */
#ifndef WS_HOSTILE_H
#define WS_HOSTILE_H

#include "tools/sim/world.h"

/** Damage a frame, or do something hostile: `value` says how. */
void ws_hostile_strike(struct ws_world *w, const struct ws_fault *f);

/** Something has landed, as wi_simnet_watch has it. */
void ws_hostile_landed(struct ws_world *w, uint32_t from, uint32_t to,
                       bool message, uint8_t *bytes, uint32_t len);

#endif /* WS_HOSTILE_H */
