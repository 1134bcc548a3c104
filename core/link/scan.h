/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Walking over the frames in a ring. A thread-to-thread ring is walked by its
 * reader; a thread-to-node ring by whoever finds it marked (the dispatcher),
 * who puts each frame on the local queue of its worker.
 *
 * A peer wrote what lies in a ring: a header is copied before it is checked,
 * and from then on only the copy is used.
 */
#ifndef WI_SCAN_H
#define WI_SCAN_H

#include "core/link/edge.h"

/**
 * Take the next frame of a ring into a slot; by its scanner (see wi_in).
 *
 * Returns: WEIR_OK | WEIR_AGAIN (none now) | WEIR_DONE (look again)
 * Errors:  what the query is to fail with (err): the peer wrote nonsense
 */
weir_err wi_in_scan(struct wi_in *in, struct wi_held **slot_out,
                    struct weir_error *err);

/** The reader of a ring waits for more: send credits that were held back, and
 *  later ones at once. By whoever scans the ring. */
void wi_in_reader_waits(struct wi_in *in);

/** A node ring may have data: dispatch it, or, if any worker may take from it,
 *  make it ready and wake one that is hungry. Any thread. */
void wi_in_came(struct wi_in *in);

/** Put the new frames of a node ring on the local queues of their workers. A
 *  broken ring goes to the engine's queue of failures. Any thread. */
void wi_in_dispatch(struct wi_in *in);

#endif /* WI_SCAN_H */
