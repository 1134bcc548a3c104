/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Messages and frames that are well-formed but for one field, which gets a
 * value at one of the bounds that a receiver has to look at: none, one, the
 * most, one less, its own limit and beside it, what would be right and beside
 * that.
 */
#ifndef WS_FORGE_H
#define WS_FORGE_H

#include "core/link/engine.h"
#include "tools/sim/random.h"

/** Change a field of a message of `len` bytes, which `e` is to get. */
void ws_forge_message(struct ws_random *r, const struct wi_engine *e,
                      uint8_t *bytes, uint32_t len);

/** The same of a frame, which has no checksum then. */
void ws_forge_frame(struct ws_random *r, const struct wi_engine *e,
                    uint8_t *bytes, uint32_t len);

/** The message at `at` of a packet: its bytes, 0 if there is none. */
uint32_t ws_forge_next(const uint8_t *packet, uint32_t len, uint32_t at);

#endif /* WS_FORGE_H */
