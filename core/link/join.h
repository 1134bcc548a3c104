/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Joining through a seed. Engine only, under the node's lock.
 *
 *   joiner                         seed
 *   JOIN (name, address) ------->  numbers it
 *            ...                   all there:
 *          <------- MEMBER 0 .. n-1
 *
 * The endpoint is closed afterwards; links open when they are needed. Who comes
 * to a cluster that runs: newcomer.h.
 */
#ifndef WI_JOIN_H
#define WI_JOIN_H

#include "core/link/engine.h"

/** Begin. address NULL: this is the seed. n 0: the cluster runs. */
weir_err wi_join_start(struct wi_engine *e, const struct weir_seed *seed,
                       uint32_t n, struct weir_error *err);

/** WEIR_AGAIN: still going on; else how it ended. */
weir_err wi_join_result(struct wi_engine *e, struct weir_error *err);

/** The caller stops waiting: WEIR_ERR_TIMEOUT, saying who is there. */
weir_err wi_join_timeout(struct wi_engine *e, struct weir_error *err);

/** Free what the join held; a seed that succeeded goes on sending the list
 *  until everyone has it. */
void wi_join_end(struct wi_engine *e, bool ok);

/** An event of an endpoint that is neither a link's nor a guest's. */
void wi_join_event(struct wi_engine *e, const struct wi_event *ev);

/** Timers: new attempts. */
void wi_join_tick(struct wi_engine *e);

#endif /* WI_JOIN_H */
