/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ring/ready.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define IDS 5000u

struct seen {
    uint32_t n;
    uint32_t last;
    uint8_t times[IDS];
};

static struct wi_bell *make(void)
{
    struct wi_bell *b = aligned_alloc(WI_CACHE_LINE, wi_bell_bytes(IDS));
    memset(b, 0, wi_bell_bytes(IDS));
    return b;
}

static void see(void *arg, uint32_t id)
{
    struct seen *s = arg;
    s->n++;
    s->last = id;
    s->times[id]++;
}

Test(ready, every_mark_is_taken_once)
{
    struct wi_bell *b = make();
    struct seen s = {0};
    for (uint32_t id = 0; id < IDS; id += 7) {
        (void)wi_bell_mark(b, IDS, id);
        (void)wi_bell_mark(b, IDS, id);
    }
    cr_assert(wi_bell_pending(b, IDS));
    cr_assert_eq(wi_bell_take(b, IDS, see, &s), (IDS + 6) / 7);
    for (uint32_t id = 0; id < IDS; id++) {
        cr_assert_eq(s.times[id], id % 7 == 0 ? 1 : 0);
    }
    cr_assert_not(wi_bell_pending(b, IDS));
    free(b);
}

Test(ready, ids_out_of_range_are_ignored)
{
    struct wi_bell *b = make();
    (void)wi_bell_mark(b, IDS, IDS);
    (void)wi_bell_mark(b, IDS, UINT32_MAX);
    cr_assert_not(wi_bell_pending(b, IDS));
    free(b);
}

Test(ready, park_returns_at_once_if_something_is_pending)
{
    struct wi_bell *b = make();
    (void)wi_bell_attention(b, WI_ATTN_SPACE);
    cr_assert(wi_bell_park(b, IDS, UINT64_MAX));
    cr_assert_eq(wi_bell_take_attn(b), WI_ATTN_SPACE);
    free(b);
}

Test(ready, park_times_out)
{
    struct wi_bell *b = make();
    cr_assert_not(wi_bell_park(b, IDS, 1000000));
    cr_assert_eq(wi_load_rlx(&b->parked), WI_AWAKE);
    free(b);
}

Test(ready, one_of_two_wakers_rings_the_descriptor)
{
    struct wi_bell *b = make();
    cr_assert(wi_bell_arm(b, IDS));
    cr_assert_eq(wi_bell_mark(b, IDS, 1), WI_WAKE_FD);
    cr_assert_eq(wi_bell_mark(b, IDS, 2), WI_WAKE_NONE);
    cr_assert_not(wi_bell_arm(b, IDS));
    free(b);
}

/* The lost wake-up of edge E3: a producer and a sleeping worker wake each other
 * many times; if a wake-up is lost, the test runs into its time limit. */
#define ROUNDS 20000u

struct table {
    struct wi_bell *bell[2];
};

static void catch_ball(struct wi_bell *b, uint32_t id)
{
    struct seen *s = calloc(1, sizeof(*s));
    while (wi_bell_take(b, IDS, see, s) == 0) {
        (void)wi_bell_park(b, IDS, UINT64_MAX);
    }
    cr_assert_eq(s->n, 1);
    cr_assert_eq(s->last, id);
    free(s);
}

static void *player(void *arg)
{
    struct table *t = arg;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        catch_ball(t->bell[1], i % IDS);
        (void)wi_bell_mark(t->bell[0], IDS, i % IDS);
    }
    return NULL;
}

Test(ready, no_wake_up_is_lost, .timeout = 60)
{
    struct table t = {{make(), make()}};
    pthread_t other;
    cr_assert_eq(pthread_create(&other, NULL, player, &t), 0);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        (void)wi_bell_mark(t.bell[1], IDS, i % IDS);
        catch_ball(t.bell[0], i % IDS);
    }
    cr_assert_eq(pthread_join(other, NULL), 0);
    free(t.bell[0]);
    free(t.bell[1]);
}
