/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Walking over what lies in a ring. A thread-to-thread ring is walked by its
 * reader; a thread-to-node ring by whoever finds it marked (the dispatcher), who
 * puts each frame on the local queue of its worker.
 *
 * What lies in a ring was written by a peer: a header is copied before it is
 * checked, and the checked copy is what is used from then on.
 */
#ifndef WI_SCAN_H
#define WI_SCAN_H

#include "core/link/edge.h"

/**
 * Take the next frame of a ring into a slot; by who scans it (see wi_in).
 *
 * Returns: WEIR_OK | WEIR_AGAIN (none now) | WEIR_DONE (look again)
 * Errors:  what the query is to fail with (err): the peer wrote nonsense
 */
weir_err wi_in_scan(struct wi_in *in, struct wi_held **slot_out,
                    struct weir_error *err);

/** The reader of a ring waits for more: credits that were held back are sent,
 *  and from now on at once. By who scans the ring. */
void wi_in_reader_waits(struct wi_in *in);

/** The ring has a dispatcher (node ring): put its new frames on the local queues
 *  of their workers. A ring that is broken goes to the engine's queue of
 *  failures. Any thread. */
void wi_in_dispatch(struct wi_in *in);

#endif /* WI_SCAN_H */
