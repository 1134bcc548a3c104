/* SPDX-License-Identifier: Apache-2.0 */
/* Slots that a client keeps reading: what a server does when it is told so. */
#include "test/conformance/scan_serve.h"

#include <stdlib.h>

enum { BATCH = 1 << 20, ROWS = 100000 }; /* ROWS fill most of a batch */

static const struct weir_scan_server_params small = {.max_bytes = 2 * BATCH,
                                                     .batch_bytes = BATCH};

/* GIVE of n slots, as kept ones. */
static void keep(struct wt_scan_client *c, const uint64_t *slots, uint32_t n,
                 weir_err code)
{
    struct wi_scan_ask a = wt_scan_ask(c, WI_SCAN_ASK_GIVE);
    a.flags = WI_SCAN_KEPT;
    a.n_bytes = n * sizeof(slots[0]);
    wt_scan_expect(c, &a, slots, code);
}

static struct weir_got get(struct wt_scan_client *c, uint64_t slot,
                           uint64_t bytes)
{
    const struct weir_get get = {.name = {WEIR_SCAN_SPACE, slot},
                                 .bytes = bytes};
    uint32_t taken;
    cr_assert_eq(weir_fetch_get(c->fetch, c->peer, &get, 1, &taken), WEIR_OK);
    return wt_next_of(c->s->r, c->fetch);
}

/* Its memory is no more of the server's, nobody finds it, and it is not given
 * back twice; the next payload lies elsewhere. */
void wt_scan_serve_slot_that_is_kept_is_closed(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, &small);
    struct wt_scan_client c;
    struct wt_scan_said said;
    wt_scan_client_open(&c, s, 0);
    wt_scan_open_text(&c, "numbers 3 100000", &said);
    uint64_t id[2] = {said.a.id[0], said.a.id[1]};
    uint64_t slot = said.a.region;
    wt_scan_said_free(&said);
    cr_assert_neq(slot, 0);
    keep(&c, &slot, 1, WEIR_OK);
    weir_scan_server_stats(s->server, &s->stats);
    cr_assert_eq(s->stats.bytes, 0);
    struct weir_got got = get(&c, slot, 1);
    cr_assert_eq(got.code, WEIR_ERR_NOT_FOUND, "%s", weir_err_name(got.code));
    keep(&c, &slot, 1, WEIR_ERR_NOT_FOUND);
    struct wi_scan_ask a = wt_scan_ask(&c, WI_SCAN_ASK_GIVE);
    a.n_bytes = sizeof(slot);
    wt_scan_expect(&c, &a, &slot, WEIR_ERR_NOT_FOUND);
    wt_scan_next_of(&c, id, 0, &said);
    cr_assert_eq(wt_scan_rows(&said, ROWS), ROWS);
    cr_assert(said.a.region != 0 && said.a.region != slot);
    wt_scan_said_free(&said);
    wt_scan_client_close(&c);
    cr_assert(wt_scan_until(s, wt_scan_empty));
    wt_scan_close(s);
}

/* A reader that was told LATER gets on when its client says that it keeps what
 * it has; the bytes stay as they are. */
void wt_scan_serve_slots_that_are_kept_make_room(const struct wt_place *place)
{
    enum { PAYLOADS = 8 };
    const struct weir_scan_server_params one = {.max_bytes = BATCH,
                                                .batch_bytes = BATCH};
    struct wt_scan *s = wt_scan_open(place, 0, &one);
    struct wt_scan_client c;
    struct wt_scan_said said;
    struct weir_got lent[PAYLOADS];
    uint8_t *copy[PAYLOADS];
    wt_scan_client_open(&c, s, 0);
    wt_scan_open_text(&c, "numbers 9 100000", &said);
    uint64_t id[2] = {said.a.id[0], said.a.id[1]};
    for (uint32_t i = 0; i < PAYLOADS; i++) {
        uint64_t slot = said.a.region;
        uint64_t bytes = said.a.n_bytes;
        cr_assert_eq(wt_scan_rows(&said, i * ROWS), ROWS);
        wt_scan_said_free(&said);
        lent[i] = get(&c, slot, bytes);
        cr_assert_eq(lent[i].code, WEIR_OK);
        copy[i] = malloc(bytes);
        memcpy(copy[i], lent[i].ptr, bytes);
        wt_scan_next_of(&c, id, 0, &said);
        cr_assert_eq(said.a.flags, WI_SCAN_LATER);
        wt_scan_said_free(&said);
        keep(&c, &slot, 1, WEIR_OK);
        wt_scan_next_of(&c, id, 0, &said);
    }
    cr_assert_eq(wt_scan_rows(&said, PAYLOADS * ROWS), ROWS);
    wt_scan_said_free(&said);
    for (uint32_t i = 0; i < PAYLOADS; i++) {
        cr_assert_arr_eq(lent[i].ptr, copy[i], lent[i].bytes, "payload %u", i);
        weir_fetch_release(c.fetch, &lent[i]);
        free(copy[i]);
    }
    weir_scan_server_stats(s->server, &s->stats);
    cr_assert_leq(s->stats.peak_bytes, BATCH);
    wt_scan_client_close(&c);
    cr_assert(wt_scan_until(s, wt_scan_empty));
    wt_scan_close(s);
}

/* All of a list, or none of it. */
void wt_scan_serve_kept_with_one_that_is_not_its_own(
    const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, &small);
    struct wt_scan_client c;
    struct wt_scan_said said;
    wt_scan_client_open(&c, s, 0);
    wt_scan_open_text(&c, "numbers 3 100000", &said);
    uint64_t other[2] = {said.a.region, said.a.region + 1};
    uint64_t twice[2] = {said.a.region, said.a.region};
    wt_scan_said_free(&said);
    keep(&c, other, 2, WEIR_ERR_NOT_FOUND);
    keep(&c, twice, 2, WEIR_ERR_DATA);
    struct weir_got got = get(&c, other[0], 1);
    cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(c.fetch));
    weir_fetch_release(c.fetch, &got);
    keep(&c, other, 1, WEIR_OK);
    wt_scan_client_close(&c);
    cr_assert(wt_scan_until(s, wt_scan_empty));
    wt_scan_close(s);
}
