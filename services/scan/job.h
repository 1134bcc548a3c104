/* SPDX-License-Identifier: Apache-2.0 */
/** Whether a request is still wanted (weir/scan_engine.h): server. */
#ifndef WI_SCAN_JOB_H
#define WI_SCAN_JOB_H

#include <pthread.h>
#include <stdbool.h>

#include <weir/scan_engine.h>

struct wi_scan_keep;

struct weir_scan_job {
    struct wi_scan_keep *keep; /* of its client; NULL: nothing is kept */
    pthread_mutex_t lock;      /* held while fn runs */
    void (*fn)(void *arg);
    void *arg;
    bool cancelled;
    bool late; /* since its time is over */
};

void wi_scan_job_init(struct weir_scan_job *job);
void wi_scan_job_fini(struct weir_scan_job *job);

/** It is not wanted any more; may be said twice.
 *  Blocks: while fn runs. Threads: any. */
void wi_scan_job_cancel(struct weir_scan_job *job);

/** The same, because its time is over. */
void wi_scan_job_expire(struct weir_scan_job *job);
bool wi_scan_job_late(struct weir_scan_job *job);

#endif /* WI_SCAN_JOB_H */
