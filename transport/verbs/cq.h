/* SPDX-License-Identifier: Apache-2.0 */
/** The completion queue of a transport: what was sent, and what has
 *  arrived. */
#ifndef WI_VERBS_CQ_H
#define WI_VERBS_CQ_H

#include "transport/verbs/verbs.h"

/** Completion queue, channel and shared receive queue. */
weir_err wi_vb_cq_open(struct vb_transport *t, struct weir_error *err);

/** Poll, and turn completions into events; returns how many. */
uint32_t wi_vb_cq_poll(struct vb_transport *t, struct wi_event *events,
                       uint32_t max);

/** Have kick add something, and the core call kick. */
void wi_vb_want(struct vb_ep *ep, enum vb_ack what);

/** Does the peer wait to hear what has arrived? If so, have it told. */
bool wi_vb_ep_owes(struct vb_ep *ep);
void wi_vb_ep_owed(struct vb_ep *ep);

/** Nothing is left to look at. */
bool wi_vb_cq_idle(const struct vb_transport *t);

/** Forget what completions and buffers say of an endpoint whose queue pair is
 *  gone. */
void wi_vb_cq_forget(struct vb_ep *ep, uint32_t qp_num);

/** Ask for a notification. WEIR_AGAIN: something is there already. */
weir_err wi_vb_cq_arm(struct vb_transport *t);

/** Read notifications. */
void wi_vb_cq_drain(struct vb_transport *t);

#endif /* WI_VERBS_CQ_H */
