/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of scan servers: memory, who has it and for how long. */
#include <pthread.h>
#include <stdlib.h>

#include "test/conformance/scan_client.h"

enum { KEPT = 300 };

/* Read up to KEPT batches of a stream, without releasing any. */
static uint32_t keep_all(struct ArrowArrayStream *stream,
                         struct ArrowArray *kept)
{
    for (uint32_t n = 0; n < KEPT; n++) {
        kept[n] = wt_pull_next(stream);
        if (kept[n].release == NULL) {
            return n;
        }
    }
    cr_assert_fail("more batches than there should be");
    return 0;
}

static int64_t check_all(struct ArrowArray *kept, uint32_t n)
{
    int64_t rows = 0;
    for (uint32_t i = 0; i < n; i++) {
        rows += wt_pull_check(&kept[i], rows);
    }
    return rows;
}

struct releases {
    struct ArrowArray *kept;
    uint32_t n;
};

static void *release_all(void *arg)
{
    struct releases *r = arg;
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t k = (i * 7 + 3) % r->n; /* any order */
        if (r->kept[k].release != NULL) {
            r->kept[k].release(&r->kept[k]);
        }
    }
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->kept[i].release != NULL) {
            r->kept[i].release(&r->kept[i]);
        }
    }
    return NULL;
}

static void release_elsewhere(struct ArrowArray *kept, uint32_t n)
{
    struct releases r = {kept, n};
    pthread_t thread;
    int rc = pthread_create(&thread, NULL, release_all, &r);
    cr_assert_eq(rc, 0);
    (void)pthread_join(thread, NULL);
}

static void count(void *arg)
{
    ++*(int *)arg;
}

void wt_scan_client_arrays_outlive_their_client(const struct wt_place *place)
{
    static struct ArrowArray kept[KEPT];
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    for (int round = 0; round < 3; round++) {
        int freed = 0;
        const struct weir_scan_client_params p = {.freed = count,
                                                  .freed_arg = &freed};
        weir_scan_client *c = wt_pull_open(s, 0, &p);
        struct ArrowArrayStream stream = wt_pull_query(c, "numbers 100 20000");
        uint32_t n = keep_all(&stream, kept);
        stream.release(&stream);
        if (round == 2) {
            release_elsewhere(kept, n);
        }
        cr_assert_eq(freed, 0);
        weir_scan_disconnect(c);
        cr_assert(wt_scan_until(s, wt_scan_empty), "%lu bytes",
                  (unsigned long)s->stats.bytes);
        if (round != 2) {
            cr_assert_eq(freed, 0);
            cr_assert_eq(check_all(kept, n), 2000000);
            release_elsewhere(kept, n);
        }
        cr_assert_eq(freed, 1);
    }
    wt_scan_close(s);
}

/* A server that is short of memory, and a program that keeps all it gets. */
void wt_scan_client_arrays_that_are_kept_stop_nobody(
    const struct wt_place *place)
{
    static struct ArrowArray kept[2][KEPT];
    const struct weir_scan_server_params p = {.max_bytes = 1 << 20,
                                              .batch_bytes = 1 << 17};
    struct wt_scan *s = wt_scan_open(place, 0, &p);
    weir_scan_client *c[2] = {wt_pull_open(s, 0, NULL),
                              wt_pull_open(s, 0, NULL)};
    struct ArrowArrayStream stream[2];
    uint32_t n[2];
    for (int i = 0; i < 2; i++) {
        stream[i] = wt_pull_query(c[i], "numbers 200 10000");
        n[i] = keep_all(&stream[i], kept[i]);
    }
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(check_all(kept[i], n[i]), 2000000);
        release_elsewhere(kept[i], n[i]);
        stream[i].release(&stream[i]);
    }
    weir_scan_server_stats(s->server, &s->stats);
    cr_assert_leq(s->stats.peak_bytes, p.max_bytes + 2 * p.batch_bytes);
    weir_scan_disconnect(c[1]);
    wt_pull_close(s, c[0]);
}

/* What was kept once is the program's alone: released while rows still come,
 * its slots are not given back, and what comes then is what should. */
void wt_scan_client_kept_arrays_are_released_under_way(
    const struct wt_place *place)
{
    enum { AT_FIRST = 100, ALL = 200, ROWS = 10000 };
    static struct ArrowArray kept[AT_FIRST];
    const struct weir_scan_server_params p = {.max_bytes = 1 << 20,
                                              .batch_bytes = 1 << 17};
    struct wt_scan *s = wt_scan_open(place, 0, &p);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    struct ArrowArrayStream stream = wt_pull_query(c, "numbers 200 10000");
    for (uint32_t i = 0; i < AT_FIRST; i++) {
        kept[i] = wt_pull_next(&stream);
    }
    cr_assert_eq(check_all(kept, AT_FIRST), AT_FIRST * ROWS);
    release_elsewhere(kept, AT_FIRST);
    for (int64_t i = AT_FIRST; i < ALL; i++) {
        struct ArrowArray batch = wt_pull_next(&stream);
        cr_assert_eq(wt_pull_check(&batch, i * ROWS), ROWS);
        batch.release(&batch);
    }
    struct ArrowArray end = wt_pull_next(&stream);
    cr_assert_null(end.release);
    stream.release(&stream);
    wt_pull_close(s, c);
}

/* Half of max_bytes is lent at most: the server's slots come back before the
 * program gives anything back. */
void wt_scan_client_what_is_lent_is_bounded(const struct wt_place *place)
{
    static struct ArrowArray kept[KEPT];
    const struct weir_scan_client_params p = {.max_bytes = 4 << 20};
    const struct weir_scan_server_params sp = {.batch_bytes = 1 << 18};
    struct wt_scan *s = wt_scan_open(place, 0, &sp);
    weir_scan_client *c = wt_pull_open(s, 0, &p);
    struct ArrowArrayStream stream = wt_pull_query(c, "numbers 100 30000");
    uint32_t n = keep_all(&stream, kept);
    weir_scan_server_stats(s->server, &s->stats);
    /* what is lent, and what is ahead */
    cr_assert_leq(s->stats.peak_bytes, 2u * (2 << 20) + 6 * (1 << 18), "%lu",
                  (unsigned long)s->stats.peak_bytes);
    cr_assert_eq(check_all(kept, n), 3000000);
    release_elsewhere(kept, n);
    stream.release(&stream);
    wt_pull_close(s, c);
}

/* One thread, round-robin; the server has memory for a few of them. */
void wt_scan_client_a_hundred_streams_are_merged(const struct wt_place *place)
{
    enum { STREAMS = 100 };
    const struct weir_scan_server_params p = {
        .max_bytes = 2 << 20, .batch_bytes = 1 << 16, .threads = 4};
    const struct weir_scan_client_params cp = {.max_bytes = 1 << 20};
    static struct ArrowArrayStream stream[STREAMS];
    static struct ArrowArray last[STREAMS];
    struct wt_scan *s = wt_scan_open(place, 0, &p);
    weir_scan_client *c = wt_pull_open(s, 0, &cp);
    int64_t at[STREAMS] = {0};
    uint32_t open = STREAMS;
    for (uint32_t i = 0; i < STREAMS; i++) {
        stream[i] = wt_pull_query(c, "numbers 12 5000");
        last[i].release = NULL;
    }
    while (open > 0) {
        for (uint32_t i = 0; i < STREAMS; i++) {
            if (stream[i].release == NULL) {
                continue;
            }
            struct ArrowArray batch = wt_pull_next(&stream[i]);
            if (last[i].release != NULL) { /* held until its next one came */
                last[i].release(&last[i]);
            }
            last[i] = batch;
            if (batch.release == NULL) {
                cr_assert_eq(at[i], 60000);
                stream[i].release(&stream[i]);
                open--;
            } else {
                at[i] += wt_pull_check(&batch, at[i]);
            }
        }
    }
    wt_pull_close(s, c);
}

/* NEXTs of a reader that is over by then bring slots back, too: the server has
 * no more of them at the end than after the first stream. */
void wt_scan_client_slots_of_refused_asks_come_back(
    const struct wt_place *place)
{
    enum { STREAMS = 60, TOGETHER = 4 };
    const struct weir_scan_server_params p = {.batch_bytes = 1 << 16,
                                              .threads = 4};
    struct ArrowArrayStream stream[TOGETHER];
    struct wt_scan *s = wt_scan_open(place, 0, &p);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    for (uint32_t i = 0; i < STREAMS; i++) {
        for (uint32_t k = 0; k < TOGETHER; k++) {
            stream[k] = wt_pull_query(c, "numbers 6 5000");
        }
        for (uint32_t k = 0; k < TOGETHER; k++) {
            struct ArrowArray batch;
            while ((batch = wt_pull_next(&stream[k])).release != NULL) {
                batch.release(&batch);
            }
            stream[k].release(&stream[k]);
        }
    }
    weir_scan_server_stats(s->server, &s->stats);
    cr_assert_leq(s->stats.bytes, TOGETHER * 6u * (1 << 16), "%lu",
                  (unsigned long)s->stats.bytes);
    wt_pull_close(s, c);
}
