/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "core/base/run_clock.h"

enum { MS = 1000000 };

/* A thread as the kernel sees it; the coarse clock counts twice as fast. */
static const struct wi_run_sample begin = {.coarse_ns = 2000 * MS,
                                           .wall_ns = 1000 * MS,
                                           .cpu_ns = 70 * MS,
                                           .sleeps = 5,
                                           .thread = 1};

static void start(struct wi_run_clock *c)
{
    *c = (struct wi_run_clock){.lost_ns = 0};
    wi_run_clock_ask(c);
    wi_run_clock_add(c, &begin);
    cr_assert_eq(c->lost_ns, 0, "before the first sample nothing is known");
}

/* The sample after so many milliseconds, of which it ran so many. */
static struct wi_run_sample after(const struct wi_run_sample *s, int wall_ms,
                                  int ran_ms)
{
    struct wi_run_sample next = *s;
    next.coarse_ns += (uint64_t)wall_ms * 2 * MS;
    next.wall_ns += (uint64_t)wall_ms * MS;
    next.cpu_ns += (uint64_t)ran_ms * MS;
    return next;
}

Test(run_clock, time_off_the_processor_is_lost)
{
    struct wi_run_clock c;
    start(&c);
    struct wi_run_sample s = after(&begin, 40, 3);
    wi_run_clock_add(&c, &s);
    cr_assert_leq(c.lost_ns, 74 * MS);
    cr_assert_geq(c.lost_ns, 74 * MS - 1);
    s = after(&s, 10, 10);
    wi_run_clock_add(&c, &s);
    cr_assert_leq(c.lost_ns, 74 * MS, "it ran");
}

Test(run_clock, sleep_is_not_lost)
{
    struct wi_run_clock c;
    start(&c);
    struct wi_run_sample s = after(&begin, 40, 3);
    s.sleeps++;
    wi_run_clock_add(&c, &s);
    cr_assert_eq(c.lost_ns, 0);
    s = after(&s, 4, 3);
    wi_run_clock_add(&c, &s);
    cr_assert_geq(c.lost_ns, 2 * MS - 1, "the sleep is over");
}

/* A worker may be another thread today; its counters are no continuation. */
Test(run_clock, another_thread_begins_anew)
{
    struct wi_run_clock c;
    start(&c);
    struct wi_run_sample s = after(&begin, 40, 0);
    s.thread = 2;
    s.cpu_ns = 1;
    wi_run_clock_add(&c, &s);
    cr_assert_eq(c.lost_ns, 0);
    s = after(&s, 40, 20);
    wi_run_clock_add(&c, &s);
    cr_assert_geq(c.lost_ns, 40 * MS - 1);
}

/* Both are rounded by the kernel. */
Test(run_clock, more_processor_time_than_time_is_no_loss)
{
    struct wi_run_clock c;
    start(&c);
    struct wi_run_sample s = after(&begin, 10, 11);
    wi_run_clock_add(&c, &s);
    cr_assert_eq(c.lost_ns, 0);
}

Test(run_clock, nobody_asks_when_nothing_is_lost)
{
    struct wi_run_clock c;
    start(&c);
    struct wi_run_sample s = begin;
    for (int i = 0; i < 49; i++) {
        s = after(&s, 1, 1);
        wi_run_clock_add(&c, &s);
    }
    cr_assert(c.asks);
    s = after(&s, 2, 1);
    wi_run_clock_add(&c, &s);
    cr_assert(c.asks, "a loss");
    s = after(&s, 50, 50);
    wi_run_clock_add(&c, &s);
    cr_assert_not(c.asks);
    uint64_t lost_ns = c.lost_ns;
    wi_run_clock_look(&c, 0);
    cr_assert_eq(c.lost_ns, lost_ns);
    cr_assert_eq(c.last.wall_ns, s.wall_ns, "it was not asked");
    wi_run_clock_ask(&c);
    wi_run_clock_look(&c, 0);
    cr_assert_neq(c.last.wall_ns, s.wall_ns);
    cr_assert_eq(c.lost_ns, lost_ns, "it is another thread");
}

Test(run_clock, looks_once_in_a_while)
{
    struct wi_run_clock c = {.lost_ns = 0};
    wi_run_clock_ask(&c);
    wi_run_clock_look(&c, 0);
    uint64_t first = c.last.wall_ns;
    wi_run_clock_look(&c, UINT64_MAX);
    cr_assert_eq(c.last.wall_ns, first);
    wi_run_clock_look(&c, 0);
    cr_assert_gt(c.last.wall_ns, first);
}
