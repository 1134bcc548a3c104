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
    const struct weir_node_params params = {.transport = "tcp",
                                            .listen = "127.0.0.1:0"};
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
    bool rests = node->os->duty == WI_DUTY_THREAD && !node->os->ticking &&
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
        struct wi_worker *w = take(node);
        wi_store_sc(&node->os->worker.asleep, 1); /* as wi_duty_sleep() does */
        wi_engine_kick(&node->engine);
        wi_store_sc(&node->os->worker.asleep, 0);
        wi_duty_leave(node, w);
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
    struct wi_worker *w = take(node);
    struct pollfd fd = {.fd = node->os->worker.fd, .events = POLLIN};
    cr_assert_eq(poll(&fd, 1, 0), 0);
    wi_engine_kick(
        &node->engine); /* the worker is awake: the thread makes it */
    cr_assert_eq(poll(&fd, 1, 10000), 1);
    wi_duty_leave(node, w);
    weir_node_close(node);
}

/* ---- what is said of it -------------------------------------------------- */

static void *wait_long(void *node)
{
    (void)weir_worker_wait(node, 0, WEIR_FOREVER);
    return NULL;
}

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
