/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of scan servers: what one of them leaves to the others. */
#include "test/conformance/scan_client.h"

#include <string.h>

/* More long requests of one client than there are threads. */
void wt_scan_client_long_requests_of_one_leave_threads_to_others(
    const struct wt_place *place)
{
    enum { LONG = 20, THREADS = 8 };
    const struct weir_scan_server_params p = {.threads = THREADS,
                                              .client_threads = 3};
    struct wt_scan *s = wt_scan_open(place, 0, &p);
    struct wt_scan_client greedy;
    struct wt_scan_said said;
    uint8_t bytes[WI_SCAN_ASK_INLINE];
    wt_scan_client_open(&greedy, s, 0);
    for (uint64_t i = 0; i < LONG; i++) {
        struct wi_scan_ask a = wt_scan_request(&greedy, "block", bytes);
        wt_scan_post(&greedy, &a, bytes, (uint32_t)a.n_bytes, i);
    }
    wt_scan_until_blocked(s, 3);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    struct ArrowArrayStream stream = wt_pull_query(c, "numbers 30 1000");
    cr_assert_eq(wt_pull_all(&stream), 30000);
    weir_scan_disconnect(c);
    /* Those that wait have their turn as others of the client end. */
    for (uint64_t i = 0; i < LONG; i++) {
        struct wi_scan_ask a = wt_scan_ask(&greedy, WI_SCAN_ASK_END);
        a.call = i + 1;
        wt_scan_post(&greedy, &a, NULL, 0, LONG + i);
    }
    for (uint64_t i = 0; i < 2 * LONG; i++) {
        (void)wt_scan_next(&greedy, &said);
        wt_scan_said_free(&said);
    }
    wt_scan_open_text(&greedy, "numbers 1 5", &said);
    cr_assert_eq(wt_scan_rows(&said, 0), 5);
    wt_scan_said_free(&said);
    wt_scan_client_close(&greedy);
    cr_assert(wt_scan_until(s, wt_scan_empty));
    wt_scan_close(s);
}

void wt_scan_client_request_that_takes_too_long_is_ended(
    const struct wt_place *place)
{
    const struct weir_scan_server_params p = {.statement_ns = 1000000};
    const struct weir_scan_request block = {.dataset = "raw", .text = "block"};
    struct wt_scan *s = wt_scan_open(place, 0, &p);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    struct ArrowArray batch;
    struct weir_error err;
    cr_assert_eq(weir_scan_open(c, &block, NULL, NULL, &err), WEIR_ERR_TIMEOUT,
                 "%s", err.message);
    cr_assert_not_null(strstr(err.message, "all the time"), "%s", err.message);
    struct ArrowArrayStream stream;
    const struct weir_scan_request later = {.dataset = "raw",
                                            .text = "block-next 3 10"};
    int status = 0;
    if (weir_scan_open(c, &later, &stream, NULL, &err) == WEIR_OK) {
        do {
            status = stream.get_next(&stream, &batch);
            if (status == 0) {
                cr_assert_not_null(batch.release, "that is not its end");
                batch.release(&batch);
            }
        } while (status == 0);
        stream.release(&stream);
    }
    wt_pull_close(s, c);
}

/* What one holds, others have beside it; its rows come in any case. */
void wt_scan_client_memory_of_one_is_a_share(const struct wt_place *place)
{
    enum { BATCH = 1 << 18, SHARE = 3 };
    const struct weir_scan_server_params p = {.max_bytes = 64 * BATCH,
                                              .batch_bytes = BATCH,
                                              .client_bytes = SHARE * BATCH};
    const struct weir_scan_client_params ahead = {.ahead = 16};
    struct wt_scan *s = wt_scan_open(place, 0, &p);
    weir_scan_client *c = wt_pull_open(s, 0, &ahead);
    struct ArrowArrayStream stream = wt_pull_query(c, "numbers 60 30000");
    cr_assert_eq(wt_pull_all(&stream), 1800000);
    weir_scan_server_stats(s->server, &s->stats);
    cr_assert_leq(s->stats.peak_bytes, (uint64_t)SHARE * BATCH, "%lu bytes",
                  (unsigned long)s->stats.peak_bytes);
    wt_pull_close(s, c);
}
