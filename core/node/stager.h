/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Who makes copies of parts of regions (core/region/extent.h), and ends large
 * mappings (core/region/gone.h): a thread of its own, so that a slow disk holds
 * up neither the network nor who holds the lock. It starts when there is
 * something to do; with `manual`, the step does it.
 */
#ifndef WI_STAGER_H
#define WI_STAGER_H

struct weir_node;

/** There is something to do. Under the node's lock.
 *  @param arg  the node */
void wi_stager_fill(void *arg);

/** Wait for the thread, if there is one, and do what is left. What was to be
 *  copied is of regions that are closed, and is not copied. */
void wi_stager_stop(struct weir_node *n);

#endif /* WI_STAGER_H */
