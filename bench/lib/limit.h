/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The limit: the library's own loops with the exchange taken out.
 *
 *   make --split A--> frame per destination --view, split B--> frame per
 *   destination --view--> count and sum
 *
 * Every worker runs the partitioner and the frame builder exactly as a writer
 * does, with as many destinations, into frames of its own that stay in cache;
 * a full frame is consumed at once, by the same worker, as a reader's program
 * would. No ring, no other process, no waiting, no checksum, no check of what
 * arrives: what remains is what any exchange of this design must cost. Both
 * stages are run, so that seconds compare with those of the other opponents.
 */
#ifndef WB_LIMIT_H
#define WB_LIMIT_H

#include "bench/lib/plan.h"

extern const struct wb_engine_ops wb_limit_engine;

#endif /* WB_LIMIT_H */
