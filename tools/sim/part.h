/* SPDX-License-Identifier: Apache-2.0 */
/** A query on one of its members: opened by its first worker, run by all of
 *  them, closed by the last, or by whoever hears that it has failed. */
#ifndef WS_PART_H
#define WS_PART_H

#include "tools/sim/world.h"

/** Begin a query on those of its members that are there. */
void ws_query_begin(struct ws_world *w, uint32_t query);

/** Open its query and shuffles. WEIR_AGAIN: a member is not known here yet. */
weir_err ws_part_open(struct ws_part *p);

/** A worker has done all of its. */
void ws_part_leave(struct ws_part *p);

/** End it here and now: what failed it is its outcome. */
void ws_part_fail(struct ws_part *p, weir_err code);

/** The same, since its node dies. */
void ws_part_die(struct ws_part *p);

/** Cancel it on all members. */
void ws_part_cancel(struct ws_part *p, const char *reason);

/** Does it still run? */
static inline bool ws_part_lives(const struct ws_part *p)
{
    return p->state == WS_AWAITED || p->state == WS_RUNNING;
}

/** A member of a query is gone for good, and some may not have noticed: the
 *  program calls the query off where it still runs or is to be opened. */
void ws_query_call_off(struct ws_world *w, uint32_t query);

/** Rows that were sent so far over an edge of a stage. */
uint64_t ws_part_sent(const struct ws_part *p, uint32_t stage, uint32_t worker,
                      uint32_t dest);

/** Wake its workers: something is to be looked at. */
void ws_part_wake(struct ws_part *p);

#endif /* WS_PART_H */
