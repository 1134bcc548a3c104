/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Opponent "sockets": the thread-to-thread TCP exchange that the DAIS 2016
 * paper compares itself with, for the bench only.
 *
 *   worker --64 KiB buffer per destination--> blocking send, when full
 *                                                  |
 *   worker <--queue per worker and stage-- reader thread (one per node)
 *
 * What is done to make it a strong opponent:
 *   - TCP_NODELAY, one socket per pair of workers, used by one thread on each
 *     side, so sending takes no lock;
 *   - workers of one node hand buffers over without any socket;
 *   - the reader thread waits for all sockets with epoll and receives straight
 *     into the buffers that it queues: no copy after the kernel's;
 *   - a message fills its buffer, so a receive ends at a message's end, except
 *     for the last ones;
 *   - destinations are computed by the same vectorised code as for MPI;
 *   - buffers come from a last-in first-out pool and stay in cache;
 *   - workers take the last stage's rows first.
 *
 * Why it cannot deadlock: the reader thread never waits for a worker, its
 * queues are unbounded, so every blocking send ends.
 */
#ifndef WB_SOCKETS_H
#define WB_SOCKETS_H

#include "bench/lib/plan.h"

extern const struct wb_engine_ops wb_sockets_engine;

#endif /* WB_SOCKETS_H */
