/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Queries that stand still: looks at the positions of all rings once in a
 * period (core/base/watch.h), and logs what a query waits for in which nothing
 * changed for stall_ns. Under the node's lock; what workers write is read with
 * relaxed atomics: a number may be a moment old.
 */
#ifndef WI_STALL_H
#define WI_STALL_H

struct wi_engine;

/** Look at everything that a report gives a time for. */
void wi_watch_all(struct wi_engine *e);

/** Look if it is time, and log what a query waits for that stands still. */
void wi_stall_tick(struct wi_engine *e);

#endif /* WI_STALL_H */
