/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a node has of the operating system: lock, network thread, descriptors.
 * The engine knows none of it.
 */
#ifndef WI_NODE_OS_H
#define WI_NODE_OS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <weir/error.h>

#include "core/base/atomic.h"
#include "core/node/secret_source.h"

struct weir_node;

/** One who makes the engine's steps, as it sleeps. */
struct wi_sleeper {
    int fd;                  /* eventfd that wakes it */
    _Atomic uint32_t asleep; /* E11: or about to be */
};

enum wi_duty { WI_DUTY_THREAD, WI_DUTY_WORKER, WI_DUTY_NOBODY };

struct wi_node_os {
    pthread_cond_t moved; /* the engine made a step that others wait for */
    pthread_t thread_id;
    bool thread_runs;
    _Atomic uint32_t stop;
    pthread_cond_t fill; /* copies of regions are to be made, see stager.h */
    pthread_t stager_id;
    bool stager_runs; /* under the lock, as is */
    bool stager_stop;
    struct wi_sleeper thread; /* the network thread */
    struct wi_sleeper worker; /* the worker on duty, see duty.h */
    _Atomic uint32_t on_duty; /* that worker, or the last one */
    /* Changed under the lock: who has the duty (enum wi_duty). */
    _Atomic uint32_t duty;
    /* under the lock */
    uint32_t waiters;     /* on `moved` */
    bool ticking;         /* the network thread will look whose duty it is */
    uint32_t stints;      /* how often a worker left the duty */
    uint32_t stints_seen; /* by the network thread, at its last tick */
    uint64_t tick_ns;     /* its next one */
    struct wi_secret_source secret; /* constant after open */
};

#endif /* WI_NODE_OS_H */
