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

enum { WI_EVENTS = 64 }; /* most of one poll */

/** Poll the transport and take its events, until a poll has fewer than
 *  `enough`, at most 16 times. Returns how many there were. */
uint32_t wi_link_events(struct wi_engine *e, uint32_t enough);

/** Take one message, of the peer or, over the self link, of this node itself.
 *  An error: the peer broke the protocol, the link cannot go on. */
weir_err wi_link_message(struct wi_link *l, const union wi_msg *m,
                         struct weir_error *err);

#endif /* WI_MESSAGES_H */
