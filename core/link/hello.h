/* SPDX-License-Identifier: Apache-2.0 */
/**
 * HELLO, ACCEPT, READY: what a side of a link says of itself, and what it
 * makes of what the other one says: areas, rings and bells. Engine only, under
 * the node's lock.
 */
#ifndef WI_HELLO_H
#define WI_HELLO_H

#include "core/link/engine.h"
#include "core/link/link.h"

/** Numbers of this node and of its peer, as they are said over this link. */
uint32_t wi_hello_own(const struct wi_link *l);
uint32_t wi_hello_peer(const struct wi_link *l);

/** What this side says of itself. */
void wi_hello_fill(const struct wi_link *l, union wi_msg *m,
                   enum wi_msg_type type);

/** Grant our side to the peer and say so in h. Errors: as grant */
weir_err wi_hello_grant(struct wi_link *l, struct wi_msg_hello *h,
                        struct weir_error *err);

/** Take what ACCEPT or READY says of the peer's side. Errors: the link cannot
 *  be used */
weir_err wi_hello_take(struct wi_link *l, const struct wi_msg_hello *h,
                       struct weir_error *err);

/** The link has its final endpoint: find what travels over it. Errors: no
 *  memory, or none left of what it may be */
weir_err wi_hello_settle(struct wi_link *l, struct weir_error *err);

#endif /* WI_HELLO_H */
