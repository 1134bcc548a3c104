/* SPDX-License-Identifier: Apache-2.0 */
/* Scans that several readers share, and readers that nobody asks for. */
#include "test/conformance/scan_serve.h"

#include <stdlib.h>

static void share(struct wt_scan_client *c, const char *text, uint32_t n,
                  uint64_t id[2])
{
    uint8_t bytes[WI_SCAN_ASK_INLINE];
    struct wt_scan_said said;
    struct wi_scan_ask a = wt_scan_request(c, text, bytes);
    a.n = n;
    wt_scan_say(c, &a, bytes, &said);
    cr_assert_eq(said.code, WEIR_OK, "%s", said.why);
    cr_assert_eq(said.a.flags, WI_SCAN_SHARED);
    cr_assert(said.a.schema_bytes > 0 && said.a.n_batches == 0);
    id[0] = said.a.id[0];
    id[1] = said.a.id[1];
    wt_scan_said_free(&said);
}

static struct wi_scan_ask range_of(struct wt_scan_client *c,
                                   const uint64_t id[2], uint32_t range)
{
    struct wi_scan_ask a = wt_scan_ask(c, WI_SCAN_ASK_RANGE);
    memcpy(a.id, id, sizeof(a.id));
    a.n = range;
    a.call = ++c->call;
    return a;
}

static bool has_no_readers(const struct weir_scan_stats *stats)
{
    return stats->readers == 0;
}

/* Three ranges, of clients on two nodes, take turns; together they get all
 * rows, each once. The client that shares it has gone by then. */
void wt_scan_serve_ranges_get_each_row_once(const struct wt_place *place)
{
    enum { RANGES = 3, ROWS = 40 * 20000 };
    const struct weir_scan_server_params p = {.batch_bytes = 1 << 18};
    struct wt_scan *s = wt_scan_open(place, 3, &p);
    struct wt_scan_client c[RANGES + 1];
    struct wt_scan_said said[RANGES];
    uint64_t id[2];
    uint64_t reader[RANGES][2];
    uint64_t rows = 0;
    int64_t sum = 0;
    wt_scan_client_open(&c[RANGES], s, 0);
    share(&c[RANGES], "numbers 40 20000", RANGES, id);
    for (uint32_t i = 0; i < RANGES; i++) {
        wt_scan_client_open(&c[i], s, i % 2 == 0 ? 0 : 2);
        struct wi_scan_ask a = range_of(&c[i], id, i);
        wt_scan_say(&c[i], &a, NULL, &said[i]);
        cr_assert_gt(said[i].a.schema_bytes, 0);
        memcpy(reader[i], said[i].a.id, sizeof(reader[i]));
        rows += wt_scan_sum(&said[i], &sum);
    }
    wt_scan_client_close(&c[RANGES]);
    for (uint32_t left = RANGES, i = 0; left > 0; i = (i + 1) % RANGES) {
        if (said[i].bytes == NULL) {
            continue;
        }
        uint64_t slot = said[i].a.region;
        bool end = (said[i].a.flags & WI_SCAN_END) != 0;
        wt_scan_said_free(&said[i]);
        if (end) {
            left--;
            continue;
        }
        wt_scan_next_of(&c[i], reader[i], slot, &said[i]);
        rows += wt_scan_sum(&said[i], &sum);
    }
    cr_assert_eq(rows, ROWS);
    cr_assert_eq(sum, (int64_t)ROWS * (ROWS - 1) / 2);
    for (uint32_t i = 0; i < RANGES; i++) {
        wt_scan_client_close(&c[i]);
    }
    cr_assert(wt_scan_until(s, wt_scan_empty));
    wt_scan_close(s);
}

void wt_scan_serve_range_is_opened_once(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    uint64_t id[2];
    wt_scan_client_open(&c, s, 0);
    share(&c, "numbers 4 300000", 2, id);
    struct wi_scan_ask a = range_of(&c, id, 2);
    wt_scan_expect(&c, &a, NULL, WEIR_ERR_ARG);
    a = range_of(&c, id, 1);
    wt_scan_say(&c, &a, NULL, &said);
    cr_assert_eq(said.code, WEIR_OK, "%s", said.why);
    wt_scan_said_free(&said);
    a = range_of(&c, id, 1);
    wt_scan_expect(&c, &a, NULL, WEIR_ERR_STATE);
    id[1]++;
    a = range_of(&c, id, 0);
    wt_scan_expect(&c, &a, NULL, WEIR_ERR_NOT_FOUND);
    id[1]--;
    a = range_of(&c, id, 0);
    wt_scan_say(&c, &a, NULL, &said);
    cr_assert_eq(said.code, WEIR_OK, "%s", said.why);
    wt_scan_said_free(&said);
    a = range_of(&c, id, 0); /* none are left: it is not to be found */
    wt_scan_expect(&c, &a, NULL, WEIR_ERR_NOT_FOUND);
    wt_scan_client_close(&c);
    cr_assert(wt_scan_until(s, wt_scan_empty));
    wt_scan_close(s);
}

/* Each range learns that rows are missing. */
void wt_scan_serve_failure_reaches_each_range(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    uint64_t id[2];
    wt_scan_client_open(&c, s, 0);
    share(&c, "fail-next 0 50", 3, id);
    for (uint32_t i = 0; i < 3; i++) {
        struct wt_scan_said said;
        struct wi_scan_ask a = range_of(&c, id, i);
        wt_scan_say(&c, &a, NULL, &said);
        struct weir_scan_fault fault = wt_scan_fault(&said);
        cr_assert_eq(strlen(fault.text), 50);
        cr_assert_neq(said.a.code, WEIR_OK);
        free(fault.text);
        wt_scan_said_free(&said);
    }
    wt_scan_client_close(&c);
    cr_assert(wt_scan_until(s, wt_scan_empty));
    wt_scan_close(s);
}

void wt_scan_serve_failure_to_share_is_whole(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    struct wt_scan_client c;
    struct wt_scan_said said;
    uint8_t bytes[WI_SCAN_ASK_INLINE];
    wt_scan_client_open(&c, s, 0);
    struct wi_scan_ask a = wt_scan_request(&c, "fail 3000", bytes);
    a.n = 4;
    wt_scan_say(&c, &a, bytes, &said);
    struct weir_scan_fault fault = wt_scan_fault(&said);
    cr_assert_eq(strlen(fault.text), 3000);
    cr_assert(said.a.id[0] == 0 && said.a.flags == 0);
    free(fault.text);
    wt_scan_said_free(&said);
    wt_scan_client_close(&c);
    cr_assert(wt_scan_until(s, wt_scan_empty));
    wt_scan_close(s);
}

/* Readers, and ranges that nobody opens. */
void wt_scan_serve_what_is_idle_is_freed(const struct wt_place *place)
{
    const struct weir_scan_server_params p = {.idle_ns = 20000000};
    struct wt_scan *s = wt_scan_open(place, 0, &p);
    struct wt_scan_client c;
    struct wt_scan_said said;
    uint64_t id[2];
    wt_scan_client_open(&c, s, 0);
    wt_scan_open_text(&c, "numbers 3 300000", &said);
    uint64_t reader[2] = {said.a.id[0], said.a.id[1]};
    uint64_t slot = said.a.region;
    wt_scan_said_free(&said);
    share(&c, "numbers 3 300000", 2, id);
    cr_assert(wt_scan_until(s, has_no_readers));
    cr_assert_eq(s->stats.clients, 1);
    wt_scan_next_of(&c, reader, 0, &said);
    cr_assert_eq(said.code, WEIR_ERR_NOT_FOUND);
    wt_scan_end(&c, 1, slot); /* it had the slot still */
    weir_err code = WEIR_OK;
    while (code != WEIR_ERR_NOT_FOUND) { /* the other one, too, soon */
        struct wi_scan_ask a = range_of(&c, id, 7);
        wt_scan_say(&c, &a, NULL, &said);
        code = said.code;
        cr_assert(code == WEIR_ERR_ARG || code == WEIR_ERR_NOT_FOUND);
        wt_scan_said_free(&said);
    }
    wt_scan_client_close(&c);
    cr_assert(wt_scan_until(s, wt_scan_empty));
    wt_scan_close(s);
}
