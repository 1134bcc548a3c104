/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Queries that fail though nobody says so: a peer is lost, a deadline has
 * passed, this node closes.
 *
 *   lost --> judge --> query_fail
 *
 * Engine only, under the node's lock.
 */
#ifndef WI_LOST_H
#define WI_LOST_H

#include "core/link/engine.h"

/** A link is lost, and its peer with it: every query that the peer belongs to
 *  fails, here as soon as the query's judge says so. */
void wi_query_peer_lost(const struct wi_link *l, weir_err code,
                        const char *why);

/** A link is gone, lost or not: ask the peer again if it owes an answer, and
 *  repeat what may not have been delivered. */
void wi_query_unlinked(const struct wi_link *l);

/** This node closes and opens no more queries: fail those that have edges to it
 *  and that it has not opened. */
void wi_query_decline(struct wi_link *l);

/** Deadlines; returns the next one. */
uint64_t wi_query_deadlines(struct wi_engine *e, uint64_t now_ns);

#endif /* WI_LOST_H */
