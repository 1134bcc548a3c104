/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <weir/weir.h>

#include "core/base/futex.h"
#include "core/link/engine.h"
#include "core/link/lock.h"
#include "core/link/worker.h"
#include "core/node/duty.h"
#include "core/node/node_os.h"

static weir_node *open_node(void)
{
    const struct weir_node_params params = {
        .transport = "tcp", .listen = "127.0.0.1:0", .workers = 2};
    struct weir_error err;
    weir_node *node = NULL;
    cr_assert_eq(weir_node_open(&params, &node, &err), WEIR_OK, "%s",
                 err.message);
    return node;
}

/* Does the network thread sleep, on duty and for as long as nothing happens? */
static bool thread_rests(weir_node *node)
{
    (void)pthread_mutex_lock(&node->lock);
    bool rests = wi_load_sc(&node->os->duty) == WI_DUTY_THREAD &&
                 !node->os->ticking &&
                 wi_load_sc(&node->os->thread.asleep) != 0;
    (void)pthread_mutex_unlock(&node->lock);
    return rests;
}

/* The duty for worker 0, while the network thread sleeps. */
static struct wi_worker *take(weir_node *node)
{
    struct wi_worker *w = &node->engine.workers[0];
    while (!thread_rests(node) || !wi_duty_take(node, w)) {
        wi_give_turn();
    }
    return w;
}

/* The worker is woken for it, and its time is over. */
Test(duty, work_for_a_worker_that_leaves_is_done, .timeout = 20)
{
    weir_node *node = open_node();
    for (uint32_t i = 0; i < 20; i++) {
        (void)take(node);
        wi_store_sc(&node->os->worker.asleep, 1); /* as wi_duty_sleep() does */
        wi_engine_kick(&node->engine);
        wi_store_sc(&node->os->worker.asleep, 0);
        wi_duty_leave(node);
        while (wi_load_sc(&node->engine.kick) != 0) {
            wi_give_turn();
        }
    }
    weir_node_close(node);
}

/* The network thread's step may use up what the worker has armed. */
Test(duty, step_beside_the_worker_on_duty_wakes_it, .timeout = 20)
{
    weir_node *node = open_node();
    (void)take(node);
    struct pollfd fd = {.fd = node->os->worker.fd, .events = POLLIN};
    cr_assert_eq(poll(&fd, 1, 0), 0);
    wi_engine_kick(
        &node->engine); /* the worker is awake: the thread makes it */
    cr_assert_eq(poll(&fd, 1, 10000), 1);
    wi_duty_leave(node);
    weir_node_close(node);
}

static void *wait_long(void *node)
{
    (void)weir_worker_wait(node, 0, WEIR_FOREVER);
    return NULL;
}

/* What worker 0 sleeps on when `turns` have passed, or it has gone to sleep. */
static uint32_t sleeps_on(weir_node *node, uint32_t turns)
{
    struct wi_bell *b = node->engine.workers[0].bell;
    uint32_t how;
    while ((how = wi_load_sc(&b->parked)) == WI_AWAKE && turns-- > 0) {
        wi_give_turn();
    }
    return how;
}

/* A step of the engine, of an hour, does not keep a worker from the duty. */
Test(duty, worker_that_finds_the_engine_busy_gets_the_duty, .timeout = 20)
{
    weir_node *node = open_node();
    pthread_t thread;
    struct wi_worker *w = take(node);
    wi_duty_leave(node);
    w->settled = true; /* it has nothing to publish under the lock */
    (void)pthread_mutex_lock(&node->lock);
    cr_assert_eq(pthread_create(&thread, NULL, wait_long, node), 0);
    cr_assert_neq(sleeps_on(node, 20000), WI_PARKED, "nobody would wake it");
    (void)pthread_mutex_unlock(&node->lock);
    cr_assert_eq(sleeps_on(node, UINT32_MAX), WI_DOZING);
    wi_worker_notify(&node->engine.workers[0], WI_ATTN_EVENT);
    (void)pthread_join(thread, NULL);
    weir_node_close(node);
}

/* It found another one on duty, which left before it said that it sleeps. */
Test(duty, worker_does_not_sleep_while_the_duty_is_free, .timeout = 20)
{
    weir_node *node = open_node();
    struct wi_worker *w = take(node);
    cr_assert_not(wi_duty_take(node, w + 1));
    wi_duty_leave(node);
    cr_assert_not(wi_duty_park(node, w + 1, UINT64_MAX));
    cr_assert(wi_duty_take(node, w + 1));
    wi_duty_leave(node);
    weir_node_close(node);
}

/* Nobody else would look: it sleeps elsewhere. */
Test(duty, thread_receives_for_a_worker_that_is_armed, .timeout = 20)
{
    weir_node *node = open_node();
    (void)take(node);
    cr_assert_geq(weir_worker_fd(node, 1), 0);
    while (weir_worker_arm(node, 1) == WEIR_AGAIN) {
    }
    wi_duty_leave(node);
    cr_assert_eq(wi_load_sc(&node->os->duty), WI_DUTY_THREAD);
    weir_node_close(node);
}

/* ---- what is said of it -------------------------------------------------- */

static void find_sleep(void *arg, const char *line)
{
    const char *state = strstr(line, "asleep in weir_worker_wait");
    const char *since = state != NULL ? strstr(state, " for ") : NULL;
    if (since != NULL) {
        (void)sscanf(since, " for %lf s", (double *)arg);
    }
}

/* It rises for each step of the engine, and yet has slept all the time. */
Test(duty, worker_on_duty_sleeps_since_it_waits, .timeout = 20)
{
    weir_node *node = open_node();
    pthread_t thread;
    double secs = 0;
    cr_assert_eq(pthread_create(&thread, NULL, wait_long, node), 0);
    while (secs < 0.3) {
        wi_engine_kick(&node->engine);
        cr_assert_eq(weir_node_report(node, find_sleep, &secs), WEIR_OK);
        wi_give_turn();
    }
    wi_worker_notify(&node->engine.workers[0], WI_ATTN_EVENT);
    (void)pthread_join(thread, NULL);
    weir_node_close(node);
}
