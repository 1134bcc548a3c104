/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Forced preemption, for builds that look for races (WEIR_PREEMPT; the preset
 * tsan): before some atomic operations the other threads have their turn, in
 * orders that a scheduler seldom makes.
 *
 * One operation of 4,096 yields the processor, one of 65,536 sleeps for 50 us.
 * What a thread does depends on how many operations it has made, not on time.
 */
#ifndef WI_BASE_PREEMPT_H
#define WI_BASE_PREEMPT_H

#if defined(WEIR_PREEMPT)

#include <sched.h>
#include <stdint.h>
#include <time.h>

enum { WI_PREEMPT_YIELD = 4096, WI_PREEMPT_SLEEP = 65536 };

static inline void wi_preempt(void)
{
    static _Thread_local uint32_t state;
    state = state * 1664525u + 1013904223u; /* Numerical Recipes, ranqd1 */
    uint32_t at = state >> 8;
    if (at % WI_PREEMPT_SLEEP == 0) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    } else if (at % WI_PREEMPT_YIELD == 0) {
        (void)sched_yield();
    }
}

#else
#define wi_preempt() ((void)0)
#endif

#endif /* WI_BASE_PREEMPT_H */
