/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What members tell each other about queries that have not failed: which
 * shuffles are open, and how; and that one has closed its query.
 *
 *   SHUFFLE  I have opened it, with this fingerprint. To all members, and again
 *            when a link opens. Who has it open otherwise answers DIFFER; who
 *            closed its query without it answers FAIL.
 *   CLOSE    I have closed the query, and done all of my part. Comes after the
 *            EDGE_OPENs of that part. Who still waits for rows of the sender
 *            repeats SHUFFLE, and has FAIL for an answer if they never come.
 *   DIFFER   This is how I have opened it. The receiver says in what its own
 *            side is another, and fails the query. If it does not, the sender
 *            of DIFFER does, who knows only its own side.
 *
 * So whoever waits asks, and who was asked has to remember only what it has
 * closed. Everything runs under the node's lock.
 */
#ifndef WI_AGREE_H
#define WI_AGREE_H

#include "core/link/engine.h"
#include "core/query/query.h"
#include "core/query/shuffle.h"

/** A shuffle was opened here: tell the other members of its query. */
void wi_shuffle_announce(const struct weir_shuffle *s);

/** A link is open: tell the peer of the shuffles that are open. */
void wi_query_announce(struct wi_link *l);

/** This member has done all of its part, and closes the query. */
void wi_query_tell_closed(const struct weir_query *q);

/** The peer opened a shuffle otherwise than this member: the query fails, and
 *  the peer, who knows both sides, says in what they differ. */
void wi_shuffle_differ(struct wi_link *l, const struct weir_shuffle *s);

/** A peer takes this node for a member of a query to which it does not belong
 *  itself, as opened here: it alone is told. */
void wi_query_turn_away(struct wi_link *l, uint64_t id);

/** An edge comes for a query that is not open here. True: it is over, nobody
 *  will read it; and it fails, if the shuffle never came to its end here. */
bool wi_query_over(struct wi_link *l, uint64_t id, uint32_t shuffle);

/** SHUFFLE, CLOSE, DIFFER came. */
void wi_query_on_agree(struct wi_link *l, const union wi_msg *m);

#endif /* WI_AGREE_H */
