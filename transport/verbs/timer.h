/* SPDX-License-Identifier: Apache-2.0 */
/** What is due at a time, on one transport. Engine only; nothing blocks. */
#ifndef WI_VERBS_TIMER_H
#define WI_VERBS_TIMER_H

#include "transport/verbs/verbs.h"

/** Send acknowledgements that found no message to travel with, and are due
 *  within soon_ns: a sleep should not be cut short for them. */
void wi_vb_pay(struct vb_transport *t, uint64_t soon_ns);

/** Speak again to peers that were connected to and have said nothing yet. */
void wi_vb_nudge(struct vb_transport *t);

/** Have the timer fire when the first wait ends. */
void wi_vb_set_timer(struct vb_transport *t);

#endif /* WI_VERBS_TIMER_H */
