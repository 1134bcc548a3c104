/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Read-copy-update for what workers look up while the engine changes it:
 * liburcu, flavour "bp" (threads need not register).
 *
 * Readers: wi_rcu_lock .. wi_rcu_unlock, no blocking call between. Publishers
 * write with wi_store_rel, readers load with wi_load_acq. What was unlinked is
 * freed by wi_rcu_free, after every reader that could hold it has left.
 */
#ifndef WI_BASE_RCU_H
#define WI_BASE_RCU_H

#include <stdbool.h>
#include <stdlib.h>
#include <urcu-bp.h>

#include <weir/error.h>

#include "core/base/tsan.h"

struct wi_rcu_head {
    struct wi_rcu_head *next;
    void *object;
};

/** Stands for the grace period, for ThreadSanitizer: what read sections did is
 *  before what is freed after them. */
extern char wi_rcu_readers;

static inline void wi_rcu_lock(void)
{
    rcu_read_lock();
}

static inline void wi_rcu_unlock(void)
{
    wi_tsan_release(&wi_rcu_readers);
    rcu_read_unlock();
}

/**
 * Start the thread that frees, one per process. Freeing then never fails.
 *
 * Errors:     as wi_thread_start
 * Blocks:     shortly.  Threads: any.  Ownership: nothing
 */
weir_err wi_rcu_start(struct weir_error *err);

/** Free `object`, which contains `h`, when no reader can hold it any more. */
void wi_rcu_free(struct wi_rcu_head *h, void *object);

/** Wait until all that was given to wi_rcu_free is freed. For tests. */
void wi_rcu_barrier(void);

#endif /* WI_BASE_RCU_H */
