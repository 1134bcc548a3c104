/* SPDX-License-Identifier: Apache-2.0 */
/** What engines keep for a client (weir_scan_job_keep). */
#ifndef WI_SCAN_KEEP_H
#define WI_SCAN_KEEP_H

#include <pthread.h>

#include <weir/scan_engine.h>

struct wi_scan_kept {
    struct wi_scan_kept *next;
    struct weir_scan_keeper keeper;
    void *what;
};

/** Of one client. */
struct wi_scan_keep {
    pthread_mutex_t lock; /* also while something is made */
    struct wi_scan_kept *list;
};

void wi_scan_keep_init(struct wi_scan_keep *keep);

/** Close all that is kept. Blocks: while engines work. Threads: one, after all
 *  jobs that lead to it. */
void wi_scan_keep_fini(struct wi_scan_keep *keep);

#endif /* WI_SCAN_KEEP_H */
