/* SPDX-License-Identifier: Apache-2.0 */
#include "core/node/netthread.h"

#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/link/engine.h"
#include "core/link/lock.h"
#include "core/node/node_os.h"
#include "core/node/step.h"

void wi_netthread_wake(struct wi_node_os *os)
{
    /* E11 sc: the work was left before; pairs with E11 sc in nap() */
    if (wi_load_sc(&os->sleeping) != 0) {
        uint64_t one = 1;
        (void)!write(os->wake_fd, &one, sizeof(one));
    }
}

static void drain(int fd)
{
    uint64_t count;
    (void)!read(fd, &count, sizeof(count));
}

static void nap(struct weir_node *n, uint64_t until_ns)
{
    struct wi_node_os *os = n->os;
    struct wi_engine *e = &n->engine;
    wi_node_lock(n);
    weir_err armed = e->ops->arm(e->transport);
    wi_node_unlock(n);
    if (armed != WEIR_OK) {
        return;
    }
    struct pollfd fds[2] = {
        {.fd = e->ops->fd(e->transport), .events = POLLIN},
        {.fd = os->wake_fd, .events = POLLIN},
    };
    /* E11 sc: going to sleep, then a last look for work; pairs with E11 sc in
     * wi_engine_kick() and wi_netthread_wake() */
    wi_store_sc(&os->sleeping, 1);
    if (wi_load_sc(&e->kick) == 0 && wi_load_sc(&os->stop) == 0) { /* E11 */
        uint64_t now = wi_clock_now();
        uint64_t ns = until_ns > now ? until_ns - now : 0;
        struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000u),
                              .tv_nsec = (long)(ns % 1000000000u)};
        (void)ppoll(fds, 2, until_ns == UINT64_MAX ? NULL : &ts, NULL);
    }
    wi_store_sc(&os->sleeping, 0); /* E11 sc: as above */
    if ((fds[1].revents & POLLIN) != 0) {
        drain(os->wake_fd);
    }
}

static void *run(void *arg)
{
    struct weir_node *n = arg;
    struct wi_node_os *os = n->os;
    while (wi_load_sc(&os->stop) == 0) { /* E11 sc: as in nap() */
        (void)pthread_mutex_lock(&n->lock);
        uint32_t moved = wi_engine_step(&n->engine, wi_clock_now());
        uint64_t next = wi_engine_next(&n->engine);
        if (os->waiters != 0 && moved != 0) {
            (void)pthread_cond_broadcast(&os->moved);
        }
        (void)pthread_mutex_unlock(&n->lock);
        if (moved == 0) {
            nap(n, next);
        }
    }
    return NULL;
}

weir_err wi_netthread_start(struct weir_node *n, struct weir_error *err)
{
    weir_err rc =
        wi_thread_start(&n->os->thread, run, n, "the network of a node", err);
    n->os->thread_runs = rc == WEIR_OK;
    return rc;
}

void wi_netthread_stop(struct weir_node *n)
{
    if (n->os->thread_runs) {
        wi_store_sc(&n->os->stop, 1); /* E11 sc: as in nap() */
        wi_netthread_wake(n->os);
        (void)pthread_join(n->os->thread, NULL);
        n->os->thread_runs = false;
    }
}
