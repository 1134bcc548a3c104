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

struct weir_node;

struct wi_node_os {
    pthread_cond_t moved; /* the engine made a step that others wait for */
    pthread_t thread;
    bool thread_runs;
    int wake_fd;               /* eventfd of the network thread */
    _Atomic uint32_t sleeping; /* E11: the network thread is about to sleep */
    _Atomic uint32_t stop;
    uint32_t waiters; /* on `moved`, under the lock */
};

#endif /* WI_NODE_OS_H */
