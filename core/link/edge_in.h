/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Edges at the consumer, engine side: rings that peers open are checked and
 * given to queries. The life of an edge is in edge.h. Under the node's lock.
 */
#ifndef WI_EDGE_IN_H
#define WI_EDGE_IN_H

#include "core/link/edge.h"
#include "core/link/link.h"

/** May the peer write there? Only into an open ring, and not over what it has
 *  published and the reader not released, so that nothing changes after it was
 *  checked. For wi_guard; arg is the link. */
bool wi_in_may_write(void *arg, uint64_t off, uint64_t bytes);

/* Messages of a producer. An error: it broke the protocol (err). */
weir_err wi_in_on_open(struct wi_link *l, const union wi_msg *m,
                       struct weir_error *err);
weir_err wi_in_on_notify(struct wi_link *l, const union wi_msg *m,
                         struct weir_error *err);
weir_err wi_in_on_abandon(struct wi_link *l, const union wi_msg *m,
                          struct weir_error *err);

#endif /* WI_EDGE_IN_H */
