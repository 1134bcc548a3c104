/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/run_clock.h"

#include <pthread.h>
#include <sys/resource.h>

#include "core/base/clock.h"

/* After this time in which less than an eighth was lost, nobody asks. */
#define CALM_NS 50000000u

static uint64_t ns_of(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

void wi_run_clock_add(struct wi_run_clock *c, const struct wi_run_sample *s)
{
    const struct wi_run_sample *last = &c->last;
    uint64_t wall = s->wall_ns - last->wall_ns;
    uint64_t ran = s->cpu_ns - last->cpu_ns;
    bool lost = false;
    if (s->thread == last->thread && s->sleeps == last->sleeps && ran < wall) {
        double share = (double)(wall - ran) / (double)wall;
        double coarse = (double)(s->coarse_ns - last->coarse_ns);
        c->lost_ns += (uint64_t)(coarse * share);
        lost = wall - ran >= wall / 8;
    }
    c->calm_ns = lost || s->thread != last->thread ? 0 : c->calm_ns + wall;
    c->asks = c->calm_ns < CALM_NS;
    c->last = *s;
}

void wi_run_clock_look(struct wi_run_clock *c, uint64_t least_ns)
{
    uint64_t coarse_ns = wi_clock_coarse();
    struct rusage r;
    if (!c->asks || coarse_ns - c->last.coarse_ns < least_ns ||
        getrusage(RUSAGE_THREAD, &r) != 0) {
        return;
    }
    const struct wi_run_sample s = {
        .coarse_ns = coarse_ns,
        .wall_ns = wi_clock_now(),
        .cpu_ns = ns_of(&r.ru_utime) + ns_of(&r.ru_stime),
        .sleeps = (uint64_t)r.ru_nvcsw,
        .thread = (uint64_t)pthread_self(),
    };
    wi_run_clock_add(c, &s);
}
