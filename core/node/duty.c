/* SPDX-License-Identifier: Apache-2.0 */
#include "core/node/duty.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/futex.h"
#include "core/link/engine.h"
#include "core/link/lock.h"
#include "core/link/worker.h"
#include "core/node/node_os.h"
#include "core/node/step.h"
#include "core/transport.h"

static void ring(int fd)
{
    uint64_t one = 1;
    (void)!write(fd, &one, sizeof(one));
}

static void drain(int fd)
{
    uint64_t count;
    (void)!read(fd, &count, sizeof(count));
}

/* ---- steps --------------------------------------------------------------- */

uint32_t wi_duty_step_locked(struct weir_node *n, uint64_t now_ns)
{
    uint32_t moved = wi_engine_step(&n->engine, now_ns);
    if (n->os->waiters != 0 && moved != 0) {
        (void)pthread_cond_broadcast(&n->os->moved);
    }
    return moved;
}

uint32_t wi_duty_help_locked(struct weir_node *n, uint64_t now_ns)
{
    uint32_t moved = wi_duty_step_locked(n, now_ns);
    if (n->os->duty == WI_DUTY_WORKER) {
        ring(n->os->worker.fd);
    }
    return moved;
}

uint32_t wi_duty_step(struct weir_node *n)
{
    (void)pthread_mutex_lock(&n->lock);
    uint32_t moved = wi_duty_step_locked(n, wi_clock_now());
    (void)pthread_mutex_unlock(&n->lock);
    return moved;
}

/* ---- whose it is --------------------------------------------------------- */

/* May workers have it? */
static bool is_shared(const struct weir_node *n)
{
    return (n->engine.ops->caps & WI_CAP_MAP) == 0 && n->os->thread_runs;
}

bool wi_duty_take(struct weir_node *n, struct wi_worker *w)
{
    struct wi_node_os *os = n->os;
    if (!is_shared(n) || pthread_mutex_trylock(&n->lock) != 0) {
        return false;
    }
    bool mine = os->duty != WI_DUTY_WORKER;
    if (mine) {
        os->duty = WI_DUTY_WORKER;
        /* E3 sc: before the worker says that it sleeps; pairs with E3 sc in
         * wi_duty_ring() */
        wi_store_sc(&os->on_duty, w->idx);
    }
    (void)pthread_mutex_unlock(&n->lock);
    return mine;
}

/* Somebody who sleeps without the duty finds it free and takes it. */
static void wake_next(struct wi_engine *e)
{
    for (uint32_t i = 0; i < e->cfg.workers; i++) {
        struct wi_bell *b = e->workers[i].bell;
        /* rlx: if it falls asleep now, the lease will pass */
        if (wi_load_rlx(&b->parked) == WI_PARKED) {
            (void)wi_bell_wake(b);
            return;
        }
    }
}

void wi_duty_leave(struct weir_node *n, struct wi_worker *w)
{
    struct wi_node_os *os = n->os;
    (void)w;
    (void)pthread_mutex_lock(&n->lock);
    os->duty = WI_DUTY_NOBODY;
    os->stints++;
    wake_next(&n->engine);
    if (!os->ticking) {
        /* E11 sc: as wi_engine_kick(), but always: a kick may have woken this
         * worker alone, which makes no step if its time is over */
        wi_store_sc(&n->engine.kick, 1);
        wi_duty_wake(n);
    }
    (void)pthread_mutex_unlock(&n->lock);
}

void wi_duty_return(struct weir_node *n)
{
    struct wi_node_os *os = n->os;
    if (!is_shared(n)) {
        return;
    }
    wi_node_lock(n);
    if (os->duty == WI_DUTY_NOBODY) {
        os->duty = WI_DUTY_THREAD;
        wi_engine_kick(&n->engine);
    }
    wi_node_unlock(n);
}

bool wi_duty_watch(struct weir_node *n, uint64_t now_ns, uint64_t *until_ns)
{
    struct wi_node_os *os = n->os;
    if (os->duty == WI_DUTY_NOBODY && os->stints == os->stints_seen &&
        now_ns >= os->tick_ns) {
        os->duty = WI_DUTY_THREAD;
    }
    os->ticking = os->duty == WI_DUTY_NOBODY;
    if (os->ticking) {
        if (os->stints != os->stints_seen) {
            os->stints_seen = os->stints;
            os->tick_ns = now_ns + WI_LEASE_NS;
        }
        *until_ns = os->tick_ns;
    }
    return os->duty == WI_DUTY_THREAD;
}

/* ---- sleeping and waking ------------------------------------------------- */

static void poll_until(struct pollfd *fds, nfds_t n, uint64_t until_ns)
{
    uint64_t now = until_ns != UINT64_MAX ? wi_clock_now() : 0;
    uint64_t ns = until_ns > now ? until_ns - now : 0;
    struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000u),
                          .tv_nsec = (long)(ns % 1000000000u)};
    (void)ppoll(fds, n, until_ns == UINT64_MAX ? NULL : &ts, NULL);
}

void wi_duty_sleep(struct weir_node *n, struct wi_sleeper *s, bool watch,
                   uint64_t until_ns)
{
    struct wi_engine *e = &n->engine;
    if (watch) {
        wi_node_lock(n);
        weir_err armed = e->ops->arm(e->transport);
        wi_node_unlock(n);
        if (armed != WEIR_OK) {
            return;
        }
    }
    struct pollfd fds[2] = {
        {.fd = s->fd, .events = POLLIN},
        {.fd = e->ops->fd(e->transport), .events = POLLIN},
    };
    /* E11 sc: going to sleep, then a last look for work; pairs with E11 sc in
     * wi_engine_kick() and wi_duty_wake() */
    wi_store_sc(&s->asleep, 1);
    if (wi_load_sc(&e->kick) == 0 && wi_load_sc(&n->os->stop) == 0) { /* E11 */
        poll_until(fds, watch ? 2 : 1, until_ns);
    }
    wi_store_sc(&s->asleep, 0); /* E11 sc: as above */
    if ((fds[0].revents & POLLIN) != 0) {
        drain(s->fd);
    }
}

void wi_duty_nap(struct weir_node *n, struct wi_worker *w, uint64_t until_ns)
{
    struct wi_engine *e = &n->engine;
    if (wi_bell_doze(w->bell, e->n_ids)) {
        wi_node_lock(n);
        uint64_t next_ns = wi_engine_next(e);
        wi_node_unlock(n);
        wi_duty_sleep(n, &n->os->worker, true, wi_min_u64(next_ns, until_ns));
        wi_bell_rise(w->bell);
    }
}

void wi_duty_wake(void *arg)
{
    struct wi_node_os *os = ((struct weir_node *)arg)->os;
    /* E11 sc: the work was left before; pairs with E11 sc in wi_duty_sleep().
     * One of them is enough: each looks for work after it has woken. */
    if (wi_load_sc(&os->worker.asleep) != 0) {
        ring(os->worker.fd);
    } else if (wi_load_sc(&os->thread.asleep) != 0) { /* E11 sc: as above */
        ring(os->thread.fd);
    }
}

void wi_duty_ring(void *arg, uint32_t worker)
{
    struct weir_node *n = arg;
    /* E3 sc: pairs with E3 sc in wi_duty_take(). rlx: set once, before the
     * worker first armed it */
    if (wi_load_sc(&n->os->on_duty) == worker) {
        ring(n->os->worker.fd);
    }
    int fd = wi_load_rlx(&n->engine.workers[worker].fd); /* rlx: as above */
    if (fd >= 0) {
        ring(fd);
    }
}
