/* SPDX-License-Identifier: Apache-2.0 */
/* Gets, puts and asks while a peer crashes or a link breaks; simulator only.
 * At each of many times: every operation ends once, well or with an error that
 * says so, and good bytes are good. And gets that take long. */
#include "test/conformance/region.h"

#include <weir/stats.h>

enum { N = 12, BYTES = 40001, STEPS = 60, STEP_NS = 1500 };

struct storm {
    struct wt_reads *r;
    weir_asks *asks;
    uint32_t ended;
    uint32_t good;
    uint64_t seen;
};

static bool all_ended(void *arg)
{
    struct storm *s = arg;
    struct weir_got got;
    struct weir_ask ask;
    weir_err rc;
    while (s->asks != NULL && weir_asks_next(s->asks, &ask) == WEIR_OK) {
        (void)weir_ask_answer(&ask, WEIR_OK, "yes", 3);
    }
    while ((rc = weir_fetch_next(s->r->fetch, &got)) == WEIR_OK) {
        cr_assert_eq(s->seen >> got.tag & 1, 0, "ended twice");
        s->seen |= 1ull << got.tag;
        s->ended++;
        s->good += got.code == WEIR_OK;
        cr_assert(got.code == WEIR_OK ||
                      weir_err_scope(got.code) == WEIR_SCOPE_PEER,
                  "%s", weir_fetch_error(s->r->fetch));
        if (got.code == WEIR_OK && got.tag < N) {
            cr_assert(wt_bytes_are(got.ptr, 50, got.tag, BYTES - N));
        }
        weir_fetch_release(s->r->fetch, &got);
    }
    return rc == WEIR_DONE;
}

static void start(struct storm *s)
{
    static const char src[100];
    struct wt_reads *r = s->r;
    uint32_t taken;
    for (uint64_t i = 0; i < N; i++) {
        const struct weir_get get = {
            .name = {7, 50}, .off = i, .bytes = BYTES - N, .tag = i};
        const struct weir_put put = {
            .name = {7, 51}, .off = i, .bytes = 50, .src = src, .tag = N + i};
        const struct weir_name name = {9, i};
        cr_assert_eq(weir_fetch_get(r->fetch, r->peer[1], &get, 1, &taken),
                     WEIR_OK);
        cr_assert_eq(weir_fetch_put(r->fetch, r->peer[1], &put, 1, &taken),
                     WEIR_OK);
        cr_assert_eq(
            weir_fetch_ask(r->fetch, r->peer[1], &name, "?", 1, 2 * N + i),
            WEIR_OK);
    }
}

static void at_each_time(const struct wt_place *place, bool crash)
{
    struct weir_error err;
    uint32_t good = 0;
    uint32_t bad = 0;
    for (uint32_t i = 0; i < STEPS; i++) {
        struct storm s = {.r = wt_reads_open(place, 0, NULL)};
        struct wt_reads *r = s.r;
        weir_region *a = wt_region(r, 1, 50, BYTES, 0);
        weir_region *b = wt_region(r, 1, 51, 1000, 1);
        cr_assert_eq(weir_asks_open(r->c.node[1], 9, 0, &s.asks, &err),
                     WEIR_OK);
        weir_asks *asks = s.asks;
        uint64_t at = weir_sim_now(r->c.sim) + (uint64_t)i * STEP_NS;
        if (crash) {
            weir_sim_crash(r->c.sim, 1, at);
            s.asks = NULL;
        } else {
            weir_sim_cut(r->c.sim, 0, 1, at);
        }
        start(&s);
        cr_assert(wt_until(&r->c, all_ended, &s), "step %u", i);
        cr_assert_eq(s.ended, 3 * N);
        good += s.good;
        bad += s.ended - s.good;
        if (!crash) {
            struct weir_got got =
                wt_get(r, 1, &(struct weir_get){.name = {7, 50}, .bytes = 9});
            cr_assert_eq(got.code, WEIR_OK, "a new link serves: %s",
                         weir_fetch_error(r->fetch));
            weir_fetch_release(r->fetch, &got);
        }
        weir_asks_close(asks);
        weir_region_close(a);
        weir_region_close(b);
        wt_reads_close(r);
    }
    cr_assert(good != 0 && bad != 0, "%u good, %u bad: at the wrong times",
              good, bad);
}

void wt_region_crash_at_any_time(const struct wt_place *place)
{
    at_each_time(place, true);
}

void wt_region_cut_at_any_time(const struct wt_place *place)
{
    at_each_time(place, false);
}

/* ---- gets that take longer than anybody is patient ----------------------- */

enum { LONG = 16 << 20 };

/* At 100 MB/s, a get of all takes 160 ms. */
static struct wt_reads *open_slow(const struct wt_place *place,
                                  uint64_t idle_close_ns)
{
    return wt_reads_open_on(
        place,
        &(struct wt_cluster_params){
            .node = {.idle_close_ns = idle_close_ns, .detect_ns = 40000000},
            .sim = {.bandwidth = 100000000}},
        NULL);
}

static void check_links(const struct wt_reads *r)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct weir_node_stats stats;
        weir_node_stats_get(r->c.node[i], &stats);
        cr_assert_eq(stats.links_lost, 0, "by node %u", i);
    }
}

/* The owner sees nothing of a get, but it must not close the link. */
void wt_region_link_stays_under_a_long_get(const struct wt_place *place)
{
    struct wt_reads *r = open_slow(place, 5000000);
    weir_region *region = wt_region(r, 1, 60, LONG, 0);
    struct weir_got got =
        wt_get(r, 1, &(struct weir_get){.name = {7, 60}, .bytes = LONG});
    cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
    cr_assert(wt_bytes_are(got.ptr, 60, 0, LONG));
    weir_fetch_release(r->fetch, &got);
    check_links(r);
    weir_region_close(region);
    wt_reads_close(r);
}

/* The reader lets go of it in time, and keeps its link. */
void wt_region_region_closed_under_a_long_get(const struct wt_place *place)
{
    struct wt_reads *r = open_slow(place, 0);
    weir_region *region = wt_region(r, 1, 61, LONG, 0);
    const struct weir_get get = {.name = {7, 61}, .bytes = LONG};
    uint32_t taken;
    struct weir_got got =
        wt_get(r, 1, &(struct weir_get){.name = {7, 61}, .bytes = 9});
    weir_fetch_release(r->fetch, &got);
    cr_assert_eq(weir_fetch_get(r->fetch, r->peer[1], &get, 1, &taken),
                 WEIR_OK);
    weir_region_close(region);
    got = wt_next(r);
    cr_assert_eq(got.code, WEIR_ERR_NOT_FOUND, "%s",
                 weir_fetch_error(r->fetch));
    check_links(r);
    wt_reads_close(r);
}

static bool is_half_way(void *arg)
{
    uint32_t *looks = arg; /* one each millisecond */
    return ++*looks > 50;
}

/* When another region has its name by then, the rest is not taken from that
 * one: be it as long, or so short that it has nothing there. */
void wt_region_long_get_is_of_one_region(const struct wt_place *place)
{
    static const uint64_t next_bytes[] = {LONG, 1000};
    for (uint32_t i = 0; i < 2; i++) {
        struct wt_reads *r = wt_reads_open_on(
            place, &(struct wt_cluster_params){.sim = {.bandwidth = 100000000}},
            NULL);
        weir_region *region = wt_region(r, 1, 62, LONG, 0);
        const struct weir_get get = {.name = {7, 62}, .bytes = LONG};
        uint32_t taken;
        uint32_t looks = 0;
        cr_assert_eq(weir_fetch_get(r->fetch, r->peer[1], &get, 1, &taken),
                     WEIR_OK);
        cr_assert(wt_until(&r->c, is_half_way, &looks));
        weir_region_close(region);
        region = wt_region(r, 1, 62, next_bytes[i], 0);
        struct weir_got got = wt_next(r);
        cr_assert_eq(got.code, WEIR_ERR_NOT_FOUND, "%s: %s",
                     weir_err_name(got.code), weir_fetch_error(r->fetch));
        check_links(r);
        weir_region_close(region);
        wt_reads_close(r);
    }
}
