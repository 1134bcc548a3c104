/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Newcomers: nodes that join a cluster which runs, through its seed. Engine
 * only, under the node's lock.
 *
 *   newcomer                       seed                        members
 *   JOIN, n_members 0 --------->   keeps a number for it
 *        <--- MEMBER 0 .. n-2
 *                                  it is a member now
 *        <--- MEMBER n-1                     ---MEMBER (news.h)--->
 *   closes the connection
 *
 * One that goes before its list is complete leaves nothing behind. A name that
 * is known is that member, started again: it keeps its number. There is at most
 * one newcomer for each number, and each has connect_ns.
 */
#ifndef WI_NEWCOMER_H
#define WI_NEWCOMER_H

#include "core/link/engine.h"

/** A JOIN came to a seed whose cluster is complete. Takes ep on WEIR_OK.
 *
 *  Errors: WEIR_ERR_PEER_REFUSED (says why), WEIR_ERR_STATE (try again),
 *  WEIR_ERR_NO_MEMORY */
weir_err wi_newcomer_take(struct wi_engine *e, struct wi_ep *ep,
                          const struct wi_msg_member *m,
                          struct weir_error *err);

/** An event of an endpoint that may be a newcomer's. */
void wi_newcomer_event(struct wi_engine *e, const struct wi_event *ev);

/** Timer: let go of those who take too long. @param late_ns  how late the
 *  timer is: this node stood still, which is nobody's fault */
void wi_newcomers_tick(struct wi_engine *e, uint64_t late_ns);

/** Let go of all. */
void wi_newcomers_close(struct wi_engine *e);

#endif /* WI_NEWCOMER_H */
