/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Faults take effect, and end.
 *
 *   next = ws_strike_next; run the world until then; ws_strike_due; ...
 */
#ifndef WS_STRIKE_H
#define WS_STRIKE_H

#include "tools/sim/world.h"

enum { WS_EVENTS = 2 * WS_FAULTS };

/** Beginnings and ends of the schedule's faults, in order. */
struct ws_strikes {
    uint32_t n;
    uint32_t next;
    struct ws_strike {
        uint64_t at_ns;
        const struct ws_fault *fault;
        bool end;
    } strike[WS_EVENTS];
};

void ws_strikes_init(struct ws_strikes *s, const struct ws_schedule *schedule);

/** When the next one is; UINT64_MAX: there is none. */
uint64_t ws_strikes_next(const struct ws_strikes *s);

/** Do what is due. */
void ws_strikes_due(struct ws_strikes *s, struct ws_world *w);

/** A node that is to leave is removed once no member has yet to open a query.
 */
void ws_strike_leaves(struct ws_world *w);

#endif /* WS_STRIKE_H */
