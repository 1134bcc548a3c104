/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The network thread of a node: a loop around the engine's step. It sleeps in
 * poll(2) as soon as a step found nothing, so an idle node uses no CPU.
 */
#ifndef WI_NETTHREAD_H
#define WI_NETTHREAD_H

#include <weir/error.h>

struct weir_node;
struct wi_node_os;

/** Start and stop the network thread. Stop waits for it. */
weir_err wi_netthread_start(struct weir_node *n, struct weir_error *err);
void wi_netthread_stop(struct weir_node *n);

/** Wake the network thread if it sleeps. */
void wi_netthread_wake(struct wi_node_os *os);

#endif /* WI_NETTHREAD_H */
