/* SPDX-License-Identifier: Apache-2.0 */
/* Gets, puts and asks while a peer crashes or a link breaks; simulator only.
 * At each of many times: every operation ends once, well or with an error that
 * says so, and good bytes are good. */
#include "test/conformance/region.h"

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
            weir_asks_close(s.asks);
            weir_region_close(a);
            weir_region_close(b);
        }
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
