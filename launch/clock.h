/* SPDX-License-Identifier: Apache-2.0 */
/** The clock of every figure: CLOCK_MONOTONIC, the same in all processes of a
 *  host, so that ends and starts of different processes may be subtracted. */
#ifndef WL_CLOCK_H
#define WL_CLOCK_H

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

static inline uint64_t wl_now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/** Nanoseconds of a time that getrusage(2) gives. */
static inline uint64_t wl_timeval_ns(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

#endif /* WL_CLOCK_H */
