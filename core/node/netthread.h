/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The network thread of a node: a loop around the engine's step, while no
 * worker is on duty (duty.h). It sleeps in poll(2) as soon as a step found
 * nothing, so an idle node uses no CPU.
 */
#ifndef WI_NETTHREAD_H
#define WI_NETTHREAD_H

#include <weir/error.h>

struct weir_node;

/** Start and stop the network thread. Stop waits for it. */
weir_err wi_netthread_start(struct weir_node *n, struct weir_error *err);
void wi_netthread_stop(struct weir_node *n);

#endif /* WI_NETTHREAD_H */
