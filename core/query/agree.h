/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What members tell each other about queries that have not failed: which
 * shuffles are open, and how; and that a member has closed its query.
 *
 *   SHUFFLE  I have opened it, with this fingerprint. Goes to all members, and
 *            again when a link opens. The answer is DIFFER if it is open there
 *            in another way, FAIL if the query was closed there without it.
 *   CLOSE    I have closed the query, and done all of my part. Comes after the
 *            EDGE_OPENs of that part. A member that still waits for rows of the
 *            sender repeats SHUFFLE; the answer is FAIL if they never come.
 *   DIFFER   This is how I have opened it. The receiver knows both sides: it
 *            fails the query and says in what they differ. If it does not, the
 *            sender of DIFFER fails the query, and names its own side only.
 *
 * So whoever waits asks, and a node has to remember only what it has closed.
 * Everything runs under the node's lock.
 */
#ifndef WI_AGREE_H
#define WI_AGREE_H

#include "core/link/engine.h"
#include "core/query/query.h"
#include "core/query/shuffle.h"

/** A shuffle was opened here: tell the other members of its query. */
void wi_shuffle_announce(const struct weir_shuffle *s);

/** A link is open: tell the peer of all open shuffles. */
void wi_query_announce(struct wi_link *l);

/** This member has done all of its part, and closes the query. */
void wi_query_tell_closed(const struct weir_query *q);

/** The peer opened a shuffle in another way: the query fails, and the peer,
 *  which knows both sides, says in what they differ. */
void wi_shuffle_differ(struct wi_link *l, const struct weir_shuffle *s);

/** A peer takes this node for a member of a query, but does not belong to it as
 *  it was opened here: tell the peer alone. */
void wi_query_turn_away(struct wi_link *l, uint64_t id);

/** Was the peer removed from the list of members here? Then this node opens no
 *  query with it any more: the peer is told of that one. */
bool wi_query_without(struct wi_link *l, uint64_t id);

/** An edge comes for a query that is not open here. True: the query is over,
 *  nobody will read the edge; if its shuffle never ended here, the query
 *  fails. */
bool wi_query_over(struct wi_link *l, uint64_t id, uint32_t shuffle);

/** SHUFFLE, CLOSE, DIFFER came. */
void wi_query_on_agree(struct wi_link *l, const union wi_msg *m);

#endif /* WI_AGREE_H */
