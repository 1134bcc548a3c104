/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that clients have for an engine, and requests too long for an ask. */
#include "test/conformance/scan_serve.h"

#include <errno.h>
#include <stdlib.h>

/* A load of numbers, and an OPEN that names it and is not waited for. */
static void load(struct wt_scan_client *c, const char *text, uint64_t id[2])
{
    uint8_t bytes[WI_SCAN_ASK_INLINE];
    struct wt_scan_said said;
    struct wi_scan_buf schema = wt_scan_schema();
    struct wi_scan_ask a = wt_scan_ask(c, WI_SCAN_ASK_LOAD);
    a.n_bytes = schema.len;
    wt_scan_say(c, &a, schema.bytes, &said);
    cr_assert_eq(said.code, WEIR_OK, "%s", said.why);
    id[0] = said.a.id[0];
    id[1] = said.a.id[1];
    wt_scan_said_free(&said);
    free(schema.bytes);
    a = wt_scan_request(c, text, bytes);
    memcpy(a.id, id, sizeof(a.id));
    wt_scan_post(c, &a, bytes, (uint32_t)a.n_bytes, 77);
}

static struct wi_scan_ask fill_of(struct wt_scan_client *c,
                                  const uint64_t id[2],
                                  const struct wi_scan_buf *payload,
                                  uint32_t flags)
{
    struct wi_scan_ask a = wt_scan_ask(c, WI_SCAN_ASK_FILL);
    memcpy(a.id, id, sizeof(a.id));
    a.n_bytes = payload->len;
    a.flags = flags;
    a.n = payload->len > 0 ? 1 : 0;
    return a;
}

static void expect_fill(struct wt_scan_client *c, const struct wi_scan_ask *a,
                        const void *bytes, uint32_t flags)
{
    struct wt_scan_said said;
    wt_scan_say(c, a, bytes, &said);
    cr_assert_eq(said.code, WEIR_OK, "%s", said.why);
    cr_assert_eq(said.a.flags, flags);
    wt_scan_said_free(&said);
}

/* Small ones follow the ask, large ones lie in a room. */
void wt_scan_serve_rows_are_taken_in(const struct wt_place *place)
{
    enum { LARGE = 200000, SMALL = 20 };
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    struct wi_scan_buf large = wt_scan_numbers(0, LARGE);
    struct wi_scan_buf small = wt_scan_numbers(LARGE, SMALL);
    struct wi_scan_buf none = {0};
    uint64_t id[2];
    wt_scan_client_open(&c, s, 0);
    uint64_t room = wt_scan_room(&c, large.len);
    load(&c, "take", id);
    wt_scan_put(&c, room, &large);
    struct wi_scan_ask a = fill_of(&c, id, &large, 0);
    a.region = room;
    expect_fill(&c, &a, NULL, 0);
    a = fill_of(&c, id, &small, 0);
    expect_fill(&c, &a, small.bytes, 0);
    a = fill_of(&c, id, &none, WI_SCAN_END);
    wt_scan_post(&c, &a, NULL, 0, 1);
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t tag = wt_scan_next(&c, &said);
        cr_assert_eq(said.code, WEIR_OK, "%s", said.why);
        cr_assert(tag == 1 || said.a.rows == LARGE + SMALL);
        wt_scan_said_free(&said);
    }
    int64_t n = LARGE + SMALL;
    cr_assert_eq(s->engine.took_sum, n * (n - 1) / 2);
    cr_assert_eq(s->engine.took_status, 0);
    free(large.bytes);
    free(small.bytes);
    wt_scan_client_close(&c);
    cr_assert(wt_scan_until(s, wt_scan_empty));
    wt_scan_close(s);
}

/* Once the engine has what it wants, nothing more is. */
void wt_scan_serve_rows_after_the_last_are_refused(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    struct wi_scan_buf rows = wt_scan_numbers(0, 10);
    uint64_t id[2];
    wt_scan_client_open(&c, s, 0);
    load(&c, "take", id);
    struct wi_scan_ask a = fill_of(&c, id, &rows, WI_SCAN_END);
    wt_scan_post(&c, &a, rows.bytes, (uint32_t)rows.len, 1);
    for (uint32_t i = 0; i < 2; i++) {
        (void)wt_scan_next(&c, &said);
        cr_assert_eq(said.code, WEIR_OK, "%s", said.why);
        wt_scan_said_free(&said);
    }
    a.flags = 0;
    expect_fill(&c, &a, rows.bytes, WI_SCAN_END);
    a = wt_scan_request(&c, "take", (uint8_t[WI_SCAN_ASK_INLINE]){0});
    memcpy(a.id, id, sizeof(a.id));
    uint8_t bytes[WI_SCAN_ASK_INLINE] = {0};
    wt_scan_expect(&c, &a, bytes, WEIR_ERR_NOT_FOUND); /* used */
    free(rows.bytes);
    wt_scan_client_close(&c);
    wt_scan_close(s);
}

static uint32_t took_status(struct wt_scan *s)
{
    (void)pthread_mutex_lock(&s->engine.lock);
    int status = s->engine.took_status;
    (void)pthread_mutex_unlock(&s->engine.lock);
    return (uint32_t)status;
}

void wt_scan_serve_malformed_rows_fail_the_request(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    struct wi_scan_buf rows = wt_scan_numbers(0, 10);
    uint64_t id[2];
    wt_scan_client_open(&c, s, 0);
    load(&c, "take", id);
    rows.bytes[sizeof(struct wi_scan_part)] ^= 1; /* the head's magic */
    struct wi_scan_ask a = fill_of(&c, id, &rows, 0);
    wt_scan_post(&c, &a, rows.bytes, (uint32_t)rows.len, 1);
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t tag = wt_scan_next(&c, &said);
        cr_assert_eq(said.code, tag == 1 ? WEIR_ERR_DATA : WEIR_OK);
        cr_assert(tag == 1 || said.a.code == WEIR_ERR_QUERY_DATA);
        wt_scan_said_free(&said);
    }
    cr_assert_eq(took_status(s), EIO);
    free(rows.bytes);
    wt_scan_client_close(&c);
    wt_scan_close(s);
}

/* The answer has the client's words, also where the engine says nothing. */
static void fail_rows(struct wt_scan *s, const char *text)
{
    struct wt_scan_client c;
    struct wt_scan_said said;
    struct wi_scan_buf fault = {0};
    uint64_t id[2];
    wt_scan_client_open(&c, s, 0);
    load(&c, text, id);
    wi_scan_fault_encode(&(struct weir_scan_fault){0}, "no more paper", &fault);
    struct wi_scan_ask a = fill_of(&c, id, &fault, WI_SCAN_FAILED);
    a.n = 0;
    wt_scan_post(&c, &a, fault.bytes, (uint32_t)fault.len, 1);
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t tag = wt_scan_next(&c, &said);
        cr_assert_eq(said.code, WEIR_OK, "%s", said.why);
        cr_assert_eq(said.a.flags, tag == 1 ? WI_SCAN_END : 0);
        if (tag != 1) {
            cr_assert_eq(said.a.code, WEIR_ERR_QUERY_DATA, "%s", text);
            struct weir_scan_fault f = wt_scan_fault(&said);
            cr_assert_str_eq(f.text, "no more paper");
            free(f.text);
        }
        wt_scan_said_free(&said);
    }
    cr_assert_eq(took_status(s), EIO);
    free(fault.bytes);
    wt_scan_client_close(&c);
}

void wt_scan_serve_failure_of_rows_reaches_the_engine(
    const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    fail_rows(s, "take");
    fail_rows(s, "gulp");
    wt_scan_close(s);
}

/* It dies, or cancels, while the engine waits for its rows. */
void wt_scan_serve_client_with_rows_leaves(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        struct wt_scan_client c;
        struct wi_scan_buf rows = wt_scan_numbers(0, 10);
        uint64_t id[2];
        wt_scan_client_open(&c, s, 0);
        load(&c, "take", id);
        struct wi_scan_ask a = fill_of(&c, id, &rows, 0);
        expect_fill(&c, &a, rows.bytes, 0); /* the engine has them */
        if (i == 0) {
            struct wt_scan_said said;
            a = wt_scan_ask(&c, WI_SCAN_ASK_END);
            a.call = c.call;
            wt_scan_post(&c, &a, NULL, 0, 1);
            for (uint32_t k = 0; k < 2; k++) {
                uint64_t tag = wt_scan_next(&c, &said);
                cr_assert_eq(said.code,
                             tag == 1 ? WEIR_OK : WEIR_ERR_CANCELLED);
                wt_scan_said_free(&said);
            }
        }
        wt_scan_client_close(&c);
        cr_assert(wt_scan_until(s, wt_scan_empty));
        cr_assert_eq(took_status(s), ECANCELED);
        s->engine.took_status = 0;
        free(rows.bytes);
    }
    wt_scan_close(s);
}

/* What goes in comes out: two directions of one client at a time. */
void wt_scan_serve_rows_are_sent_back(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    struct wi_scan_buf rows = wt_scan_numbers(0, 30);
    uint64_t id[2];
    uint64_t slot = 0;
    uint32_t flags = 0;
    wt_scan_client_open(&c, s, 0);
    load(&c, "echo", id);
    struct wi_scan_ask a = fill_of(&c, id, &rows, WI_SCAN_END);
    wt_scan_post(&c, &a, rows.bytes, (uint32_t)rows.len, 1);
    for (uint32_t i = 0; i < 2; i++) {
        if (wt_scan_next(&c, &said) != 1) {
            cr_assert_eq(wt_scan_rows(&said, 0), 30);
            flags = said.a.flags;
            slot = said.a.region;
            memcpy(id, said.a.id, sizeof(id));
        }
        wt_scan_said_free(&said);
    }
    if (flags != WI_SCAN_END) { /* the engine was slow to say so */
        wt_scan_next_of(&c, id, slot, &said);
        cr_assert(said.a.flags == WI_SCAN_END && said.a.n_batches == 0);
        wt_scan_said_free(&said);
    }
    free(rows.bytes);
    wt_scan_client_close(&c);
    cr_assert(wt_scan_until(s, wt_scan_empty));
    wt_scan_close(s);
}

/* An engine that has no use for rows: FILLs get their end. */
void wt_scan_serve_rows_that_nobody_wants(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    struct wi_scan_buf rows = wt_scan_numbers(0, 30);
    wt_scan_client_open(&c, s, 0);
    for (uint32_t i = 0; i < 10; i++) { /* places are freed */
        uint64_t id[2];
        load(&c, "nothing", id);
        (void)wt_scan_next(&c, &said);
        cr_assert_eq(said.a.rows, 7);
        wt_scan_said_free(&said);
        struct wi_scan_ask a = fill_of(&c, id, &rows, 0);
        expect_fill(&c, &a, rows.bytes, WI_SCAN_END);
    }
    free(rows.bytes);
    wt_scan_client_close(&c);
    wt_scan_close(s);
}

void wt_scan_serve_long_request_lies_in_a_room(const struct wt_place *place)
{
    enum { LONG = 5000 };
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    struct wi_scan_buf buf = {0};
    struct weir_error err;
    char text[LONG + 1];
    memset(text, ' ', LONG);
    memcpy(text, "numbers 1 4", 11);
    text[LONG] = '\0';
    const struct weir_scan_request request = {.dataset = "raw", .text = text};
    cr_assert_eq(wi_scan_request_encode(&request, &buf, &err), WEIR_OK);
    wt_scan_client_open(&c, s, 0);
    uint64_t room = wt_scan_room(&c, buf.len);
    wt_scan_put(&c, room, &buf);
    struct wi_scan_ask a = wt_scan_ask(&c, WI_SCAN_ASK_OPEN);
    a.region = room;
    a.n_bytes = buf.len;
    a.call = ++c.call;
    wt_scan_say(&c, &a, NULL, &said);
    cr_assert_eq(wt_scan_rows(&said, 0), 4);
    wt_scan_said_free(&said);
    a.call = ++c.call;
    a.n_bytes = 1u << 30; /* longer than the room */
    wt_scan_expect(&c, &a, NULL, WEIR_ERR_NOT_FOUND);
    free(buf.bytes);
    wt_scan_client_close(&c);
    wt_scan_close(s);
}
