/* SPDX-License-Identifier: Apache-2.0 */
/* What a server does for clients that keep to the rules. */
#include "test/conformance/scan_serve.h"

#include <stdlib.h>

/* ---- results ------------------------------------------------------------- */

/* Reads all that is left of a reader whose OPEN said this. Returns the rows;
 * slots_out: how many different ones it came in. */
static uint64_t read_all(struct wt_scan_client *c, struct wt_scan_said *said,
                         uint32_t *slots_out)
{
    enum { SLOTS = 64 };
    uint64_t slots[SLOTS];
    uint64_t id[2] = {said->a.id[0], said->a.id[1]};
    uint64_t rows = wt_scan_rows(said, 0);
    uint64_t seq = 0;
    *slots_out = 0;
    while ((said->a.flags & WI_SCAN_END) == 0) {
        uint64_t slot = said->a.region;
        wt_scan_said_free(said);
        wt_scan_next_of(c, id, slot, said);
        rows += wt_scan_rows(said, (int64_t)rows);
        cr_assert_eq(said->a.seq, ++seq);
        uint32_t i = 0;
        while (i < *slots_out && slots[i] != said->a.region) {
            i++;
        }
        if (i == *slots_out && said->a.region != 0) {
            cr_assert_lt(i, SLOTS);
            slots[(*slots_out)++] = said->a.region;
        }
    }
    wt_scan_end(c, c->call, said->a.region);
    wt_scan_said_free(said);
    return rows;
}

/* A server waits a millisecond for the end of a result; on a busy machine its
 * thread may stand still for longer, and the end then has a payload of its own.
 * Repeats the statement until it comes at once. Returns how often it ran. */
static uint64_t open_at_once(struct wt_scan_client *c, const char *text,
                             struct wt_scan_said *said)
{
    enum { TRIES = 200 };
    uint32_t slots;
    for (uint64_t n = 1; n <= TRIES; n++) {
        wt_scan_open_text(c, text, said);
        if (said->a.flags == WI_SCAN_END) {
            return n;
        }
        cr_assert_eq(said->a.flags, 0);
        cr_assert_eq(read_all(c, said, &slots), 3);
    }
    cr_assert_fail("the end never came with the rows, in %d tries", TRIES);
    return 0;
}

void wt_scan_serve_small_result_is_one_round_trip(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    wt_scan_client_open(&c, s, 0);
    uint64_t n = open_at_once(&c, "numbers 1 3", &said);
    cr_assert_eq(wt_scan_rows(&said, 0), 3);
    cr_assert_eq(said.a.seq, 0);
    cr_assert(said.a.region == 0 && said.a.schema_bytes > 0);
    cr_assert_eq(said.a.rows, -1);
    struct wi_scan_ask a = wt_scan_ask(&c, WI_SCAN_ASK_NEXT);
    memcpy(a.id, said.a.id, sizeof(a.id));
    wt_scan_expect(&c, &a, NULL, WEIR_ERR_NOT_FOUND); /* it is gone */
    wt_scan_end(&c, c.call, 0);
    wt_scan_said_free(&said);
    wt_scan_client_close(&c);
    cr_assert(wt_scan_until(s, wt_scan_empty));
    cr_assert(s->stats.opened == n && s->stats.failed == 0);
    cr_assert(s->stats.batches == n && s->stats.rows == 3 * n);
    wt_scan_close(s);
}

void wt_scan_serve_large_result_comes_in_order(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    uint32_t slots;
    wt_scan_client_open(&c, s, 0);
    wt_scan_open_text(&c, "numbers 40 50000", &said);
    cr_assert_eq(read_all(&c, &said, &slots), 2000000);
    wt_scan_client_close(&c);
    cr_assert(wt_scan_until(s, wt_scan_empty));
    cr_assert_eq(s->stats.rows, 2000000);
    cr_assert_geq(s->stats.sent_bytes, 16000000);
    wt_scan_close(s);
}

/* Each batch is a payload of its own. */
void wt_scan_serve_slots_are_used_again(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    uint32_t slots;
    wt_scan_client_open(&c, s, 0);
    for (uint32_t i = 0; i < 3; i++) {
        wt_scan_open_text(&c, "numbers 6 300000", &said);
        cr_assert_eq(read_all(&c, &said, &slots), 1800000);
        cr_assert_eq(slots, 1, "%u slots for one payload at a time", slots);
    }
    wt_scan_client_close(&c);
    wt_scan_close(s);
}

void wt_scan_serve_no_stream_is_no_columns(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    wt_scan_client_open(&c, s, 0);
    wt_scan_open_text(&c, "nothing", &said);
    cr_assert(said.code == WEIR_OK && said.a.code == WEIR_OK);
    cr_assert(said.a.flags == WI_SCAN_END && said.a.n_batches == 0);
    cr_assert(said.a.rows == 7 && said.a.schema_bytes > 0);
    wt_scan_said_free(&said);
    wt_scan_client_close(&c);
    wt_scan_close(s);
}

/* ---- errors -------------------------------------------------------------- */

void wt_scan_serve_error_of_open_is_whole(const struct wt_place *place)
{
    const char *const texts[] = {"fail 100", "fail 5000"};
    const size_t bytes[] = {100, 5000};
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    wt_scan_client_open(&c, s, 0);
    for (uint32_t i = 0; i < 2; i++) {
        wt_scan_open_text(&c, texts[i], &said);
        cr_assert_eq(said.a.code, WEIR_ERR_QUERY_DATA);
        cr_assert_eq(said.a.region != 0, i == 1);
        struct weir_scan_fault fault = wt_scan_fault(&said);
        cr_assert_eq(strlen(fault.text), bytes[i]);
        cr_assert_eq(fault.vendor, 42);
        cr_assert_str_eq(fault.sqlstate, "22012");
        free(fault.text);
        wt_scan_said_free(&said);
    }
    wt_scan_client_close(&c);
    cr_assert(wt_scan_until(s, wt_scan_empty));
    cr_assert(s->stats.opened == 2 && s->stats.failed == 2);
    wt_scan_close(s);
}

void wt_scan_serve_error_of_a_batch_comes_after_those_before(
    const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    wt_scan_client_open(&c, s, 0);
    wt_scan_open_text(&c, "fail-next 2 2000", &said);
    uint64_t id[2] = {said.a.id[0], said.a.id[1]};
    uint64_t rows = 0;
    while (said.a.code == WEIR_OK) {
        cr_assert_eq(said.a.flags, 0);
        rows += wt_scan_rows(&said, (int64_t)rows);
        uint64_t slot = said.a.region;
        wt_scan_said_free(&said);
        wt_scan_next_of(&c, id, slot, &said);
    }
    cr_assert_eq(rows, 20);
    struct weir_scan_fault fault = wt_scan_fault(&said);
    cr_assert_eq(strlen(fault.text), 2000);
    free(fault.text);
    wt_scan_said_free(&said);
    wt_scan_next_of(&c, id, 0, &said);
    cr_assert_eq(said.code, WEIR_ERR_NOT_FOUND);
    wt_scan_client_close(&c);
    wt_scan_close(s);
}

void wt_scan_serve_unknown_data_set_is_named(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    uint8_t bytes[WI_SCAN_ASK_INLINE];
    wt_scan_client_open(&c, s, 0);
    struct wi_scan_ask a = wt_scan_request(&c, "numbers 1 1", bytes);
    uint8_t *name = memmem(bytes, a.n_bytes, "raw", 3);
    cr_assert_not_null(name);
    memcpy(name, "war", 3);
    wt_scan_say(&c, &a, bytes, &said);
    cr_assert_eq(said.a.code, WEIR_ERR_NOT_FOUND);
    struct weir_scan_fault fault = wt_scan_fault(&said);
    cr_assert_not_null(strstr(fault.text, "'war'"));
    free(fault.text);
    wt_scan_said_free(&said);
    wt_scan_client_close(&c);
    wt_scan_close(s);
}

/* ---- leaving ------------------------------------------------------------- */

void wt_scan_serve_client_that_leaves_leaves_nothing(
    const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    uint8_t bytes[WI_SCAN_ASK_INLINE];
    wt_scan_client_open(&c, s, 0);
    wt_scan_open_text(&c, "numbers 40 50000", &said);
    cr_assert_neq(said.a.region, 0);
    wt_scan_said_free(&said);
    struct wi_scan_ask a = wt_scan_ask(&c, WI_SCAN_ASK_ROOM);
    a.n_bytes = 100000;
    wt_scan_say(&c, &a, NULL, &said);
    cr_assert(said.a.region != 0 && said.a.n_bytes >= 100000);
    wt_scan_said_free(&said);
    a = wt_scan_request(&c, "block-next 0 1", bytes);
    wt_scan_post(&c, &a, bytes, (uint32_t)a.n_bytes, 5);
    a = wt_scan_request(&c, "block", bytes);
    wt_scan_post(&c, &a, bytes, (uint32_t)a.n_bytes, 6);
    wt_scan_until_blocked(s, 2);
    weir_scan_server_stats(s->server, &s->stats);
    cr_assert(s->stats.clients == 1 && s->stats.readers == 3);
    cr_assert_geq(s->stats.bytes, 400000);
    wt_scan_client_close(&c);
    cr_assert(wt_scan_until(s, wt_scan_empty));
    cr_assert_eq(s->engine.cancelled, 2);
    wt_scan_close(s);
}

void wt_scan_serve_open_is_cancelled(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    uint8_t bytes[WI_SCAN_ASK_INLINE];
    wt_scan_client_open(&c, s, 0);
    struct wi_scan_ask a = wt_scan_request(&c, "block", bytes);
    wt_scan_post(&c, &a, bytes, (uint32_t)a.n_bytes, 5);
    wt_scan_until_blocked(s, 1);
    a = wt_scan_ask(&c, WI_SCAN_ASK_END);
    a.call = c.call;
    wt_scan_post(&c, &a, NULL, 0, 6);
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t tag = wt_scan_next(&c, &said);
        cr_assert_eq(said.code, tag == 5 ? WEIR_ERR_CANCELLED : WEIR_OK);
        wt_scan_said_free(&said);
    }
    wt_scan_until_blocked(s, 0);
    wt_scan_open_text(&c, "numbers 1 5", &said); /* others go on */
    cr_assert_eq(wt_scan_rows(&said, 0), 5);
    wt_scan_said_free(&said);
    wt_scan_client_close(&c);
    wt_scan_close(s);
}

void wt_scan_serve_batch_is_cancelled(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    wt_scan_client_open(&c, s, 0);
    wt_scan_open_text(&c, "block-next 1 300000", &said); /* a whole payload */
    cr_assert_eq(wt_scan_rows(&said, 0), 300000);
    cr_assert_eq(said.a.flags, 0);
    struct wi_scan_ask next = wt_scan_ask(&c, WI_SCAN_ASK_NEXT);
    memcpy(next.id, said.a.id, sizeof(next.id));
    wt_scan_said_free(&said);
    wt_scan_post(&c, &next, NULL, 0, 5);
    wt_scan_post(&c, &next, NULL, 0, 6);
    wt_scan_until_blocked(s, 1);
    struct wi_scan_ask end = wt_scan_ask(&c, WI_SCAN_ASK_END);
    end.call = c.call;
    wt_scan_post(&c, &end, NULL, 0, 7);
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t tag = wt_scan_next(&c, &said);
        cr_assert_eq(said.code, WEIR_OK, "%s", said.why);
        cr_assert_eq(said.a.flags, tag == 7 ? 0 : WI_SCAN_END);
        wt_scan_said_free(&said);
    }
    wt_scan_until_blocked(s, 0);
    wt_scan_client_close(&c);
    wt_scan_close(s);
}

void wt_scan_serve_server_closes_while_engines_work(
    const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    uint8_t bytes[WI_SCAN_ASK_INLINE];
    wt_scan_client_open(&c, s, 0);
    wt_scan_open_text(&c, "numbers 40 50000", &said);
    wt_scan_said_free(&said);
    for (uint64_t i = 0; i < 3; i++) {
        struct wi_scan_ask a =
            wt_scan_request(&c, i == 0 ? "block" : "block-next 0 1", bytes);
        wt_scan_post(&c, &a, bytes, (uint32_t)a.n_bytes, 5 + i);
    }
    wt_scan_until_blocked(s, 3);
    weir_scan_server_close(s->server);
    s->server = NULL;
    for (uint32_t i = 0; i < 4; i++) { /* HOLD too */
        (void)wt_scan_next(&c, &said);
        cr_assert_eq(said.code, WEIR_ERR_NOT_FOUND);
        wt_scan_said_free(&said);
    }
    wt_scan_client_close(&c);
    wt_scan_close(s);
}
