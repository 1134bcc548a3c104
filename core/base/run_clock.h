/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A clock of one thread that stands while the thread is kept off the processor.
 *
 *   wall      --ran--|--others ran--|--ran--|--slept--|--ran--
 *   run clock --ran--|              |--ran--|--slept--|--ran--
 *
 * Where threads outnumber processors, a thread that is given rows as fast as it
 * takes them looks slow by the clock on the wall. The kernel says how long a
 * thread has run and how often it went to sleep by itself; time that it neither
 * ran nor slept is lost. An interval in which it has slept counts as a whole.
 *
 * Asking costs half a microsecond (getrusage). So it is done now and then, and
 * after a time without losses not any more, until somebody wants to know. A
 * reading lacks what was lost since the clock was last asked, and may be later
 * than the next one: who compares with an earlier reading takes the lesser.
 */
#ifndef WI_BASE_RUN_CLOCK_H
#define WI_BASE_RUN_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct wi_run_sample {
    uint64_t coarse_ns; /* wi_clock_coarse() */
    uint64_t wall_ns;
    uint64_t cpu_ns; /* that the thread has run */
    uint64_t sleeps; /* times that it went to sleep by itself */
    uint64_t thread; /* which one */
};

struct wi_run_clock {
    struct wi_run_sample last;
    uint64_t lost_ns; /* in all, of wi_clock_coarse() */
    uint64_t calm_ns; /* since something was lost */
    bool asks;
};

/** Ask from now on. */
static inline void wi_run_clock_ask(struct wi_run_clock *c)
{
    c->asks = true;
    c->calm_ns = 0;
}

/** Take what the calling thread has lost, unless that was done within
 *  `least_ns`. */
void wi_run_clock_look(struct wi_run_clock *c, uint64_t least_ns);

/** The same with what the kernel would say. */
void wi_run_clock_add(struct wi_run_clock *c, const struct wi_run_sample *s);

#endif /* WI_BASE_RUN_CLOCK_H */
