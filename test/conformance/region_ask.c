/* SPDX-License-Identifier: Apache-2.0 */
/* Asks, and gets that make regions. */
#include "test/conformance/region.h"

#include <stdio.h>

static weir_asks *asks_open(struct wt_reads *r, uint32_t node, uint64_t space)
{
    struct weir_error err;
    weir_asks *asks = NULL;
    cr_assert_eq(weir_asks_open(r->c.node[node], space, 0, &asks, &err),
                 WEIR_OK, "%s", err.message);
    return asks;
}

static void ask(struct wt_reads *r, uint32_t node, uint64_t id,
                const char *text)
{
    const struct weir_name name = {9, id};
    cr_assert_eq(weir_fetch_ask(r->fetch, r->peer[node], &name, text,
                                (uint32_t)strlen(text), id),
                 WEIR_OK);
}

void wt_region_ask_is_answered(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    for (uint32_t node = 0; node < 2; node++) {
        weir_asks *asks = asks_open(r, node, 9);
        for (uint64_t i = 1; i < 20; i++) {
            ask(r, node, i, "how far is it");
            struct weir_ask a = wt_ask_of(r, asks);
            cr_assert(a.name.space == 9 && a.name.id == i);
            cr_assert(a.len == 13 && memcmp(a.bytes, "how far is it", 13) == 0);
            cr_assert_eq(a.wants_region, 0);
            cr_assert_str_eq(a.peer, r->c.name[0]);
            cr_assert_neq(a.peer_incarnation, 0);
            cr_assert_eq(weir_ask_answer(&a, WEIR_OK, "a mile", 6), WEIR_OK);
            cr_assert_eq(weir_ask_answer(&a, WEIR_OK, "a mile", 6),
                         WEIR_ERR_STATE);
            struct weir_got got = wt_next(r);
            cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
            cr_assert(got.tag == i && got.bytes == 6 && got.lent == 0);
            cr_assert_eq(memcmp(got.ptr, "a mile", 6), 0);
        }
        weir_asks_close(asks);
    }
    wt_reads_close(r);
}

void wt_region_ask_that_nobody_answers_is_refused(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    for (uint32_t node = 0; node < 2; node++) {
        ask(r, node, 1, "");
        struct weir_got got = wt_next(r);
        cr_assert_eq(got.code, WEIR_ERR_NOT_FOUND);
        cr_assert_not_null(strstr(weir_fetch_error(r->fetch), "9/1"));
    }
    wt_reads_close(r);
}

void wt_region_ask_never_answered_costs_only_its_time(
    const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_fetch *f = wt_fetch_of(
        r, 0, &(struct weir_fetch_params){.timeout_ns = 2000000000});
    weir_asks *asks = asks_open(r, 1, 9);
    struct weir_ask kept[2];
    weir_region *region = wt_region(r, 1, 30, 1000, 0);
    const struct weir_name never = {9, 1};
    struct weir_got got = wt_get(r, 1, &(struct weir_get){.name = {7, 66}});
    cr_assert_eq(got.code, WEIR_ERR_NOT_FOUND); /* the link is open */
    cr_assert_eq(weir_fetch_ask(f, r->peer[1], &never, NULL, 0, 1), WEIR_OK);
    kept[0] = wt_ask_of(r, asks);
    cr_assert(weir_ask_waits(&kept[0]));
    ask(r, 1, 2, "soon");
    kept[1] = wt_ask_of(r, asks);
    cr_assert(weir_ask_waits(&kept[1]));
    cr_assert_eq(weir_ask_answer(&kept[1], WEIR_OK, NULL, 0), WEIR_OK);
    cr_assert_not(weir_ask_waits(&kept[1]));
    got = wt_next(r);
    cr_assert(got.tag == 2 && got.code == WEIR_OK && got.bytes == 0);
    got = wt_next_of(r, f);
    cr_assert_eq(got.tag, 1);
    cr_assert_eq(got.code, WEIR_ERR_TIMEOUT);
    got = wt_get(r, 1, &(struct weir_get){.name = {7, 30}, .bytes = 10});
    cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
    /* The end of the wait was said before the get. */
    cr_assert_not(weir_ask_waits(&kept[0]));
    cr_assert_eq(weir_ask_answer(&kept[0], WEIR_OK, "late", 4), WEIR_OK);
    weir_fetch_release(r->fetch, &got);
    cr_assert_eq(weir_fetch_next(f, &got), WEIR_DONE);
    weir_fetch_close(f);
    weir_region_close(region);
    weir_asks_close(asks);
    wt_reads_close(r);
}

void wt_region_errors_are_answers(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_asks *asks = asks_open(r, 1, 9);
    ask(r, 1, 1, "x");
    struct weir_ask a = wt_ask_of(r, asks);
    cr_assert_eq(weir_ask_answer(&a, WEIR_OK, NULL, WEIR_ASK_BYTES + 1),
                 WEIR_ERR_ARG);
    cr_assert_eq(weir_ask_answer(&a, WEIR_AGAIN, NULL, 0), WEIR_ERR_ARG);
    cr_assert_eq(weir_ask_answer(&a, WEIR_ERR_DATA, "no\x1b bread left", 14),
                 WEIR_OK);
    struct weir_got got = wt_next(r);
    cr_assert_eq(got.code, WEIR_ERR_DATA);
    cr_assert_not_null(strstr(weir_fetch_error(r->fetch), "no? bread left"));
    weir_asks_close(asks);
    wt_reads_close(r);
}

void wt_region_get_waits_for_a_region_made_on_demand(
    const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_asks *asks = asks_open(r, 1, 7);
    const struct weir_get get = {.name = {7, 31}, .off = 5, .bytes = 700};
    uint32_t taken;
    cr_assert_eq(weir_fetch_get(r->fetch, r->peer[1], &get, 1, &taken),
                 WEIR_OK);
    struct weir_ask a = wt_ask_of(r, asks);
    cr_assert(a.wants_region == 1 && a.name.id == 31 && a.len == 0);
    weir_region *region = wt_region(r, 1, 31, 1000, 0);
    cr_assert_eq(weir_ask_answer(&a, WEIR_OK, NULL, 0), WEIR_OK);
    struct weir_got got = wt_next(r);
    cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
    cr_assert(wt_bytes_are(got.ptr, 31, 5, 700));
    weir_fetch_release(r->fetch, &got);
    const struct weir_get other = {.name = {7, 32}, .bytes = 1};
    for (uint32_t i = 0; i < 2; i++) { /* not made, and refused */
        cr_assert_eq(weir_fetch_get(r->fetch, r->peer[1], &other, 1, &taken),
                     WEIR_OK);
        a = wt_ask_of(r, asks);
        cr_assert_eq(
            weir_ask_answer(&a, i == 0 ? WEIR_OK : WEIR_ERR_DATA, "why", 3),
            WEIR_OK);
        got = wt_next(r);
        cr_assert_eq(got.code, i == 0 ? WEIR_ERR_NOT_FOUND : WEIR_ERR_DATA);
    }
    weir_region_close(region);
    weir_asks_close(asks);
    wt_reads_close(r);
}

/* One peer asks a hundred times before another asks once: that one is next or
 * the one after it. */
void wt_region_peers_take_turns_to_ask(const struct wt_place *place)
{
    enum { FLOOD = 100 };
    struct wt_reads *r = wt_reads_open(place, 3, NULL);
    weir_asks *asks = asks_open(r, 1, 9);
    weir_fetch *f2 = wt_fetch_of(r, 2, NULL);
    weir_peer *p2 = wt_peer_of(r, 2, 1);
    weir_region *region = wt_region(r, 1, 35, 1000, 0);
    const struct weir_name name = {9, 7777};
    for (uint64_t i = 0; i < FLOOD; i++) {
        ask(r, 1, i, "more");
    }
    struct weir_ask a = wt_ask_of(r, asks);
    cr_assert_eq(weir_ask_answer(&a, WEIR_OK, NULL, 0), WEIR_OK);
    (void)wt_next(r); /* the flood is there */
    cr_assert_eq(weir_fetch_ask(f2, p2, &name, NULL, 0, 1), WEIR_OK);
    const struct weir_get get = {.name = {7, 35}, .tag = 2};
    uint32_t taken; /* the ask is there when a later get has ended */
    cr_assert_eq(weir_fetch_get(f2, p2, &get, 1, &taken), WEIR_OK);
    cr_assert_eq(wt_next_of(r, f2).tag, 2);
    uint32_t others = 0;
    do {
        a = wt_ask_of(r, asks);
        others += a.name.id != 7777;
        cr_assert_eq(weir_ask_answer(&a, WEIR_OK, NULL, 0), WEIR_OK);
        struct weir_got got = wt_next_of(r, a.name.id == 7777 ? f2 : r->fetch);
        cr_assert_eq(got.code, WEIR_OK);
    } while (a.name.id != 7777);
    cr_assert_leq(others, 1, "it waited for %u of the flood", others);
    for (uint32_t i = 1 + others; i < FLOOD; i++) {
        a = wt_ask_of(r, asks);
        cr_assert_eq(weir_ask_answer(&a, WEIR_OK, NULL, 0), WEIR_OK);
        struct weir_got got = wt_next(r);
        cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
    }
    weir_fetch_close(f2);
    weir_peer_close(p2);
    weir_region_close(region);
    weir_asks_close(asks);
    wt_reads_close(r);
}

/* What is found of it is on its way when it is closed. */
void wt_region_own_region_made_on_demand_and_closed_at_once(
    const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_asks *asks = asks_open(r, 0, 7);
    const struct weir_get get = {.name = {7, 36}, .bytes = 700};
    uint32_t taken;
    cr_assert_eq(weir_fetch_get(r->fetch, r->peer[0], &get, 1, &taken),
                 WEIR_OK);
    struct weir_ask a = wt_ask_of(r, asks);
    weir_region *region = wt_region(r, 0, 36, 1000, 0);
    cr_assert_eq(weir_ask_answer(&a, WEIR_OK, NULL, 0), WEIR_OK);
    weir_region_close(region);
    weir_asks_close(asks);
    struct weir_got got = wt_next(r);
    cr_assert(got.code == WEIR_OK || got.code == WEIR_ERR_NOT_FOUND, "%s",
              weir_fetch_error(r->fetch));
    weir_fetch_release(r->fetch, &got);
    cr_assert_eq(wt_get(r, 0, &get).code, WEIR_ERR_NOT_FOUND);
    wt_reads_close(r);
}

struct late_ask {
    struct wt_reads *r;
    weir_asks *asks;
};

static bool last_ask_is_there(void *arg)
{
    struct late_ask *l = arg;
    struct weir_ask a;
    struct weir_got got;
    while (weir_fetch_next(l->r->fetch, &got) == WEIR_OK) {
        cr_assert_eq(got.code, WEIR_ERR_TIMEOUT);
    }
    while (weir_asks_next(l->asks, &a) == WEIR_OK) {
        if (a.name.id == 7777) {
            cr_assert_eq(weir_ask_answer(&a, WEIR_OK, NULL, 0), WEIR_OK);
            return true;
        }
    }
    return false;
}

/* All that may wait at the owner wait in vain; one more has time. */
void wt_region_asks_that_time_out_make_room(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(
        place, 0, &(struct weir_fetch_params){.timeout_ns = 300000000});
    struct late_ask late = {r, asks_open(r, 1, 9)};
    weir_fetch *f = wt_fetch_of(
        r, 0, &(struct weir_fetch_params){.timeout_ns = WEIR_FOREVER});
    const struct weir_name name = {9, 7777};
    char never[WEIR_ASK_BYTES + 1];
    memset(never, 'n', WEIR_ASK_BYTES);
    never[WEIR_ASK_BYTES] = '\0';
    for (uint64_t i = 0; i < 64; i++) {
        ask(r, 1, i, never);
    }
    cr_assert_eq(weir_fetch_ask(f, r->peer[1], &name, NULL, 0, 1), WEIR_OK);
    cr_assert(wt_until(&r->c, last_ask_is_there, &late), "it was not asked");
    cr_assert_eq(wt_next_of(r, f).code, WEIR_OK);
    weir_fetch_close(f);
    weir_asks_close(late.asks);
    wt_reads_close(r);
}

/* Small ones do not take the place of large ones. */
void wt_region_hundreds_of_small_asks_wait(const struct wt_place *place)
{
    enum { N = 900 };
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_asks *asks = asks_open(r, 1, 9);
    struct weir_ask first = {0};
    for (uint64_t i = 0; i < N; i++) {
        ask(r, 1, i, "a small one");
    }
    for (uint64_t i = 0; i < N; i++) { /* all of them come: none is answered */
        struct weir_ask a = wt_ask_of(r, asks);
        cr_assert(a.len == 11 && memcmp(a.bytes, "a small one", 11) == 0);
        first = i == 0 ? a : first;
    }
    cr_assert_eq(weir_ask_answer(&first, WEIR_OK, NULL, 0), WEIR_OK);
    cr_assert_eq(wt_next(r).tag, first.name.id);
    weir_asks_close(asks);
    for (uint64_t i = 1; i < N; i++) {
        cr_assert_eq(wt_next(r).code, WEIR_ERR_NOT_FOUND);
    }
    wt_reads_close(r);
}

void wt_region_asks_are_closed_with_asks_waiting(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_asks *asks = asks_open(r, 1, 9);
    for (uint64_t i = 0; i < 10; i++) {
        ask(r, 1, i, "anybody");
    }
    (void)wt_ask_of(r, asks);
    (void)wt_ask_of(r, asks);
    weir_asks_close(asks);
    for (uint64_t i = 0; i < 10; i++) {
        cr_assert_eq(wt_next(r).code, WEIR_ERR_NOT_FOUND);
    }
    wt_reads_close(r);
}
