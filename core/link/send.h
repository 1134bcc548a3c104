/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Control messages on their way out; post.c puts them into packets. Engine
 * only, under the node's lock.
 */
#ifndef WI_SEND_H
#define WI_SEND_H

#include "core/link/engine.h"
#include "core/link/link.h"

/** Queue a control message (the self link delivers it in the next step). A peer
 *  that leaves more of them unread than honest traffic makes loses the link. */
void wi_link_send(struct wi_link *l, const union wi_msg *m);

/** The same, but it may wait for the engine's next step or a message that is
 *  sent before, so that several cost one packet. */
void wi_link_send_soon(struct wi_link *l, const union wi_msg *m);

/** The same, but nobody is woken for it: it leaves with the next frame or
 *  message to that peer, with the engine's next step, or before a worker of
 *  this node sleeps. On the self link, which has none of these, a step is made
 *  at once: its consumer may sleep already. */
void wi_link_send_with(struct wi_link *l, const union wi_msg *m);

/** The same, but nobody waits for it: it leaves with whatever is sent next to
 *  that peer, at the latest with the next tick. */
void wi_link_send_late(struct wi_link *l, const union wi_msg *m);

/** Send what is queued, but for what is late. */
void wi_links_flush(struct wi_engine *e);
/** And what is late. */
void wi_links_flush_late(struct wi_engine *e);

/* Hints are messages that the peer can do without. A link on which so many
 * messages wait takes none: it is slow as it is. */
#define WI_HINTS_MAX 4096u

/** May n hints be sent now? */
bool wi_link_takes_hints(const struct wi_link *l, uint32_t n);

/** Send one that the link takes, as wi_link_send_soon does. False: there is no
 *  memory for it. The link goes on. */
bool wi_link_hint(struct wi_link *l, const union wi_msg *m);

/** A message that names an edge and nothing else. */
void wi_edge_fill(union wi_msg *m, enum wi_msg_type type, uint32_t edge,
                  uint32_t epoch);
/** Send one. */
void wi_edge_send(struct wi_link *l, enum wi_msg_type type, uint32_t edge,
                  uint32_t epoch);

/** Send a PING: a question or an answer (WI_PING_*). Not queued, so a peer that
 *  asks and does not read piles up no answers. */
void wi_link_ping(struct wi_link *l, uint32_t what);

/** How many messages wait. */
uint32_t wi_link_queued(const struct wi_link *l);

#endif /* WI_SEND_H */
