/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rings of ours that are in use: by readers here, and as the peer knows them.
 *
 *   EDGE_OPEN --> taken --CLOSED is queued--> late --it has left--> not taken
 */
#ifndef WI_IN_USE_H
#define WI_IN_USE_H

#include "core/link/edge.h"
#include "core/link/link.h"

/** Does a reader point to a stream of it? */
bool wi_in_has_readers(const struct wi_in *in);
/** May the end of it wait for the next message or tick? A reader will be
 *  closed, and its query, which is a message; and the peer has other units of
 *  ours. Any thread. */
bool wi_in_may_wait(const struct wi_in *in);
/** The peer has taken units of ours, or given them back. */
void wi_in_count_units(struct wi_link *l, int32_t n);
/** All messages to the peer have left. */
void wi_in_told(struct wi_link *l);

#endif /* WI_IN_USE_H */
