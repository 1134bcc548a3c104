/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Ends of streams. A stream is what one consuming worker gets over a ring.
 * Under the node's lock, but for wi_stream_ended().
 */
#ifndef WI_STREAM_H
#define WI_STREAM_H

#include "core/link/edge.h"

/** The reader has enough, and (detach) goes away. */
void wi_stream_stop(struct wi_stream *st);
void wi_stream_detach(struct wi_stream *st);
/** The stream is at its end: the last one finishes its ring. By its reader. */
void wi_stream_ended(struct wi_stream *st);
/** Nobody will ever read this ring: stop its producer, finish. */
void wi_in_refuse(struct wi_in *in);

#endif /* WI_STREAM_H */
