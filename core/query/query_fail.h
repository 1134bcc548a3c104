/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Queries that fail: on every member, for one cause.
 *
 *   found by one member (cancel, abort)      wi_query_call_off(): tells all
 *   found by several at once (a lost peer)   wi_query_report(): asks the judge
 *                                            (judge.h)
 *   told by another member                   wi_query_fail(): passes it on
 *
 * What nobody says, as the loss of a peer, is in lost.h. Engine only, under the
 * node's lock.
 */
#ifndef WI_QUERY_FAIL_H
#define WI_QUERY_FAIL_H

#include "core/link/engine.h"
#include "core/query/query.h"
#include "core/query/tomb.h"

/** Fail a query here and on its other members. First error wins. */
void wi_query_fail(struct weir_query *q, weir_err code, const char *text);

/** Fail it for a cause that only this member knows. */
void wi_query_call_off(struct weir_query *q, weir_err code, const char *text);

/** `what` was closed too early, `why` says what is missing: fail it on all
 *  members, unless it is about to fail for what the judge says. */
void wi_query_abort(struct weir_query *q, const char *what, const char *why);

/** Fail a query that is closed here, for the members that have it open. */
void wi_tomb_fail(struct wi_engine *e, struct wi_tomb *t, weir_err code,
                  const char *text);

/** Tell one peer, and nobody else, that a query fails for it. */
void wi_query_answer(struct wi_link *l, uint64_t id,
                     const struct weir_error *why);

/** The link over which another member can be told something; NULL: none now.
 *  What a closing link no longer delivers, the next one repeats:
 *  wi_query_unlinked(), wi_query_tell_failed(). */
struct wi_link *wi_query_link(struct wi_engine *e, uint32_t member);

/** Tell a peer of the queries that failed before its link was open. */
void wi_query_tell_failed(struct wi_link *l);

/** FAIL came. */
void wi_query_on_fail(struct wi_link *l, const struct wi_msg_fail *m);

/** Stop producers that have an edge to a query that is not open here, any more
 *  or yet. */
void wi_query_stop_strays(struct wi_engine *e, uint64_t id);

#endif /* WI_QUERY_FAIL_H */
