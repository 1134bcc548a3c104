/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A node: an engine, the lock that guards it, and the node's part of the
 * operating system (core/node/node_os.h). The engine knows neither lock nor
 * system.
 */
#ifndef WI_LOCK_H
#define WI_LOCK_H

#include <pthread.h>

#include "core/link/engine.h"

struct wi_node_os;

struct weir_node {
    struct wi_engine engine;
    pthread_mutex_t lock; /* guards the engine */
    struct wi_node_os *os;
};

/** Lock the engine of a node and bring its time up to date. Blocks while
 *  another thread's step or call lasts. */
void wi_node_lock(struct weir_node *n);
void wi_node_unlock(struct weir_node *n);

#endif /* WI_LOCK_H */
