/* SPDX-License-Identifier: Apache-2.0 */
/* What a server does to clients that break the rules, and against others. */
#include "test/conformance/scan_serve.h"

#include <stddef.h>
#include <stdlib.h>

/* ---- fields altered ------------------------------------------------------ */

struct alter {
    const char *name;
    size_t off;
    size_t bytes;
    uint64_t value;
};

#define FIELD(name, value)                                                     \
    {                                                                          \
#name, offsetof(struct wi_scan_ask, name),                             \
            sizeof(((struct wi_scan_ask *)0)->name), value                     \
    }

static const struct alter alters[] = {
    FIELD(version, 0),
    FIELD(version, 2),
    FIELD(kind, 0),
    FIELD(kind, 10),
    FIELD(kind, 0xffff),
    FIELD(flags, 1),
    FIELD(flags, WI_SCAN_KEPT),
    FIELD(flags, 0x80000000),
    FIELD(client[0], 1),
    FIELD(client[1], 1u << 30),
    FIELD(call, 1ull << 40), /* of those that have none, or before it is used */
    FIELD(call, 0),
    FIELD(id[0], 12345),
    FIELD(id[1], 54321),
    FIELD(region, 12345),
    FIELD(n_bytes, 3),
    FIELD(n_bytes, 1u << 20),
    FIELD(n_bytes, UINT64_MAX),
    FIELD(n, 0xffffffff),
    FIELD(zero, 1),
};

enum { ALTERS = sizeof(alters) / sizeof(alters[0]) };

/* Is the field, so altered, another valid ask of that kind? */
static bool is_allowed(const struct wi_scan_ask *a, const struct alter *f)
{
    return memcmp((const uint8_t *)a + f->off, &f->value, f->bytes) == 0 ||
           (a->kind == WI_SCAN_ASK_OPEN && strcmp(f->name, "call") == 0 &&
            f->value != 0) ||
           (a->kind == WI_SCAN_ASK_GIVE && strcmp(f->name, "flags") == 0 &&
            f->value == WI_SCAN_KEPT) ||
           (a->kind == WI_SCAN_ASK_ROOM && strcmp(f->name, "n_bytes") == 0);
}

static uint64_t opens(struct wt_scan *s)
{
    (void)pthread_mutex_lock(&s->engine.lock);
    uint64_t n = s->engine.opens;
    (void)pthread_mutex_unlock(&s->engine.lock);
    return n;
}

/* Each field of one good ask, which is not sent itself. */
static void alter_all(struct wt_scan_client *c, const struct wi_scan_ask *good,
                      const void *bytes)
{
    uint32_t n =
        good->region == 0 && bytes != NULL ? (uint32_t)good->n_bytes : 0;
    for (uint32_t i = 0; i < ALTERS; i++) {
        struct wt_scan_said said;
        struct wi_scan_ask a = *good;
        if (is_allowed(good, &alters[i])) {
            continue;
        }
        memcpy((uint8_t *)&a + alters[i].off, &alters[i].value,
               alters[i].bytes);
        wt_scan_post(c, &a, bytes, n, 1);
        cr_assert_eq(wt_scan_next(c, &said), 1);
        cr_assert(said.code == WEIR_ERR_DATA || said.code == WEIR_ERR_NOT_FOUND,
                  "kind %u, %s = %llx: %s", good->kind, alters[i].name,
                  (unsigned long long)alters[i].value,
                  weir_err_name(said.code));
        wt_scan_said_free(&said);
    }
}

static bool same(const struct weir_scan_stats *a,
                 const struct weir_scan_stats *b)
{
    return a->clients == b->clients && a->readers == b->readers &&
           a->bytes == b->bytes && a->opened == b->opened &&
           a->batches == b->batches;
}

void wt_scan_serve_altered_ask_changes_nothing(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    struct weir_scan_stats before;
    uint8_t bytes[WI_SCAN_ASK_INLINE];
    wt_scan_client_open(&c, s, 0);
    wt_scan_open_text(&c, "numbers 3 300000", &said);
    uint64_t opened = opens(s);
    weir_scan_server_stats(s->server, &before);
    struct wi_scan_ask a = wt_scan_request(&c, "numbers 1 1", bytes);
    alter_all(&c, &a, bytes);
    uint64_t slot = said.a.region;
    cr_assert_neq(slot, 0);
    a = wt_scan_ask(&c, WI_SCAN_ASK_NEXT);
    memcpy(a.id, said.a.id, sizeof(a.id));
    a.n_bytes = sizeof(slot);
    alter_all(&c, &a, &slot);
    a = wt_scan_ask(&c, WI_SCAN_ASK_GIVE);
    a.n_bytes = sizeof(slot);
    alter_all(&c, &a, &slot);
    a = wt_scan_ask(&c, WI_SCAN_ASK_END);
    a.call = c.call - 1;
    a.n_bytes = sizeof(slot);
    alter_all(&c, &a, &slot);
    a = wt_scan_ask(&c, WI_SCAN_ASK_ROOM);
    a.n_bytes = 100;
    alter_all(&c, &a, NULL);
    weir_scan_server_stats(s->server, &s->stats);
    cr_assert(same(&before, &s->stats));
    cr_assert_eq(opens(s), opened);
    uint64_t id[2] = {said.a.id[0], said.a.id[1]};
    wt_scan_said_free(&said);
    wt_scan_next_of(&c, id, slot, &said); /* and all is well */
    cr_assert_eq(wt_scan_rows(&said, 300000), 300000);
    wt_scan_said_free(&said);
    wt_scan_client_close(&c);
    wt_scan_close(s);
}

void wt_scan_serve_ask_cut_anywhere_is_refused(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    const struct weir_name name = {WEIR_SCAN_SPACE, WI_SCAN_ASKS};
    uint8_t bytes[WI_SCAN_ASK_INLINE];
    uint8_t all[WEIR_ASK_BYTES];
    wt_scan_client_open(&c, s, 0);
    struct wi_scan_ask a = wt_scan_request(&c, "numbers 1 1", bytes);
    memcpy(all, &a, sizeof(a));
    memcpy(all + sizeof(a), bytes, a.n_bytes);
    for (uint32_t len = 0; len < sizeof(a) + a.n_bytes; len++) {
        cr_assert_eq(weir_fetch_ask(c.fetch, c.peer, &name, all, len, 1),
                     WEIR_OK);
        (void)wt_scan_next(&c, &said);
        cr_assert_eq(said.code, WEIR_ERR_DATA, "%u: %s", len,
                     weir_err_name(said.code));
    }
    cr_assert_eq(opens(s), 0);
    wt_scan_client_close(&c);
    wt_scan_close(s);
}

/* ---- slots and calls ----------------------------------------------------- */

void wt_scan_serve_slot_is_given_back_once(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    wt_scan_client_open(&c, s, 0);
    wt_scan_open_text(&c, "numbers 3 300000", &said);
    uint64_t twice[2] = {said.a.region, said.a.region};
    uint64_t other[2] = {said.a.region, said.a.region + 1};
    wt_scan_said_free(&said);
    struct wi_scan_ask a = wt_scan_ask(&c, WI_SCAN_ASK_GIVE);
    a.n_bytes = sizeof(twice);
    wt_scan_expect(&c, &a, twice, WEIR_ERR_DATA);
    wt_scan_expect(&c, &a, other, WEIR_ERR_NOT_FOUND);
    a.n_bytes = sizeof(twice[0]); /* so neither took it */
    wt_scan_expect(&c, &a, twice, WEIR_OK);
    wt_scan_expect(&c, &a, twice, WEIR_ERR_DATA);
    wt_scan_client_close(&c);
    wt_scan_close(s);
}

void wt_scan_serve_call_is_used_once(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    uint8_t bytes[WI_SCAN_ASK_INLINE];
    wt_scan_client_open(&c, s, 0);
    wt_scan_open_text(&c, "numbers 1 1", &said);
    wt_scan_said_free(&said);
    struct wi_scan_ask a = wt_scan_request(&c, "numbers 1 1", bytes);
    a.call = 1;
    wt_scan_expect(&c, &a, bytes, WEIR_ERR_DATA);
    a = wt_scan_ask(&c, WI_SCAN_ASK_HOLD);
    wt_scan_expect(&c, &a, NULL, WEIR_ERR_DATA); /* there is one */
    wt_scan_client_close(&c);
    wt_scan_close(s);
}

/* ---- others' things ------------------------------------------------------ */

/* By another client, by another node in its name, and by nobody. */
void wt_scan_serve_others_things_are_not_found(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 3, NULL);
    struct wt_scan_client owner;
    struct wt_scan_client other;
    struct wt_scan_client thief;
    struct wt_scan_said said;
    wt_scan_client_open(&owner, s, 0);
    wt_scan_client_open(&other, s, 0);
    wt_scan_client_open(&thief, s, 2);
    thief.number[0] = owner.number[0];
    thief.number[1] = owner.number[1];
    wt_scan_open_text(&owner, "numbers 3 300000", &said);
    uint64_t slot = said.a.region;
    struct wt_scan_client *const others[] = {&other, &thief};
    for (uint32_t i = 0; i < 2; i++) {
        struct wi_scan_ask a = wt_scan_ask(others[i], WI_SCAN_ASK_NEXT);
        memcpy(a.id, said.a.id, sizeof(a.id));
        wt_scan_expect(others[i], &a, NULL, WEIR_ERR_NOT_FOUND);
        a = wt_scan_ask(others[i], WI_SCAN_ASK_GIVE);
        a.n_bytes = sizeof(slot);
        wt_scan_expect(others[i], &a, &slot, WEIR_ERR_NOT_FOUND);
        a = wt_scan_ask(others[i], WI_SCAN_ASK_END);
        a.call = owner.call;
        wt_scan_expect(others[i], &a, NULL,
                       i == 0 ? WEIR_ERR_DATA : WEIR_ERR_NOT_FOUND);
    }
    uint64_t id[2] = {said.a.id[0], said.a.id[1]};
    wt_scan_said_free(&said);
    wt_scan_next_of(&owner, id, slot, &said);
    cr_assert_eq(wt_scan_rows(&said, 300000), 300000);
    wt_scan_said_free(&said);
    wt_scan_client_close(&thief);
    wt_scan_client_close(&other);
    wt_scan_client_close(&owner);
    cr_assert(wt_scan_until(s, wt_scan_empty));
    wt_scan_close(s);
}

/* ---- limits -------------------------------------------------------------- */

static bool has_one_reader(const struct weir_scan_stats *stats)
{
    return stats->readers == 1;
}

void wt_scan_serve_readers_are_bounded(const struct wt_place *place)
{
    const struct weir_scan_server_params p = {.max_readers = 2};
    struct wt_scan *s = wt_scan_open(place, 0, &p);
    struct wt_scan_client c;
    struct wt_scan_said said;
    wt_scan_client_open(&c, s, 0);
    for (uint32_t i = 0; i < 3; i++) {
        wt_scan_open_text(&c, "numbers 3 300000", &said);
        cr_assert_eq(said.code, i < 2 ? WEIR_OK : WEIR_ERR_BUDGET);
        cr_assert(i < 2 || strstr(said.why, "max_readers") != NULL);
        wt_scan_said_free(&said);
    }
    wt_scan_end(&c, 1, 0);
    cr_assert(wt_scan_until(s, has_one_reader));
    wt_scan_open_text(&c, "numbers 1 1", &said);
    cr_assert_eq(said.code, WEIR_OK, "%s", said.why);
    wt_scan_said_free(&said);
    wt_scan_client_close(&c);
    wt_scan_close(s);
}

/* With memory for two payloads, three readers that have one each get no second
 * one, and go on when they have given the first one back. */
void wt_scan_serve_memory_is_bounded(const struct wt_place *place)
{
    enum { READERS = 3, BATCH = 1 << 20 };
    const struct weir_scan_server_params p = {.max_bytes = 2 * BATCH,
                                              .batch_bytes = BATCH};
    struct wt_scan *s = wt_scan_open(place, 0, &p);
    struct wt_scan_client c;
    struct wt_scan_said said[READERS];
    wt_scan_client_open(&c, s, 0);
    for (uint32_t i = 0; i < READERS; i++) {
        wt_scan_open_text(&c, "numbers 3 100000", &said[i]);
        cr_assert_eq(wt_scan_rows(&said[i], 0), 100000);
    }
    for (uint32_t i = 0; i < READERS; i++) {
        struct wt_scan_said later;
        uint64_t id[2] = {said[i].a.id[0], said[i].a.id[1]};
        wt_scan_next_of(&c, id, 0, &later);
        cr_assert_eq(later.a.flags, WI_SCAN_LATER);
        cr_assert(later.a.n_batches == 0 && later.a.region == 0);
        wt_scan_said_free(&later);
    }
    weir_scan_server_stats(s->server, &s->stats);
    cr_assert_leq(s->stats.peak_bytes, READERS * BATCH);
    for (uint32_t i = 0; i < READERS; i++) {
        uint64_t rows = 100000;
        uint64_t id[2] = {said[i].a.id[0], said[i].a.id[1]};
        while (rows < 300000) {
            uint64_t slot = said[i].a.region;
            wt_scan_said_free(&said[i]);
            wt_scan_next_of(&c, id, slot, &said[i]);
            rows += wt_scan_rows(&said[i], (int64_t)rows);
        }
        wt_scan_said_free(&said[i]);
    }
    wt_scan_client_close(&c);
    cr_assert(wt_scan_until(s, wt_scan_empty));
    cr_assert_leq(s->stats.peak_bytes, READERS * BATCH);
    wt_scan_close(s);
}

/* 200 clients of four nodes, each with a result of some payloads, of which the
 * server's memory has room for a few. */
void wt_scan_serve_two_hundred_clients_share_memory(
    const struct wt_place *place)
{
    enum { CLIENTS = 200, NODES = 6, BATCH = 1 << 18, ROWS = 20000 };
    const struct weir_scan_server_params p = {
        .max_bytes = 4 * BATCH, .batch_bytes = BATCH, .threads = 4};
    struct wt_scan *s = wt_scan_open(place, NODES, &p);
    struct wt_scan_client *c = calloc(CLIENTS, sizeof(*c));
    struct wt_scan_said said;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        uint32_t node = i % (NODES - 1);
        wt_scan_client_open(&c[i], s,
                            node == WT_SCAN_SERVER ? NODES - 1 : node);
    }
    uint64_t id[CLIENTS][2];
    uint64_t slot[CLIENTS];
    for (uint32_t i = 0; i < CLIENTS; i++) {
        wt_scan_open_text(&c[i], "numbers 3 20000", &said);
        cr_assert_eq(wt_scan_rows(&said, 0), ROWS);
        memcpy(id[i], said.a.id, sizeof(id[i]));
        slot[i] = said.a.region;
        wt_scan_said_free(&said);
    }
    weir_scan_server_stats(s->server, &s->stats);
    cr_assert(s->stats.clients == CLIENTS && s->stats.readers == CLIENTS);
    cr_assert_leq(s->stats.bytes, (uint64_t)CLIENTS * BATCH);
    for (uint32_t k = 1; k < 3; k++) {
        for (uint32_t i = 0; i < CLIENTS; i++) {
            wt_scan_next_of(&c[i], id[i], slot[i], &said);
            cr_assert_eq(wt_scan_rows(&said, k * ROWS), ROWS);
            slot[i] = said.a.region;
            wt_scan_said_free(&said);
        }
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        wt_scan_client_close(&c[i]);
    }
    cr_assert(wt_scan_until(s, wt_scan_empty));
    free(c);
    wt_scan_close(s);
}
