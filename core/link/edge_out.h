/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Edges at the producer, engine side: handing out rings and taking them back.
 * edge.h has the life of an edge. Under the node's lock.
 */
#ifndef WI_EDGE_OUT_H
#define WI_EDGE_OUT_H

#include "core/link/edge.h"
#include "core/link/link.h"

/** Put a WAITING out on the link to its consumer. */
void wi_out_start(struct wi_link *l, struct wi_out *o);
/** Give rings to the outs that wait, as far as there are units. */
void wi_out_place(struct wi_link *l);
/** Time passes. Where an edge waits for a ring that an edge of a query with a
 *  higher number has, and nothing has moved in any ring of the link for
 *  stall_ns (30 s if that is less), the query with the highest number fails. */
void wi_out_tick(struct wi_link *l);
/** The writer is done: abandon unless END was written; frees when it can. */
void wi_out_release(struct wi_out *o, bool ended);
/** The consumer wants no more, and the worker has stopped writing. */
void wi_out_abandon(struct wi_out *o);
/** Free an out that is over at both ends and that the send side let go of. */
void wi_out_free(struct wi_out *o);

/* Messages of a consumer. An error: it broke the protocol (err). */
weir_err wi_out_on_stop(struct wi_link *l, const union wi_msg *m,
                        struct weir_error *err);
weir_err wi_out_on_closed(struct wi_link *l, const union wi_msg *m,
                          struct weir_error *err);
weir_err wi_out_on_credit(struct wi_link *l, const union wi_msg *m,
                          struct weir_error *err);

#endif /* WI_EDGE_OUT_H */
