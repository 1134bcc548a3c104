/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/work.h"

#include <signal.h>
#include <stdlib.h>

#include "services/scan/fail.h"

static void *work(void *arg);

/* Signals are the program's threads' to take. */
static int start_thread(struct wi_scan_work *w)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&w->threads[w->n_threads], NULL, work, w);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    w->n_threads += rc == 0;
    return rc;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Who was woken and has not come yet is still counted as idle, and so is what
 * it was woken for. */
void wi_scan_work_wake(struct wi_scan_work *w, uint32_t n_self)
{
    uint32_t n = least(w->n_queued, w->most - w->n_running) + !w->led;
    for (uint32_t i = n_self; i < n; i++) {
        if (i - n_self < w->n_idle) {
            (void)pthread_cond_signal(&w->more);
        } else if (w->n_threads <= w->most && !w->stopping) {
            (void)start_thread(w); /* or those that are there do it */
        }
    }
}

static bool may_run(const struct wi_scan_work *w,
                    const struct wi_scan_share *share)
{
    return share == NULL || share->running == 0 ||
           (share->running < w->most_each && w->n_running < w->most - w->spare);
}

/* The first that may run now; NULL: there is none. */
static struct wi_scan_task *find_task(const struct wi_scan_work *w)
{
    struct wi_scan_task *task = NULL;
    if (w->n_running < w->most) {
        task = TAILQ_FIRST(&w->queue);
    }
    while (task != NULL && !may_run(w, task->share)) {
        task = TAILQ_NEXT(task, next);
    }
    return task;
}

bool wi_scan_work_can_run(const struct wi_scan_work *w)
{
    return find_task(w) != NULL;
}

struct wi_scan_share *wi_scan_share_make(void)
{
    struct wi_scan_share *share = calloc(1, sizeof(*share));
    return share != NULL ? wi_scan_share_hold(share) : NULL;
}

struct wi_scan_share *wi_scan_share_hold(struct wi_scan_share *share)
{
    share->holders++;
    return share;
}

void wi_scan_share_drop(struct wi_scan_share *share)
{
    if (--share->holders == 0) {
        free(share);
    }
}

/* The task may be freed by running it, its share is held until then. */
static void run(struct wi_scan_work *w, struct wi_scan_task *task)
{
    struct wi_scan_share *share = task->share;
    TAILQ_REMOVE(&w->queue, task, next);
    w->n_queued--;
    w->n_running++;
    if (share != NULL) {
        wi_scan_share_hold(share)->running++;
    }
    task->run(task);
    if (share != NULL) {
        share->running--;
        wi_scan_share_drop(share);
    }
    w->n_running--;
}

static void *work(void *arg)
{
    struct wi_scan_work *w = arg;
    (void)pthread_mutex_lock(w->lock);
    while (!w->stopping || w->n_queued > 0) {
        struct wi_scan_task *task = find_task(w);
        if (task != NULL) {
            run(w, task);
        } else if (!w->led && !w->stopping) {
            w->led = true;
            w->lead(w->arg);
            w->led = false;
            wi_scan_work_wake(w, 1);
        } else {
            w->n_idle++;
            (void)pthread_cond_wait(&w->more, w->lock);
            w->n_idle--;
        }
    }
    (void)pthread_cond_broadcast(&w->more);
    (void)pthread_mutex_unlock(w->lock);
    return NULL;
}

weir_err wi_scan_work_start(struct wi_scan_work *w, pthread_mutex_t *lock,
                            uint32_t most, uint32_t most_each,
                            void (*lead)(void *arg), void *arg,
                            struct weir_error *err)
{
    *w = (struct wi_scan_work){.lock = lock,
                               .lead = lead,
                               .arg = arg,
                               .most = most,
                               .most_each = most_each,
                               .spare = most / 4};
    TAILQ_INIT(&w->queue);
    w->threads = calloc((size_t)most + 1, sizeof(*w->threads));
    if (w->threads == NULL) {
        return wi_scan_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u threads",
                            most);
    }
    (void)pthread_cond_init(&w->more, NULL);
    (void)pthread_mutex_lock(lock);
    int rc = start_thread(w);
    (void)pthread_mutex_unlock(lock);
    if (rc != 0) {
        wi_scan_work_stop(w);
        return wi_scan_fail(err, WEIR_ERR_SYSTEM,
                            "the system gives no thread (raise ulimit -u)");
    }
    return WEIR_OK;
}

void wi_scan_work_put(struct wi_scan_work *w, struct wi_scan_task *task)
{
    TAILQ_INSERT_TAIL(&w->queue, task, next);
    w->n_queued++;
}

void wi_scan_work_end(struct wi_scan_work *w)
{
    w->stopping = true;
    (void)pthread_cond_broadcast(&w->more);
}

void wi_scan_work_stop(struct wi_scan_work *w)
{
    (void)pthread_mutex_lock(w->lock);
    uint32_t n = w->n_threads;
    (void)pthread_mutex_unlock(w->lock);
    for (uint32_t i = 0; i < n; i++) {
        (void)pthread_join(w->threads[i], NULL);
    }
    (void)pthread_cond_destroy(&w->more);
    free(w->threads);
    *w = (struct wi_scan_work){0};
}
