/* SPDX-License-Identifier: Apache-2.0 */
/* Workers: waiting, on the futex or on a descriptor. ready.h says why no
 * wake-up is lost. */
#include <weir/node.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/forks.h"
#include "core/base/futex.h"
#include "core/link/engine.h"
#include "core/link/lock.h"
#include "core/link/worker.h"
#include "core/node/duty.h"
#include "core/node/step.h"
#include "core/query/collect.h"
#include "core/query/reader.h"
#include "core/query/writer.h"
#include "core/query/writer_flush.h"

/* Looks before a sleep: adapts between these, up when spinning paid. */
#define SPIN_MIN 8u
#define SPIN_MAX 64u

/* Before a sleep, other threads get turns: for this long in all, and only until
 * a turn is so short that nobody wanted the processor. Part-filled frames and
 * the caller's timeout wait meanwhile. */
#define TURNS_NS 1000000u
#define ALONE_NS 1000u

/* So long a worker sleeps before it sends credits that it holds back. */
#define OWE_NS 500000u

/* A turn this long went to a process that has nothing to do with us and uses
 * its whole time slice; a sleeper that is woken runs at once. So the next waits
 * sleep without giving turns. But if so many messages came in the turn, it was
 * our peers that used it. */
#define TAKEN_NS 1000000u
#define WORTH 2u
#define TAKEN_WAITS 512u

/* A wait or an arm begins. */
static void count_turn(struct wi_worker *w)
{
    /* rlx: only its worker writes it; reports look at it */
    wi_store_rlx(&w->turns, wi_load_rlx(&w->turns) + 1);
}

/* Has anything happened since the last time? Takes what there is. */
static bool happened(struct wi_worker *w)
{
    bool any = wi_bell_take_attn(w->bell) != 0;
    wi_worker_collect(w, NULL);
    any = any || w->happened;
    w->happened = false;
    w->settled = w->settled && !any;
    return any;
}

/* It was woken for rows, goes to sleep again, and has not asked for them: they
 * are for another worker. */
static void pass_on(struct weir_node *node, struct wi_worker *w)
{
    if (wi_likely(wi_load_rlx(&w->fed) == 0)) { /* rlx: as taken with attn */
        return;
    }
    wi_store_rlx(&w->fed, 0); /* rlx: as above */
    wi_node_lock(node);
    wi_list_each(n, &w->readers)
    {
        wi_reader_pass_on(wi_container_of(n, struct weir_reader, on_worker));
    }
    wi_node_unlock(node);
}

/* Send the credits that the worker's readers hold back. */
static void pay(struct wi_worker *w)
{
    w->owes = false;
    wi_list_each(n, &w->readers)
    {
        wi_reader_pay(wi_container_of(n, struct weir_reader, on_worker));
    }
}

/* Publish what the worker's writers hold. If a full ring stopped the worker,
 * its consumers have work, and frames that will soon be full are kept back, for
 * `keep_ns` at first. True if some were. */
static bool publish(struct wi_worker *w, uint64_t keep_ns)
{
    bool left = false;
    wi_list_each(n, &w->writers)
    {
        struct weir_writer *wr =
            wi_container_of(n, struct weir_writer, on_worker);
        left = wi_writer_flush_idle(wr, keep_ns) || left;
    }
    w->settled = !left;
    return left;
}

/* Before a sleep, send everything that somebody may wait for. Looking at every
 * lane is costly where there are many. */
static bool flush(struct weir_node *node, struct wi_worker *w, uint64_t keep_ns)
{
    bool left = false;
    pass_on(node, w);
    /* rlx: of our own calls, or another thread's, which looks itself */
    if (w->settled && !w->owes && wi_load_rlx(&node->engine.unsent) == 0) {
        return false;
    }
    wi_node_lock(node);
    if (w->owes) {
        pay(w);
    }
    if (!w->settled) {
        left = publish(w, keep_ns);
    }
    wi_engine_tend(&node->engine);
    wi_node_unlock(node);
    return left;
}

/* The same without credits: they may wait a little, rows may not. */
static void flush_rows(struct weir_node *node, struct wi_worker *w,
                       uint64_t keep_ns)
{
    if (!w->settled) {
        wi_node_lock(node);
        (void)publish(w, keep_ns);
        wi_node_unlock(node);
    }
}

/* As flush(), for workers that sleep elsewhere: the engine wakes them when it
 * is time to publish what was kept back. */
static void flush_elsewhere(struct weir_node *node, struct wi_worker *w)
{
    if (flush(node, w, w->blocked ? WI_DENSE_NS : 0)) {
        struct wi_engine *e = &node->engine;
        wi_node_lock(node);
        uint64_t now = e->cfg.manual ? e->now_ns : wi_clock_now();
        e->nudge_ns = wi_min_u64(e->nudge_ns, now + WI_DENSE_NS + 1);
        wi_engine_kick(e);
        wi_node_unlock(node);
    }
}

static bool spin(struct wi_worker *w)
{
    uint32_t most = w->spin != 0 ? w->spin : SPIN_MIN;
    for (uint32_t i = 0; i < most; i++) {
        if (wi_bell_pending(w->bell, w->engine->n_ids)) {
            w->spin = wi_min_u32(most * 2, SPIN_MAX);
            return true;
        }
        wi_cpu_relax();
    }
    w->spin = most / 2 > SPIN_MIN ? most / 2 : SPIN_MIN;
    return false;
}

/* On duty, what came is found by looking. Returns how much. */
static uint32_t look(struct weir_node *node, const struct wi_worker *w)
{
    return w->on_duty ? wi_duty_step(node) : 0;
}

/* Let other processes run on this processor. If there are more of them than
 * processors, they are what we wait for, and a switch costs less than a sleep
 * and a wake-up. */
static bool give_way(struct weir_node *node, struct wi_worker *w,
                     uint64_t timeout_ns)
{
    uint64_t most_ns = wi_min_u64(timeout_ns, TURNS_NS);
    uint64_t begin_ns = wi_clock_coarse();
    uint64_t now_ns = begin_ns;
    uint64_t turn_ns;
    if (w->no_turns > 0) {
        w->no_turns--;
        return false;
    }
    do {
        wi_give_turn();
        turn_ns = wi_clock_coarse() - now_ns;
        now_ns += turn_ns;
        if (look(node, w) < WORTH && turn_ns >= TAKEN_NS) {
            w->no_turns = TAKEN_WAITS;
        }
        if (wi_bell_pending(w->bell, w->engine->n_ids)) {
            return true;
        }
    } while (turn_ns >= ALONE_NS && now_ns - begin_ns < most_ns);
    return false;
}

/* On duty: look, and sleep if nothing happened. True if something did. */
static bool doze(struct weir_node *node, struct wi_worker *w, uint64_t until_ns)
{
    (void)look(node, w);
    if (happened(w)) {
        return true;
    }
    wi_duty_nap(node, w, until_ns);
    return false;
}

static weir_err park(struct weir_node *node, struct wi_worker *w,
                     uint64_t timeout_ns)
{
    uint64_t until = UINT64_MAX;
    if (timeout_ns != WEIR_FOREVER) {
        until = wi_time_add(wi_clock_now(), timeout_ns);
    }
    for (;;) {
        uint64_t left = UINT64_MAX;
        if (until != UINT64_MAX) {
            uint64_t now = wi_clock_now();
            if (now >= until) {
                return WEIR_AGAIN;
            }
            left = until - now;
        }
        wi_stat_add(&w->stats.waits, 1);
        w->on_duty = w->on_duty || wi_duty_take(node, w);
        if (w->on_duty ? doze(node, w, until)
                       : wi_duty_park(node, w, left) && happened(w)) {
            return WEIR_OK;
        }
    }
}

/* A full ring stopped the worker, which keeps rows back for a time. Where
 * workers outnumber cores, a ring stays full for some milliseconds, and frames
 * of a few rows would cost their consumers a turn each. But the ring may also
 * be full because its consumer waits for just those rows. So the time adapts:
 * down when it passed and nothing happened, up when something did. */
static weir_err park_keeping(struct weir_node *node, struct wi_worker *w,
                             uint64_t timeout_ns)
{
    uint64_t keep_ns = w->keep_ns;
    weir_err rc = park(node, w, wi_min_u64(keep_ns, timeout_ns));
    if (rc == WEIR_OK) {
        w->keep_ns = wi_min_u64(keep_ns * 2, WI_KEEP_NS);
    } else if (timeout_ns >= keep_ns) { /* the keep time passed */
        w->keep_ns = wi_max_u64(keep_ns / 2, WI_DENSE_NS);
    }
    return rc;
}

static weir_err find_worker(weir_node *node, uint32_t worker,
                            struct wi_worker **out)
{
    if (wi_unlikely(node == NULL || worker >= node->engine.cfg.workers)) {
        return WEIR_ERR_ARG;
    }
    if (wi_unlikely(wi_engine_inherited(&node->engine))) {
        return WEIR_ERR_STATE;
    }
    *out = &node->engine.workers[worker];
    return WEIR_OK;
}

static weir_err wait_for(struct weir_node *node, struct wi_worker *w,
                         uint64_t timeout_ns)
{
    (void)look(node, w);
    if ((spin(w) || give_way(node, w, timeout_ns)) && happened(w)) {
        return WEIR_OK;
    }
    if (w->owes && timeout_ns > OWE_NS) {
        flush_rows(node, w, w->blocked ? w->keep_ns : 0);
        if (park(node, w, OWE_NS) == WEIR_OK) {
            return WEIR_OK;
        }
        timeout_ns -= timeout_ns != WEIR_FOREVER ? OWE_NS : 0;
    }
    uint64_t keep_ns = w->keep_ns;
    bool left = flush(node, w, w->blocked ? keep_ns : 0);
    w->blocked = false;
    if (left) {
        if (park_keeping(node, w, timeout_ns) == WEIR_OK) {
            return WEIR_OK;
        }
        (void)flush(node, w, 0);
        if (timeout_ns != WEIR_FOREVER) {
            timeout_ns -= wi_min_u64(keep_ns, timeout_ns);
        }
    }
    return park(node, w, timeout_ns);
}

weir_err weir_worker_wake(weir_node *node, uint32_t worker)
{
    struct wi_worker *w = NULL;
    weir_err rc = find_worker(node, worker, &w);
    if (rc != WEIR_OK) {
        return rc;
    }
    wi_worker_notify(w, WI_ATTN_EVENT);
    return WEIR_OK;
}

weir_err weir_worker_wait(weir_node *node, uint32_t worker, uint64_t timeout_ns)
{
    struct wi_worker *w = NULL;
    weir_err rc = find_worker(node, worker, &w);
    if (wi_unlikely(rc != WEIR_OK)) {
        return rc;
    }
    count_turn(w);
    if (happened(w)) {
        return WEIR_OK;
    }
    if (timeout_ns == 0) {
        /* It seemed awake to producers, who may have rung another worker. */
        if (wi_duty_last_look(node, w)) {
            w->happened = false;
            return WEIR_OK;
        }
        flush_elsewhere(node, w);
        return WEIR_AGAIN;
    }
    w->on_duty = wi_duty_take(node, w);
    rc = wait_for(node, w, timeout_ns);
    if (w->on_duty) {
        w->on_duty = false;
        wi_duty_leave(node);
    }
    return rc;
}

int weir_worker_fd(weir_node *node, uint32_t worker)
{
    struct wi_worker *w = NULL;
    weir_err rc = find_worker(node, worker, &w);
    if (rc != WEIR_OK) {
        return rc;
    }
    wi_node_lock(node);
    if (wi_load_rlx(&w->fd) < 0) { /* rlx: under the lock */
        int made = wi_fd_open(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        wi_store_rlx(&w->fd, made); /* rlx: as above */
    }
    int fd = wi_load_rlx(&w->fd); /* rlx: under the lock */
    wi_node_unlock(node);
    return fd >= 0 ? fd : WEIR_ERR_SYSTEM;
}

weir_err weir_worker_arm(weir_node *node, uint32_t worker)
{
    struct wi_worker *w = NULL;
    weir_err rc = find_worker(node, worker, &w);
    if (wi_unlikely(rc != WEIR_OK)) {
        return rc;
    }
    int fd = wi_load_rlx(&w->fd); /* rlx: set by this thread */
    if (fd < 0) {
        return WEIR_ERR_STATE;
    }
    uint64_t count;
    (void)!read(fd, &count, sizeof(count));
    count_turn(w);
    if (happened(w)) {
        return WEIR_AGAIN;
    }
    flush_elsewhere(node, w);
    w->blocked = false;
    if (!wi_bell_arm(w->bell, w->engine->n_ids)) {
        return WEIR_AGAIN;
    }
    if (wi_duty_last_look(node, w)) {
        wi_bell_rise(w->bell);
        return WEIR_AGAIN;
    }
    wi_duty_return(node); /* after it: see pass_on() */
    return WEIR_OK;
}
