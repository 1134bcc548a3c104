/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Warnings that a peer can cause as often as it likes. Of each kind, and for
 * each peer, the first is logged at once; then one line a second says how many
 * more there were. Engine only, under the node's lock.
 */
#ifndef WI_WARN_H
#define WI_WARN_H

#include "core/link/engine.h"

#define WI_STRANGER UINT32_MAX /* who has not said which member it is */

/** Warn about a member, or a stranger. */
void wi_warn(struct wi_engine *e, uint32_t member, enum wi_cause cause,
             const char *fmt, ...) WI_PRINTF(4, 5) WI_COLD;

/** Say what was held back, where that is due. */
void wi_warn_tick(struct wi_engine *e);

#endif /* WI_WARN_H */
