/* SPDX-License-Identifier: Apache-2.0 */
/** Nodes that break the protocol, and frames that come damaged. */
#ifndef WS_HOSTILE_H
#define WS_HOSTILE_H

#include "tools/sim/world.h"

/** Remember what nodes say, where the schedule has something hostile. */
void ws_hostile_open(struct ws_world *w);
void ws_hostile_close(struct ws_world *w);

/** Damage a frame, or do something hostile: `value` says how. */
void ws_hostile_strike(struct ws_world *w, const struct ws_fault *f);

/** Something has landed, as wi_simnet_watch has it. */
void ws_hostile_landed(struct ws_world *w, uint32_t from, uint32_t to,
                       bool message, uint8_t *bytes, uint32_t len);

/** Is nothing wrong in this run but what hostile nodes do? */
bool ws_hostile_alone(const struct ws_world *w);

#endif /* WS_HOSTILE_H */
