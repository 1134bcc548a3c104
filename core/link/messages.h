/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What comes from the transport: events, packets, messages. WI_MESSAGES
 * (core/format/wire.h) says which message may come in which states of a link,
 * and which function takes it. Engine only, under the node's lock.
 */
#ifndef WI_MESSAGES_H
#define WI_MESSAGES_H

#include "core/link/engine.h"
#include "core/link/link.h"

/** Take one event of the transport. */
void wi_link_event(struct wi_engine *e, const struct wi_event *ev);

/** Take one message, of the peer or, over the self link, of this node itself.
 *  An error: the peer broke the protocol, the link cannot go on. */
weir_err wi_link_message(struct wi_link *l, const union wi_msg *m,
                         struct weir_error *err);

#endif /* WI_MESSAGES_H */
