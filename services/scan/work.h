/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Threads of a server. One of them leads: it takes asks, and so makes tasks;
 * the others run tasks, or are idle.
 *
 *   lead --> put --> queue --> run(task)      under the lock, which both may
 *    ^                            |           let go meanwhile
 *    +------- one of them <-------+
 *
 * Who leads runs the first task that it has made itself, and another one leads
 * on: so the engine's thread is the one that the ask has woken. There is one
 * thread more than tasks run at a time, so somebody always leads. Threads are
 * started when there is work for them, and stay.
 *
 * Tasks of one share run most_each at a time, and only its first where no more
 * than `spare` threads are left: engines may work for long, and cannot be
 * stopped for somebody else.
 */
#ifndef WI_SCAN_WORK_H
#define WI_SCAN_WORK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <weir/error.h>

/** Whom tasks are for, so that nobody has all threads. */
struct wi_scan_share {
    uint32_t running; /* of its tasks */
    uint32_t holders; /* it is freed with the last */
};

/** Something to do. It is in the queue once at a time. */
struct wi_scan_task {
    TAILQ_ENTRY(wi_scan_task) next;
    struct wi_scan_share *share; /* held; NULL: nobody's in particular */
    /** Called with the server's lock held, which it may let go meanwhile;
     *  task may be freed by it. */
    void (*run)(struct wi_scan_task *task);
};
TAILQ_HEAD(wi_scan_tasks, wi_scan_task);

struct wi_scan_work {
    /* constant after start */
    pthread_mutex_t *lock;
    void (*lead)(void *arg);
    void *arg;
    uint32_t most;
    uint32_t most_each; /* of one share */
    uint32_t spare;     /* threads for shares of which no task runs */
    /* under lock */
    pthread_cond_t more;
    struct wi_scan_tasks queue;
    uint32_t n_queued;
    uint32_t n_running;
    uint32_t n_idle;
    bool led;
    bool stopping;
    pthread_t *threads; /* most + 1 */
    uint32_t n_threads;
};

/**
 * Start with one thread.
 *
 * @param lock  the server's
 * @param most       tasks run at a time
 * @param most_each  of one share
 * @param lead  called by one thread at a time, the lock held, again and again;
 *              returns once there is a task, or it has waited for asks
 *
 * Errors:     WEIR_ERR_NO_MEMORY, WEIR_ERR_SYSTEM
 * Blocks:     never
 * Threads:    any
 * Ownership:  wi_scan_work_stop
 */
weir_err wi_scan_work_start(struct wi_scan_work *work, pthread_mutex_t *lock,
                            uint32_t most, uint32_t most_each,
                            void (*lead)(void *arg), void *arg,
                            struct weir_error *err);

/** One that nobody has asked for yet, held once. NULL: no memory. */
struct wi_scan_share *wi_scan_share_make(void);
struct wi_scan_share *wi_scan_share_hold(struct wi_scan_share *share);
void wi_scan_share_drop(struct wi_scan_share *share);

/** Have a task run: by this thread when it comes back from what it does, unless
 *  others are woken for it. The lock is held. */
void wi_scan_work_put(struct wi_scan_work *work, struct wi_scan_task *task);

/** Is something queued that would run now? If not, who leads sleeps; with the
 *  lock held it would keep those from ending that are in its way. The lock is
 *  held. */
bool wi_scan_work_can_run(const struct wi_scan_work *work);

/** Wake or start threads for what there is to do, but for n_self things that
 *  this thread does itself when it comes back. The lock is held. */
void wi_scan_work_wake(struct wi_scan_work *work, uint32_t n_self);

/** Nobody leads any more: threads end when nothing is queued. Who leads now is
 *  to be woken. The lock is held. */
void wi_scan_work_end(struct wi_scan_work *work);

/** Wait for the threads. The lock is not held. */
void wi_scan_work_stop(struct wi_scan_work *work);

#endif /* WI_SCAN_WORK_H */
