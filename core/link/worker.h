/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Workers as the engine sees them: who is woken, and what is counted. How they
 * wait is in core/node/wait.c.
 */
#ifndef WI_WORKER_H
#define WI_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/atomic.h"
#include "core/base/list.h"
#include "core/base/lq.h"
#include "core/base/run_clock.h"
#include "core/base/watch.h"
#include "core/ring/ready.h"

struct wi_engine;

#define WI_WORKERS_MAX 64u /* of one node */

/** Counters of one worker: only its thread writes them. */
struct wi_worker_stats {
    _Atomic uint64_t rows_sent, bytes_sent, frames_sent;
    _Atomic uint64_t rows_received, bytes_received, frames_received;
    _Atomic uint64_t pushes_blocked, waits;
};

static inline void wi_stat_add(_Atomic uint64_t *stat, uint64_t n)
{
    /* rlx: only its worker writes it */
    wi_store_rlx(stat, wi_load_rlx(stat) + n);
}

/* Longest time that a worker stopped by a full ring keeps frames back. */
#define WI_KEEP_NS 5000000u

struct wi_worker {
    struct wi_engine *engine; /* constant */
    struct wi_bell *bell;     /* constant */
    uint32_t idx;             /* constant */
    /* written by: the worker */
    alignas(WI_CACHE_LINE) bool happened; /* other readers became ready */
    uint32_t spin;                        /* adaptive */
    uint32_t no_turns; /* waits left that give no turn: the last was long */
    uint64_t keep_ns;  /* adaptive: WI_DENSE_NS to WI_KEEP_NS */
    bool blocked;      /* a push found a ring full since the last wait */
    bool on_duty;      /* it makes the engine's steps, see core/node/duty.h */
    bool settled; /* all was flushed; nothing pushed, nothing happened since */
    bool owes;    /* a reader holds credits back */
    struct wi_run_clock run;
    uint32_t progress;      /* pushes and batches read */
    struct wi_lq local;     /* wi_stream with dispatched frames; put by: any */
    struct wi_list writers; /* open writers; changed under the node's lock */
    struct wi_list readers; /* open readers; the same */
    struct wi_worker_stats stats;
    _Atomic uint32_t turns; /* waits and arms so far, successful or not */
    _Atomic uint32_t stops; /* written by: engine; STOPs for its rings so far */
    _Atomic uint32_t n_commons; /* open readers that share their rings with
                                   others; written by: engine */
    _Atomic uint32_t fed; /* written by: who wakes it for rows that it has in
                               common with others; cleared by the worker */
    struct wi_watch
        rested;     /* written by: engine; since when it sleeps or not */
    _Atomic int fd; /* eventfd of foreign loops, -1 until asked for */
};

/** Now, by the worker's run clock. By its thread, as the next. */
uint64_t wi_worker_now(const struct wi_worker *w);

/** Bring its run clock up to date, unless that was done within `least_ns`. Does
 *  nothing where peers map memory: frames that are not full cost little there.
 */
void wi_worker_look(struct wi_worker *w, uint64_t least_ns);

/** Wake a worker for an event of the engine (WI_ATTN_*). Any thread. */
void wi_worker_notify(struct wi_worker *w, uint32_t attn);

/** A ring has data for a worker: mark its id, wake the worker if it sleeps. Any
 *  thread. */
void wi_worker_mark(struct wi_worker *w, uint32_t id);

/** Wake all workers, whatever a dead peer has left undone. */
void wi_workers_rouse(struct wi_engine *e);

#endif /* WI_WORKER_H */
