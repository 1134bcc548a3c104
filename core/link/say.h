/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Messages over endpoints that are not links: of guests, joiners and seeds. Who
 * has to prove something does it below (prove.h); what is said afterwards is
 * sealed. Engine only, under the node's lock.
 */
#ifndef WI_SAY_H
#define WI_SAY_H

#include "core/link/engine.h"

/** Queue a message, in a packet of its own. Errors: as send */
weir_err wi_ep_say(struct wi_ep *ep, const union wi_msg *m);

/** Send REFUSE, and let go of the endpoint. */
void wi_ep_refuse(struct wi_engine *e, struct wi_ep *ep, weir_err code,
                  const char *text);

/**
 * Take the next message of a packet. What is about identity is answered.
 *
 * @param at  [in, out] offset in the packet
 *
 * Returns:    WEIR_OK | WEIR_DONE (the packet has ended)
 * Errors:     WEIR_ERR_PEER_PROTOCOL, and those of identity: refuse it
 */
weir_err wi_ep_hear(struct wi_engine *e, const struct wi_event *ev,
                    uint32_t *at, union wi_msg *m, struct weir_error *err);

#endif /* WI_SAY_H */
