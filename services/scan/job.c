/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/job.h"

#include <stddef.h>

void wi_scan_job_init(struct weir_scan_job *job)
{
    *job = (struct weir_scan_job){0};
    pthread_mutex_init(&job->lock, NULL);
}

void wi_scan_job_fini(struct weir_scan_job *job)
{
    pthread_mutex_destroy(&job->lock);
}

/* Once: whoever calls it takes it away. The lock is held. */
static void call(struct weir_scan_job *job)
{
    void (*fn)(void *arg) = job->fn;
    job->fn = NULL;
    if (fn != NULL) {
        fn(job->arg);
    }
}

void wi_scan_job_cancel(struct weir_scan_job *job)
{
    pthread_mutex_lock(&job->lock);
    job->cancelled = true;
    call(job);
    pthread_mutex_unlock(&job->lock);
}

void wi_scan_job_expire(struct weir_scan_job *job)
{
    pthread_mutex_lock(&job->lock);
    job->late = job->late || !job->cancelled;
    job->cancelled = true;
    call(job);
    pthread_mutex_unlock(&job->lock);
}

bool wi_scan_job_late(struct weir_scan_job *job)
{
    pthread_mutex_lock(&job->lock);
    bool late = job->late;
    pthread_mutex_unlock(&job->lock);
    return late;
}

void weir_scan_job_on_cancel(weir_scan_job *job, weir_scan_cancel_fn fn,
                             void *arg)
{
    if (job == NULL) {
        return;
    }
    pthread_mutex_lock(&job->lock);
    job->fn = fn;
    job->arg = arg;
    if (job->cancelled) {
        call(job);
    }
    pthread_mutex_unlock(&job->lock);
}

int weir_scan_job_cancelled(weir_scan_job *job)
{
    if (job == NULL) {
        return 0;
    }
    pthread_mutex_lock(&job->lock);
    bool cancelled = job->cancelled;
    pthread_mutex_unlock(&job->lock);
    return cancelled;
}
