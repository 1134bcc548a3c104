/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deferred free. liburcu's own way, call_rcu, starts its helper thread when it
 * is first used and aborts the process if it gets none; so the thread is ours,
 * and is there before the first node is.
 */
#include "core/base/rcu.h"

#include "core/base/thread.h"

char wi_rcu_readers;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    pthread_cond_t done;
    struct wi_rcu_head *list; /* unlinked, readers may still be there */
    bool busy;                /* with what was in it */
    bool runs;
} reclaimer = {.lock = PTHREAD_MUTEX_INITIALIZER,
               .more = PTHREAD_COND_INITIALIZER,
               .done = PTHREAD_COND_INITIALIZER};

static struct wi_rcu_head *take_all(void)
{
    (void)pthread_mutex_lock(&reclaimer.lock);
    reclaimer.busy = false;
    (void)pthread_cond_broadcast(&reclaimer.done);
    while (reclaimer.list == NULL) {
        (void)pthread_cond_wait(&reclaimer.more, &reclaimer.lock);
    }
    struct wi_rcu_head *list = reclaimer.list;
    reclaimer.list = NULL;
    reclaimer.busy = true;
    (void)pthread_mutex_unlock(&reclaimer.lock);
    return list;
}

static void *reclaim(void *arg)
{
    for (;;) {
        struct wi_rcu_head *h = take_all();
        synchronize_rcu();
        wi_tsan_acquire(&wi_rcu_readers);
        while (h != NULL) {
            struct wi_rcu_head *next = h->next;
            free(h->object); /* h lies in it */
            h = next;
        }
    }
    return arg; /* not reached */
}

weir_err wi_rcu_start(struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    (void)pthread_mutex_lock(&reclaimer.lock);
    if (!reclaimer.runs) {
        rc = wi_thread_start(NULL, reclaim, NULL, "freeing memory", err);
        reclaimer.runs = rc == WEIR_OK;
    }
    (void)pthread_mutex_unlock(&reclaimer.lock);
    return rc;
}

void wi_rcu_free(struct wi_rcu_head *h, void *object)
{
    h->object = object;
    (void)pthread_mutex_lock(&reclaimer.lock);
    h->next = reclaimer.list;
    reclaimer.list = h;
    (void)pthread_cond_signal(&reclaimer.more);
    (void)pthread_mutex_unlock(&reclaimer.lock);
}

void wi_rcu_barrier(void)
{
    (void)pthread_mutex_lock(&reclaimer.lock);
    while (reclaimer.runs && (reclaimer.list != NULL || reclaimer.busy)) {
        (void)pthread_cond_wait(&reclaimer.done, &reclaimer.lock);
    }
    (void)pthread_mutex_unlock(&reclaimer.lock);
}
