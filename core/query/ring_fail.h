/* SPDX-License-Identifier: Apache-2.0 */
/** Failing a query because of what came over one of its rings. */
#ifndef WI_RING_FAIL_H
#define WI_RING_FAIL_H

#include <weir/error.h>

struct wi_in;

/** Found by its reader, which does not hold the node's lock. Returns what
 *  failed the query, perhaps another cause. */
weir_err wi_query_fail_ring(struct wi_in *in, weir_err code, const char *why);

/** Found by a dispatcher, through the engine's queue of failures. Under the
 *  node's lock. */
void wi_query_ring_failed(struct wi_in *in);

#endif /* WI_RING_FAIL_H */
