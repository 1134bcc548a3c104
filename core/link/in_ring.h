/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Giving ring space back. Any thread releases batches in any order; the head of
 * the ring moves over the released prefix. Whoever finds `advancing` free does
 * it for all, as with the post lock of a link. Any thread.
 */
#ifndef WI_IN_RING_H
#define WI_IN_RING_H

#include "core/link/edge.h"

/** Hand the released prefix of a ring back to its producer. */
void wi_in_advance(struct wi_in *in);
/** Wake the producer of a mapped ring that waits for room. */
void wi_in_wake_producer(struct wi_in *in);
/** A ring has data for a worker of this node: mark it. */
void wi_in_mark(struct wi_in *in, uint32_t worker);
/** Nobody will read any more; tell the engine once everything is released. */
void wi_in_finish_when_empty(struct wi_in *in);

#endif /* WI_IN_RING_H */
