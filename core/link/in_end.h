/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The end of an edge at the consumer, engine side: empty, closed, freed. Under
 * the node's lock.
 *
 *   open --last batch released--> empty --producer has ended--> CLOSED is sent
 *        --no reader points to it, the send side has let go--> freed, or a
 *   stray until the queues that still name it have been taken empty
 */
#ifndef WI_IN_END_H
#define WI_IN_END_H

#include "core/link/edge.h"
#include "core/link/link.h"

/** Empty and finished: tell the producer, free once no reader points to it.
 *  Engine's inbox. */
void wi_in_finish(struct wi_in *in);
/** The producer writes no more: an empty ring is over. */
void wi_in_over(struct wi_in *in);
/** Nothing is held of it, and no reader points to it. */
bool wi_in_released(const struct wi_in *in);
/** Released, and the send side has let go of it. */
void wi_in_free(struct wi_in *in);
/** The link died: nobody is told any more. */
void wi_edges_dead(struct wi_link *l);
/** Nobody reads the ring any more: tell its producer, once. */
void wi_in_stop(struct wi_in *in);
/** Free the strays that their workers have taken off; `all`: no worker runs. */
void wi_edges_strays(struct wi_engine *e, bool all);

#endif /* WI_IN_END_H */
