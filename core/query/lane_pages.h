/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Pages of a mapped ring, taken when its producer first comes to them.
 *
 *   ring  | pages_bytes: taken | not yet                         | size
 *         | 2 KiB | 8 KiB | 32 KiB | full frame | full frame ... |
 *
 * Frames begin small and grow while they are filled, so that a ring that
 * carries a few rows, or only its end, costs a page and not a whole ring. Once
 * the ring has all its pages, nothing here is called any more; the ring that
 * has its place next finds them there.
 *
 * All calls are made by the writer's worker. They wait for the kernel to clear
 * pages, and for nothing else.
 */
#ifndef WI_LANE_PAGES_H
#define WI_LANE_PAGES_H

#include "core/query/writer.h"

/** Take the pages under the lane's span. False: there is no memory, and the
 *  query has failed. */
bool wi_lane_take_pages(struct weir_writer *w, const struct wi_lane *lane);

/** Bytes of the next frame of a ring that grows. */
uint32_t wi_lane_start_bytes(const struct weir_writer *w,
                             const struct wi_lane *lane);

/** A frame of `bytes` was published in a ring that grows. */
void wi_lane_grow(struct wi_out *o, uint32_t bytes);

#endif /* WI_LANE_PAGES_H */
