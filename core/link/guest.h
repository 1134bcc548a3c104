/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Guests: accepted endpoints that have not said who they are. Engine only,
 * under the node's lock.
 *
 *   ACCEPTED -> guest --KNOCK, PROOF--> answered (say.h), with a secret
 *                     --HELLO--> wi_link_hello(), perhaps after a wait
 *                     --JOIN---> wi_seed_message()
 *                     --anything else--> refused
 *                     --nothing for connect_ns--> let go
 *
 * There are WI_GUESTS places for those that have said nothing, and max_members
 * for those whose HELLO has to wait; when they are taken, the oldest goes.
 */
#ifndef WI_GUEST_H
#define WI_GUEST_H

#include "core/link/engine.h"

#define WI_GUESTS 32u /* places of those that have said nothing */

struct wi_guest {
    struct wi_list list;
    struct wi_ep *ep;
    uint64_t deadline_ns;
    bool has_hello;     /* came before we joined */
    union wi_msg hello; /* the last message */
};

/** An event of an endpoint without a link: a new one, a guest's, a joiner's. */
void wi_guest_event(struct wi_engine *e, const struct wi_event *ev);

/** Answer those whose HELLO came before this node had joined, or while an
 *  older link to them was still there. */
void wi_guests_greet(struct wi_engine *e);

/** Let go of endpoints that never said who they are. @param late_ns  as of
 *  wi_newcomers_tick() */
void wi_guests_tick(struct wi_engine *e, uint64_t late_ns);

/** Let go of all. */
void wi_guests_close(struct wi_engine *e);

#endif /* WI_GUEST_H */
