/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The handshake of a link: from an endpoint to what each side may use of the
 * other's. link.h has the states. Engine only, under the node's lock.
 */
#ifndef WI_HANDSHAKE_H
#define WI_HANDSHAKE_H

#include "core/link/engine.h"
#include "core/link/link.h"

/** The endpoint of a link that this side opens is up: say HELLO, or first prove
 *  who we are. */
void wi_link_connected(struct wi_link *l);

/** A message has come, `bytes` as it was sent: take what is about identity, and
 *  see that the rest is sealed until the link is open. Returns WEIR_OK: it is
 *  to be taken, WEIR_AGAIN: it was taken. An error: the link cannot go on */
weir_err wi_link_hear(struct wi_link *l, const union wi_msg *m,
                      const void *bytes, struct weir_error *err);

/** Give up our own attempt: the link starts again, without ep. False: not now,
 *  a thread posts. */
bool wi_link_drop_attempt(struct wi_link *l);

/** ACCEPT, READY, REFUSE came, in their states. */
weir_err wi_link_on_accept(struct wi_link *l, const union wi_msg *m,
                           struct weir_error *err);
weir_err wi_link_on_ready(struct wi_link *l, const union wi_msg *m,
                          struct weir_error *err);
weir_err wi_link_on_refuse(struct wi_link *l, const union wi_msg *m,
                           struct weir_error *err);

/** HELLO came over an endpoint that has no link: the endpoint gets one, or is
 *  refused. */
void wi_link_hello(struct wi_engine *e, struct wi_ep *ep,
                   const struct wi_msg_hello *h);

/** Is it too early to answer this HELLO? It is until this node has joined and
 *  knows a member of that number, and while an older link to that peer is still
 *  there. */
bool wi_link_must_wait(const struct wi_engine *e, const struct wi_msg_hello *h);

/** Is this HELLO from a member that this node, which has joined, was not told
 *  of? */
bool wi_link_unknown(const struct wi_engine *e, const struct wi_msg_hello *h);

/** wi_ep_refuse() with a line in the log. */
void wi_link_refuse(struct wi_engine *e, struct wi_ep *ep, weir_err code,
                    const char *text);

#endif /* WI_HANDSHAKE_H */
