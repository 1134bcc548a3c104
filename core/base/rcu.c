/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deferred free. liburcu's own call_rcu starts its thread at the first use and
 * aborts the process if there is none to be had; so the thread is ours, and
 * starts before the first node opens.
 */
#include "core/base/rcu.h"

#include "core/base/atomic.h"
#include "core/base/err.h"
#include "core/base/futex.h"
#include "core/base/thread.h"

char wi_rcu_readers;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    pthread_cond_t done;
    struct wi_rcu_head *list; /* unlinked, readers may still be there */
    bool busy;                /* freeing what was in list */
    bool runs;
    bool forks; /* the handlers below are registered */
} reclaimer = {.lock = PTHREAD_MUTEX_INITIALIZER,
               .more = PTHREAD_COND_INITIALIZER,
               .done = PTHREAD_COND_INITIALIZER};

/* A short query leaves some dozen objects. A grace period for each of them
 * would wake this thread and interrupt the others, which costs more than the
 * query: it waits for what comes soon after the first, unless somebody waits
 * for it. */
#define GATHER_NS 10000000u
static _Atomic uint32_t hurry;

static struct wi_rcu_head *take_all(void)
{
    (void)pthread_mutex_lock(&reclaimer.lock);
    reclaimer.busy = false;
    (void)pthread_cond_broadcast(&reclaimer.done);
    while (reclaimer.list == NULL) {
        (void)pthread_cond_wait(&reclaimer.more, &reclaimer.lock);
    }
    (void)pthread_mutex_unlock(&reclaimer.lock);
    wi_futex_wait(&hurry, 0, GATHER_NS);
    (void)pthread_mutex_lock(&reclaimer.lock);
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

/* ---- fork ---------------------------------------------------------------- */

/* A child process has neither the thread nor the readers, but may open nodes of
 * its own (docs/embed.md). */

static void before_fork(void)
{
    (void)pthread_mutex_lock(&reclaimer.lock);
    urcu_bp_before_fork();
}

static void after_fork_parent(void)
{
    urcu_bp_after_fork_parent();
    (void)pthread_mutex_unlock(&reclaimer.lock);
}

static void after_fork_child(void)
{
    urcu_bp_after_fork_child();
    (void)pthread_cond_init(&reclaimer.more, NULL); /* nobody waits here */
    (void)pthread_cond_init(&reclaimer.done, NULL);
    reclaimer.list = NULL; /* the parent's, and not the child's to free */
    reclaimer.busy = false;
    reclaimer.runs = false;
    wi_store_rlx(&hurry, 0); /* rlx: nobody waits here */
    (void)pthread_mutex_unlock(&reclaimer.lock);
}

/* ---- public -------------------------------------------------------------- */

static weir_err handle_forks(struct weir_error *err)
{
    if (!reclaimer.forks &&
        pthread_atfork(before_fork, after_fork_parent, after_fork_child) != 0) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY,
                       "no memory for a handler of fork");
    }
    reclaimer.forks = true;
    return WEIR_OK;
}

weir_err wi_rcu_start(struct weir_error *err)
{
    (void)pthread_mutex_lock(&reclaimer.lock);
    weir_err rc = handle_forks(err);
    if (rc == WEIR_OK && !reclaimer.runs) {
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
    wi_store_rlx(&hurry, 1); /* rlx: the kernel looks at it */
    wi_futex_wake(&hurry);
    while (reclaimer.runs && (reclaimer.list != NULL || reclaimer.busy)) {
        (void)pthread_cond_wait(&reclaimer.done, &reclaimer.lock);
    }
    wi_store_rlx(&hurry, 0); /* rlx: as above */
    (void)pthread_mutex_unlock(&reclaimer.lock);
}
