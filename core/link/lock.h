/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A node: an engine, the lock that guards it, and what it has of the operating
 * system (core/node/node_os.h). The engine knows neither of the last two.
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

/** Lock the engine of a node; its time is now. Blocks for as long as a step or
 *  a call of another thread takes. */
void wi_node_lock(struct weir_node *n);
void wi_node_unlock(struct weir_node *n);

#endif /* WI_LOCK_H */
