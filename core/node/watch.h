/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Watches: since when a number has been what it is, for reports.
 *
 *   watch_ns    looks at the number       what a report says at t
 *   0 s         7: since 0 s
 *   1 s         9: since 1 s
 *   2 s         9                         "for t - 1 s", and up to 1 s more
 *
 * Nobody reads a clock when a row moves. The engine looks at the positions of
 * all rings once in a while (wi_watch_tick) and remembers when it found each one
 * changed; so a time is short by one period at most. A query in which nothing
 * changed for stall_ns logs what it waits for.
 *
 * Everything here runs under the node's lock. What workers write is read with
 * relaxed atomics: a number may be a moment old.
 */
#ifndef WI_WATCH_H
#define WI_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct wi_engine;

/** Zeroed memory is a watch that has not looked yet. */
struct wi_watch {
    uint64_t seen; /* 1 more than the number, 0: has not looked */
    uint64_t since_ns;
};

/** Look at a number. True: it is another one than before. */
static inline bool wi_watch_look(struct wi_watch *w, uint64_t number,
                                 uint64_t now_ns)
{
    if (w->seen == number + 1) {
        return false;
    }
    w->seen = number + 1;
    w->since_ns = now_ns;
    return true;
}

/** The number as it was at the last look. */
static inline uint64_t wi_watch_number(const struct wi_watch *w)
{
    return w->seen - 1;
}

/** Look at everything that a report gives a time for. */
void wi_watch_all(struct wi_engine *e);

/** A query was opened: it is watched from now on. */
void wi_watch_start(struct wi_engine *e);

/** Look if it is time, and log what a query waits for that stands still. */
void wi_watch_tick(struct wi_engine *e);

#endif /* WI_WATCH_H */
