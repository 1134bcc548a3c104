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
#include "core/query/reader.h"
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

/* ---- whose it is --------------------------------------------------------- */

/* Under the lock. */
static void give(struct wi_node_os *os, uint32_t to)
{
    /* E3 sc: whose it is, then whether a worker sleeps without it; pairs with
     * E3 sc in is_free() */
    wi_store_sc(&os->duty, to);
}

/* May a worker take it? */
static bool is_free(const struct wi_node_os *os)
{
    /* E3 sc: in wi_duty_park() after the worker has said that it sleeps; pairs
     * with E3 sc in give() */
    return wi_load_sc(&os->duty) != WI_DUTY_WORKER;
}

/* Under the lock: has nobody got it? */
static bool is_nobodys(const struct wi_node_os *os)
{
    return wi_load_rlx(&os->duty) == WI_DUTY_NOBODY; /* rlx: under the lock */
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
    if (!is_free(n->os)) {
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

/* ---- taking and leaving -------------------------------------------------- */

/* May workers have it? */
static bool is_shared(const struct weir_node *n)
{
    return (n->engine.ops->caps & WI_CAP_MAP) == 0 && n->os->thread_runs;
}

bool wi_duty_take(struct weir_node *n, struct wi_worker *w)
{
    struct wi_node_os *os = n->os;
    if (!is_shared(n) || !is_free(os)) {
        return false;
    }
    (void)pthread_mutex_lock(&n->lock);
    bool mine = is_free(os);
    if (mine) {
        give(os, WI_DUTY_WORKER);
        /* E3 sc: before the worker says that it sleeps; pairs with E3 sc in
         * wi_duty_ring() */
        wi_store_sc(&os->on_duty, w->idx);
    }
    (void)pthread_mutex_unlock(&n->lock);
    return mine;
}

/* Nobody has the duty: a worker that sleeps without it is woken and takes it.
 * If none does, and one sleeps on its descriptor, the network thread has it. */
static void pass_on(struct weir_node *n)
{
    struct wi_engine *e = &n->engine;
    bool armed = false;
    for (uint32_t i = 0; i < e->cfg.workers; i++) {
        struct wi_bell *b = e->workers[i].bell;
        /* E3 sc: after give(); pairs with E3 sc in announce() */
        uint32_t parked = wi_load_sc(&b->parked);
        armed = armed || parked == WI_ARMED;
        if (parked == WI_PARKED) {
            if (wi_bell_wake(b) == WI_WAKE_FD) { /* armed meanwhile */
                wi_duty_ring(n, i);
            }
            return;
        }
    }
    if (armed) {
        wi_duty_return(n);
    }
}

void wi_duty_leave(struct weir_node *n)
{
    struct wi_node_os *os = n->os;
    (void)pthread_mutex_lock(&n->lock);
    give(os, WI_DUTY_NOBODY);
    os->stints++;
    bool ticking = os->ticking;
    (void)pthread_mutex_unlock(&n->lock);
    if (!ticking) {
        /* E11 sc: as wi_engine_kick(), but always: a kick may have woken this
         * worker alone, which makes no step if its time is over */
        wi_store_sc(&n->engine.kick, 1);
        wi_duty_wake(n);
    }
    pass_on(n);
}

void wi_duty_return(struct weir_node *n)
{
    struct wi_node_os *os = n->os;
    if (!is_shared(n)) {
        return;
    }
    wi_node_lock(n);
    if (is_nobodys(os)) {
        give(os, WI_DUTY_THREAD);
        wi_engine_kick(&n->engine);
    }
    wi_node_unlock(n);
}

bool wi_duty_watch(struct weir_node *n, uint64_t now_ns, uint64_t *until_ns)
{
    struct wi_node_os *os = n->os;
    if (is_nobodys(os) && os->stints == os->stints_seen &&
        now_ns >= os->tick_ns) {
        give(os, WI_DUTY_THREAD);
    }
    os->ticking = is_nobodys(os);
    if (os->ticking) {
        if (os->stints != os->stints_seen) {
            os->stints_seen = os->stints;
            os->tick_ns = now_ns + WI_LEASE_NS;
        }
        *until_ns = os->tick_ns;
    }
    /* rlx: under the lock */
    return wi_load_rlx(&os->duty) == WI_DUTY_THREAD;
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

bool wi_duty_last_look(struct weir_node *n, struct wi_worker *w)
{
    /* rlx: a reader of ours was opened before, or its rows are not our wait */
    if (wi_likely(wi_load_rlx(&w->n_commons) == 0)) {
        return false;
    }
    wi_node_lock(n);
    bool fed = wi_readers_look(w);
    wi_node_unlock(n);
    return fed;
}

bool wi_duty_park(struct weir_node *n, struct wi_worker *w, uint64_t timeout_ns)
{
    uint32_t n_ids = n->engine.n_ids;
    if (!wi_bell_lie_down(w->bell, n_ids)) {
        return true;
    }
    if (wi_duty_last_look(n, w)) {
        wi_bell_rise(w->bell);
        return true;
    }
    if (is_shared(n) && is_free(n->os)) {
        wi_bell_rise(w->bell);
        return false;
    }
    return wi_bell_sleep(w->bell, n_ids, timeout_ns);
}

void wi_duty_nap(struct weir_node *n, struct wi_worker *w, uint64_t until_ns)
{
    struct wi_engine *e = &n->engine;
    if (wi_bell_doze(w->bell, e->n_ids)) {
        if (wi_duty_last_look(n, w)) {
            wi_bell_rise(w->bell);
            return;
        }
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
