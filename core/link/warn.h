/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Warnings that a peer can cause as often as it likes. For each peer, the first
 * of a kind is logged at once; then one line a second says how many more there
 * were. Engine only, under the node's lock.
 */
#ifndef WI_WARN_H
#define WI_WARN_H

#include <stdint.h>

#include "core/base/cc.h"

struct wi_engine;

#define WI_STRANGER UINT32_MAX /* who has not said which member it is */

enum wi_cause {
    WI_CAUSE_CONNECT,
    WI_CAUSE_LOST,
    WI_CAUSE_REFUSED,
    WI_CAUSE_JOIN,
    WI_CAUSE_CROWD,
    WI_CAUSE_OUTSIDE,
    WI_CAUSES,
};

/** Lets one warning of a kind through in a while. */
struct wi_gate {
    uint64_t open_ns;
    uint32_t held; /* since the last one */
};

/** Warn about a member, or a stranger. */
void wi_warn(struct wi_engine *e, uint32_t member, enum wi_cause cause,
             const char *fmt, ...) WI_PRINTF(4, 5) WI_COLD;

/** Log how many were held back, where that is due. */
void wi_warn_tick(struct wi_engine *e);

#endif /* WI_WARN_H */
