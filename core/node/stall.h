/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Queries that stand still: once in a period (core/base/watch.h) the positions
 * of all rings are looked at, and if nothing has changed in a query for
 * stall_ns, the log says what it waits for. Under the node's lock; what workers
 * write is read with relaxed atomics: a number may be a moment old.
 */
#ifndef WI_STALL_H
#define WI_STALL_H

struct wi_engine;

/** Look at everything that a report gives a time for. */
void wi_watch_all(struct wi_engine *e);

/** If it is time, look, and log what waits in queries that stand still. */
void wi_stall_tick(struct wi_engine *e);

#endif /* WI_STALL_H */
