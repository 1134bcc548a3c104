/* SPDX-License-Identifier: Apache-2.0 */
/** The real clock. The engine never reads it: time is handed to it. */
#ifndef WI_BASE_CLOCK_H
#define WI_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/** Monotonic nanoseconds. */
static inline uint64_t wi_clock_now(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/** A clock for hot paths: costs least to read, counts nanoseconds within a
 *  factor of four. Never goes back on one thread. */
static inline uint64_t wi_clock_coarse(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc() / 2; /* 1 to 5 GHz */
#else
    return wi_clock_now();
#endif
}

/** a + b; UINT64_MAX (never) in place of an overflow. */
static inline uint64_t wi_time_add(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

#endif /* WI_BASE_CLOCK_H */
