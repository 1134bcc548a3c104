/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that come while a worker waits. */
#include "test/conformance/api.h"

#include <semaphore.h>
#include <signal.h>
#include <string.h>

enum { SIGNALS = 50 };

static sem_t handled;

static void on_signal(int number)
{
    (void)number;
    (void)sem_post(&handled); /* one of the calls that handlers may make */
}

struct sleeper {
    weir_node *node;
    weir_query *query;
    uint64_t timeout_ns;
    sem_t ready;
    weir_err rc;
    weir_err status; /* of the query, as the wait returned */
};

static void *sleep_once(void *arg)
{
    struct sleeper *s = arg;
    while (weir_worker_wait(s->node, 0, 0) == WEIR_OK) {
    }
    (void)sem_post(&s->ready);
    s->rc = weir_worker_wait(s->node, 0, s->timeout_ns);
    s->status = weir_query_status(s->query, NULL);
    for (int i = 0; i < SIGNALS; i++) { /* nobody waits for the rest */
        (void)sem_post(&handled);
    }
    return NULL;
}

static bool went_to_sleep(void *arg)
{
    struct weir_node_stats stats;
    weir_node_stats_get(arg, &stats);
    return stats.waits != 0;
}

static void send_signals(pthread_t thread)
{
    for (int i = 0; i < SIGNALS; i++) {
        cr_assert_eq(pthread_kill(thread, SIGUSR1), 0);
        cr_assert_eq(sem_wait(&handled), 0);
    }
}

/* Handlers run, and the wait goes on until something happens: here the query is
 * cancelled after all of them. */
static void wait_through(const struct wt_place *place, int flags,
                         uint64_t timeout_ns)
{
    const struct wt_cluster_params cluster = {.nodes = 1};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
    struct sigaction before;
    struct wt_cluster c;
    struct wt_query q;
    pthread_t thread;
    wt_cluster_open(&c, place, &cluster);
    wt_query_open(&q, &c, 1, NULL);
    struct sleeper s = {
        .node = c.node[0], .query = q.query[0], .timeout_ns = timeout_ns};
    cr_assert_eq(sem_init(&handled, 0, 0), 0);
    cr_assert_eq(sem_init(&s.ready, 0, 0), 0);
    cr_assert_eq(sigaction(SIGUSR1, &action, &before), 0);
    cr_assert_eq(pthread_create(&thread, NULL, sleep_once, &s), 0);
    cr_assert_eq(sem_wait(&s.ready), 0);
    bool sleeps = wt_until(&c, went_to_sleep, c.node[0]);
    cr_assert(sleeps);
    send_signals(thread);
    weir_query_cancel(q.query[0], "awake now");
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_eq(s.rc, WEIR_OK);
    cr_assert_eq(s.status, WEIR_ERR_CANCELLED, "a signal ended the wait");
    cr_assert_eq(sigaction(SIGUSR1, &before, NULL), 0);
    (void)sem_destroy(&s.ready);
    (void)sem_destroy(&handled);
    wt_query_close(&q);
    wt_cluster_close(&c);
}

void wt_api_signals_do_not_end_a_wait(const struct wt_place *place)
{
    const uint64_t minute_ns = 60 * 1000000000ull;
#if defined(__SANITIZE_THREAD__)
    cr_skip_test("ThreadSanitizer keeps signals back while a thread parks");
#endif
    wait_through(place, 0, WEIR_FOREVER);
    wait_through(place, SA_RESTART, WEIR_FOREVER);
    wait_through(place, 0, minute_ns);
    wait_through(place, SA_RESTART, minute_ns);
}
