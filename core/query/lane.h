/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Lanes: a writer's way to one consuming worker.
 *
 *   rows of a push --builder--> open frame in span --publish--> tail of ring
 *
 *   closed --open--> open, empty --rows--> open, has rows --publish--> closed
 *              ^----------------------- reopen (after a flush) ---------'
 *
 * Several lanes may share a ring (thread-to-node). Each of them fills its frame
 * in memory of its own, the stage, and publishing copies it to the ring; where
 * that has no room the finished frame stays in the stage (`staged`).
 *
 *   rows --builder--> open frame in stage --publish--> staged --> tail of ring
 *
 * A lane whose consumer wants no more is done; one whose END was written has
 * ended.
 *
 * All calls are made by the writer's worker; none waits.
 */
#ifndef WI_LANE_H
#define WI_LANE_H

#include "core/format/frame_build.h"
#include "core/query/writer.h"

static inline bool wi_lane_has_rows(const struct wi_lane *lane)
{
    return lane->staged != 0 ||
           (lane->open && wi_builder_rows(lane->builder) != 0);
}

/** Ready for frames? Notices stop-sending: the lane is done, and ended too if
 *  nobody reads its ring any more. */
bool wi_lane_ready(struct weir_writer *w, struct wi_lane *lane);

/** The lane gets no more rows; its END may still be owed. */
void wi_lane_drop(struct weir_writer *w, struct wi_lane *lane);

/* ---- frames -------------------------------------------------------------- */

/**
 * Find room for a frame in the lane's ring, and set its span to it.
 *
 * @param want   bytes of a full frame
 * @param least  bytes that are enough where the ring ends
 *
 * Returns: false: the ring is full, and the worker is woken when there is room;
 *          or there is no memory, and the query has failed
 */
bool wi_lane_room(struct weir_writer *w, struct wi_lane *lane, uint32_t want,
                  uint32_t least);

/** Open an empty frame; false: no room, as wi_lane_room(). */
bool wi_lane_open(struct weir_writer *w, struct wi_lane *lane);

/** After a flush: open the next frame, if there is room for it, while the
 *  consumer is busy with the last one. */
void wi_lane_reopen(struct weir_writer *w, struct wi_lane *lane);

/** Finish the open frame and publish it; without rows it is only closed. A
 *  frame in a stage may find no room: then it stays there, the worker is woken
 *  when there is room, and the next call of this or of wi_lane_open() sends
 *  it. */
void wi_lane_publish(struct weir_writer *w, struct wi_lane *lane,
                     enum wi_follows follows);

/** Make the finished frame in the span, `bytes` long, visible to the consumer,
 *  and tell the consumer. */
void wi_lane_put(struct weir_writer *w, struct wi_lane *lane, uint32_t bytes,
                 enum wi_follows follows);

/** At the beginning of a push, prefetch the first lines of the next frames. The
 *  consumers had them last, and after the last publish: one that waits for each
 *  frame has its cache prefetch into the next. */
void wi_lanes_fetch(const struct weir_writer *w);

/* ---- the consumer -------------------------------------------------------- */

/** The lane waits for its consumer to read, or to wait for what was sent. The
 *  consumer of a posted ring was told that more comes, and keeps credit
 *  back. */
void wi_lane_ask_credit(struct wi_lane *lane);

/** Has the consumer taken all that was published in this lane? Ask after
 *  setting `producer_waits`. */
bool wi_lane_is_drained(const struct wi_lane *lane);

/** Does the consumer wait, with nothing of this lane to read? */
bool wi_lane_consumer_waits(const struct wi_lane *lane);

/** Now, by the clock of lane.sent_ns. */
uint64_t wi_lane_now(const struct weir_writer *w);

#endif /* WI_LANE_H */
