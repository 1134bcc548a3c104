/* SPDX-License-Identifier: Apache-2.0 */
/* Thousands of queries that fail in every way there is leave nothing:
 * memory, rings, descriptors are as before, and the next query is good. */
#include <criterion/criterion.h>

#include "test/support/storm.h"

/* Instrumented builds are ten times slower and look at every access instead. */
#if defined(__SANITIZE_THREAD__)
enum { MANY = 300, SOME = 90, WARM_UP = 30 };
#elif defined(__SANITIZE_ADDRESS__)
enum { MANY = 1000, SOME = 300, WARM_UP = 300 };
#else
enum { MANY = 10000, SOME = 1500, WARM_UP = 300 };
#endif
enum { GROWTH_BYTES = 1 << 20 };

static const struct wt_place sim = {.transport = "sim", .sim = true};
static const struct wt_place shm = {.transport = "shm"};
static const struct wt_place tcp = {.transport = "tcp"};

struct weather {
    const struct wt_place *place;
    bool node_rings;
    uint32_t queries;
    uint32_t first_way; /* of wt_ways, and how many of them */
    uint32_t n_ways;
};

static void run_many(struct wt_storm *s, const struct weather *w, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        wt_storm_run(s, &wt_ways[w->first_way + i % w->n_ways]);
    }
    wt_storm_run(s, NULL);
    wt_storm_settle(s);
}

/* Outgoing rings of posted links come from an arena, which keeps what it has
 * had for the next ones: the most that there was at a time may be passed, but
 * not by more than another area on each node. */
static void expect_same(const struct wt_holdings *now,
                        const struct wt_holdings *before, bool mapped)
{
    uint64_t more = mapped ? 0 : before->area_bytes;
    cr_assert(now->memory_bytes <= before->memory_bytes + more,
              "%llu bytes travel, %llu before",
              (unsigned long long)now->memory_bytes,
              (unsigned long long)before->memory_bytes);
    cr_assert_eq(now->descriptors, before->descriptors, "%u descriptors",
                 now->descriptors);
    cr_assert_lt(now->heap_bytes, before->heap_bytes + GROWTH_BYTES,
                 "%llu bytes of heap, %llu before",
                 (unsigned long long)now->heap_bytes,
                 (unsigned long long)before->heap_bytes);
}

static void storm(const struct weather *w)
{
    struct wt_storm s;
    wt_storm_open(&s, w->place, w->node_rings);
    run_many(&s, w, WARM_UP);
    struct wt_holdings before = wt_storm_holdings(&s);
    run_many(&s, w, w->queries);
    struct wt_holdings after = wt_storm_holdings(&s);
    expect_same(&after, &before, w->place == &shm);
    cr_assert_gt(s.failed, s.done * 4, "%llu of %llu failed",
                 (unsigned long long)s.failed,
                 (unsigned long long)(s.failed + s.done));
    wt_storm_close(&s);
}

Test(storm, ten_thousand_failed_queries_leave_nothing_on_sim, .timeout = 120)
{
    storm(&(struct weather){&sim, false, MANY, 0, wt_n_ways});
}

Test(storm, ten_thousand_failed_queries_leave_nothing_on_shm, .timeout = 120)
{
    storm(&(struct weather){&shm, false, MANY, 0, wt_n_ways});
}

Test(storm, failed_queries_leave_nothing_on_tcp, .timeout = 120)
{
    storm(&(struct weather){&tcp, false, SOME, 0, wt_n_ways});
}

Test(storm, failed_queries_on_node_rings_leave_nothing, .timeout = 120)
{
    storm(&(struct weather){&sim, true, MANY, 0, wt_n_ways});
    storm(&(struct weather){&shm, true, SOME, 0, wt_n_ways});
}

/* The last ways are those of damage: frames are refused, or do not add up. */
Test(storm, ten_thousand_refused_frames_leave_nothing, .timeout = 120)
{
    storm(&(struct weather){&sim, false, MANY, wt_n_ways - 3, 2});
    storm(&(struct weather){&sim, true, SOME, wt_n_ways - 3, 2});
    storm(&(struct weather){&shm, false, SOME, wt_n_ways - 3, 2});
}
