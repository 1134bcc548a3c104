/* SPDX-License-Identifier: Apache-2.0 */
/** The buffers that receive, and their way back into the receive queue. */
#ifndef WI_VERBS_RECEIVE_H
#define WI_VERBS_RECEIVE_H

#include "transport/verbs/verbs.h"

/** Post receives again that were handed out. */
void wi_vb_refill(struct vb_transport *t);

/** Post the receive buffers of a slab for the first time: in the shared queue,
 *  or (ep set) in the endpoint's own. */
void wi_vb_feed(struct vb_transport *t, struct vb_ep *ep,
                const struct vb_slab *slab);

/** A buffer was handed out: it is posted again by the next refill. ep: whose it
 *  was, NULL if that has gone. */
void wi_vb_hold(struct vb_transport *t, uint32_t buf, struct vb_ep *ep);

#endif /* WI_VERBS_RECEIVE_H */
