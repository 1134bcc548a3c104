/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Watches: since when a number has not changed, for reports.
 *
 *   time of the look   the number   what a report says at t
 *   0 s                7            "since 0 s"
 *   1 s                9            "since 1 s"
 *   2 s                9            "for t - 1 s", and up to 1 s more
 *
 * Nobody reads a clock when a row moves. The engine looks at the positions of
 * all rings once in a period and remembers when it found each one changed; so
 * a time is short by one period at most.
 *
 * Everything here runs under the node's lock.
 */
#ifndef WI_WATCH_H
#define WI_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/** Zeroed memory is a watch that has not looked yet. */
struct wi_watch {
    uint64_t seen; /* 1 more than the number, 0: has not looked */
    uint64_t since_ns;
};

/** Look at a number. True: it has changed. */
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

/** Time between two looks: an eighth of stall_ns, at most 1 s. */
static inline uint64_t wi_watch_period(uint64_t stall_ns)
{
    const uint64_t most_ns = 1000000000;
    return stall_ns / 8 < most_ns ? stall_ns / 8 : most_ns;
}

#endif /* WI_WATCH_H */
