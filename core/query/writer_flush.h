/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Frames that go out before they are full.
 *
 *   push, poll ----> flush_waiting    consumers that wait for them
 *   worker sleeps -> flush_idle       consumers that have nothing else
 *
 *   writer                   a part-filled frame to a consumer that waits goes
 *   gets few rows, or polls  100 us after the last one of its lane, or at once
 *   maps the ring            the same
 *   is busy                  one per 256 KiB that the writer is given; any
 *                            other 20 ms after the last one of its lane, of a
 *                            lane that has sent none 20 ms after a first look
 *   has waited just now      the same, for 100 us; or was opened just now
 *   sleeps                   at once
 *
 * Times of posted rings are those of the worker's run clock: where workers
 * outnumber processors a busy one would look slow by the clock on the wall, and
 * its consumers, which only wait for their turn, as if they starved.
 *
 * All calls are made by the writer's worker; none waits.
 */
#ifndef WI_WRITER_FLUSH_H
#define WI_WRITER_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

struct weir_writer;

/** A push begins: the first one since the worker has waited? */
void wi_writer_flow(struct weir_writer *w);

/** Consumers that wait get what there is, unless the frame will soon be full.
 *  Looks at a limited number of lanes, in turn.
 *
 *  @param pushed  a push has ended; false: the producer has no rows now */
void wi_writer_flush_waiting(struct weir_writer *w, bool pushed);

/** Before a worker sleeps: publish part-filled frames for consumers that have
 *  nothing else from us. Under the node's lock. True: some were left, of
 *  streams that published within `keep_ns`. */
bool wi_writer_flush_idle(struct weir_writer *w, uint64_t keep_ns);

#endif /* WI_WRITER_FLUSH_H */
