/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of scan servers: errors, cancels, ends. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "test/conformance/scan_client.h"

void wt_scan_client_error_of_open_is_whole(const struct wt_place *place)
{
    static const size_t lengths[] = {3, 900, 5000, 300000};
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        char text[32];
        struct weir_error err;
        struct weir_scan_request r = {.dataset = "raw", .text = text};
        (void)snprintf(text, sizeof(text), "fail %zu", lengths[i]);
        cr_assert_eq(weir_scan_open(c, &r, NULL, NULL, &err),
                     WEIR_ERR_QUERY_DATA);
        const struct weir_scan_fault *fault = weir_scan_last_fault(c);
        cr_assert_eq(strlen(fault->text), lengths[i]);
        cr_assert_eq(fault->vendor, 42);
        cr_assert_str_eq(fault->sqlstate, "22012");
        cr_assert_eq(strncmp(fault->text, err.message, strlen(err.message)), 0);
        struct ArrowArrayStream stream = wt_pull_query(c, "numbers 2 2");
        cr_assert_null(weir_scan_last_fault(c)->text);
        cr_assert_eq(wt_pull_all(&stream), 4);
    }
    wt_pull_close(s, c);
}

void wt_scan_client_error_of_a_batch_is_whole(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    struct ArrowArrayStream stream = wt_pull_query(c, "fail-next 3 2000");
    struct ArrowArray batch;
    cr_assert_null(stream.get_last_error(&stream));
    for (int64_t i = 0; i < 3; i++) {
        batch = wt_pull_next(&stream);
        cr_assert_eq(wt_pull_check(&batch, i * 10), 10);
        batch.release(&batch);
    }
    for (int i = 0; i < 2; i++) { /* it stays so */
        cr_assert_eq(stream.get_next(&stream, &batch), EIO);
        cr_assert_eq(strlen(stream.get_last_error(&stream)), 2000);
    }
    cr_assert_eq(strlen(weir_scan_last_fault(c)->text), 2000);
    stream.release(&stream);
    wt_pull_close(s, c);
}

static void expect(weir_scan_client *c, const struct weir_scan_request *r,
                   weir_err code, const char *text)
{
    struct ArrowArrayStream stream;
    struct weir_error err;
    weir_err have = weir_scan_open(c, r, &stream, NULL, &err);
    cr_assert_eq(have, code, "%s", weir_err_name(have));
    cr_assert_not_null(strstr(err.message, text), "%s", err.message);
    cr_assert_not_null(strstr(weir_scan_last_fault(c)->text, text));
}

void wt_scan_client_what_is_not_there_is_not_found(const struct wt_place *place)
{
    const struct weir_scan_request r = {.dataset = "moon", .text = "x"};
    const struct weir_scan_id id = {{5, 6}};
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    weir_scan_client *other =
        wt_pull_open(s, 0, &(struct weir_scan_client_params){.space = 77});
    struct ArrowArrayStream stream;
    expect(c, &r, WEIR_ERR_NOT_FOUND, "moon");
    expect(other, &r, WEIR_ERR_NOT_FOUND, "");
    expect(other, &r, WEIR_ERR_NOT_FOUND, ""); /* and can be asked again */
    cr_assert_eq(weir_scan_open_range(c, &id, 0, &stream, NULL),
                 WEIR_ERR_NOT_FOUND);
    weir_scan_disconnect(other);
    wt_pull_close(s, c);
}

/* ---- cancelling ---------------------------------------------------------- */

struct canceller {
    struct wt_scan *s;
    weir_scan_client *c;
};

static void *cancel_blocked(void *arg)
{
    struct canceller *k = arg;
    struct wt_scan_engine *e = &k->s->engine;
    (void)pthread_mutex_lock(&e->lock);
    while (e->blocked == 0) {
        (void)pthread_cond_wait(&e->changed, &e->lock);
    }
    (void)pthread_mutex_unlock(&e->lock);
    weir_scan_cancel(k->c);
    return NULL;
}

static void start_cancel(struct canceller *k, pthread_t *thread)
{
    int rc = pthread_create(thread, NULL, cancel_blocked, k);
    cr_assert_eq(rc, 0);
}

void wt_scan_client_open_is_cancelled(const struct wt_place *place)
{
    const struct weir_scan_request r = {.dataset = "raw", .text = "block"};
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    struct canceller k = {s, c};
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        start_cancel(&k, &thread);
        expect(c, &r, WEIR_ERR_CANCELLED, "cancelled");
        (void)pthread_join(thread, NULL);
        wt_scan_until_blocked(s, 0); /* the engine has heard of it */
        struct ArrowArrayStream stream = wt_pull_query(c, "numbers 2 2");
        cr_assert_eq(wt_pull_all(&stream), 4); /* later calls are not */
    }
    wt_pull_close(s, c);
}

/* Each batch is a payload: none waits for the next one. */
static const struct weir_scan_server_params by_batch = {.batch_bytes = 64};

void wt_scan_client_stream_is_cancelled(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, &by_batch);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    struct canceller k = {s, c};
    struct ArrowArrayStream idle = wt_pull_query(c, "numbers 100 1000");
    struct ArrowArrayStream stream = wt_pull_query(c, "block-next 2 10");
    struct ArrowArray batch;
    pthread_t thread;
    start_cancel(&k, &thread);
    int64_t n = 0;
    int status;
    while ((status = stream.get_next(&stream, &batch)) == 0) {
        n += wt_pull_check(&batch, n);
        batch.release(&batch);
    }
    (void)pthread_join(thread, NULL);
    cr_assert_eq(status, ECANCELED);
    cr_assert_not_null(strstr(stream.get_last_error(&stream), "cancelled"));
    cr_assert_leq(n, 20);
    cr_assert_eq(idle.get_next(&idle, &batch), ECANCELED);
    stream.release(&stream);
    idle.release(&idle);
    struct ArrowArrayStream later = wt_pull_query(c, "numbers 2 2");
    cr_assert_eq(wt_pull_all(&later), 4);
    wt_pull_close(s, c);
}

void wt_scan_client_answer_that_is_late_is_given_up(
    const struct wt_place *place)
{
    const struct weir_scan_client_params p = {.timeout_ns = 100000000};
    const struct weir_scan_request r = {.dataset = "raw", .text = "block"};
    struct wt_scan *s = wt_scan_open(place, 0, &by_batch);
    weir_scan_client *c = wt_pull_open(s, 0, &p);
    struct ArrowArray batch;
    expect(c, &r, WEIR_ERR_TIMEOUT, "0.1 s");
    wt_scan_until_blocked(s, 0);
    struct ArrowArrayStream stream = wt_pull_query(c, "block-next 1 1");
    batch = wt_pull_next(&stream);
    batch.release(&batch);
    cr_assert_eq(stream.get_next(&stream, &batch), ETIMEDOUT);
    stream.release(&stream);
    wt_scan_until_blocked(s, 0);
    wt_pull_close(s, c);
}

/* ---- ends ---------------------------------------------------------------- */

void wt_scan_client_server_that_closes_ends_streams(
    const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    struct ArrowArrayStream stream = wt_pull_query(c, "numbers 100000 1000");
    struct ArrowArray batch = wt_pull_next(&stream);
    struct ArrowArray kept = batch;
    weir_scan_server_close(s->server);
    s->server = NULL;
    int status;
    while ((status = stream.get_next(&stream, &batch)) == 0) {
        cr_assert_not_null(batch.release, "that is not its end");
        batch.release(&batch);
    }
    cr_assert_eq(status, EIO);
    cr_assert_gt(strlen(stream.get_last_error(&stream)), 0);
    cr_assert_eq(wt_pull_check(&kept, 0), 1000); /* what is lent stays */
    kept.release(&kept);
    stream.release(&stream);
    weir_scan_disconnect(c);
    wt_scan_close(s);
}

static bool has_no_readers(const struct weir_scan_stats *stats)
{
    return stats->readers == 0;
}

void wt_scan_client_released_early_leaves_nothing(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    for (int i = 0; i < 20; i++) {
        struct ArrowArrayStream stream = wt_pull_query(c, "numbers 10000 2000");
        for (int k = 0; k < i; k++) {
            struct ArrowArray batch = wt_pull_next(&stream);
            batch.release(&batch);
        }
        stream.release(&stream);
        cr_assert(wt_scan_until(s, has_no_readers));
    }
    struct ArrowArrayStream stream = wt_pull_query(c, "numbers 100 9");
    cr_assert_eq(wt_pull_all(&stream), 900);
    wt_pull_close(s, c);
}

/* The program's mistake: it must not crash for that. */
void wt_scan_client_streams_left_open_fail(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    struct ArrowArrayStream stream = wt_pull_query(c, "numbers 10000 2000");
    struct ArrowArray batch;
    wt_pull_close(s, c);
    cr_assert_eq(stream.get_next(&stream, &batch), EIO);
    cr_assert_not_null(strstr(stream.get_last_error(&stream), "disconnected"));
    stream.release(&stream);
}
