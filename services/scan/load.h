/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Loads: rows that a client has for an engine.
 *
 *   LOAD (schema) --> load      FILL --> parked --> copied by the engine's
 *   OPEN names it --> bind                          get_next --> answered
 *
 * The engine sets the pace: a FILL is answered when its batches were copied out
 * of the room, which is when they are wanted. Once no more are wanted, FILLs
 * get their end at once; the load is there until its client is gone, or needs
 * its place for another.
 */
#ifndef WI_SCAN_LOAD_H
#define WI_SCAN_LOAD_H

#include <weir/batch.h>

#include "services/scan/server.h"

struct wi_scan_load;

/* With the server's lock held: */

/** LOAD: made by a thread of work.c. Takes over the ask. */
void wi_scan_load_open(struct weir_scan_server *s,
                       struct wi_scan_session *session,
                       const struct weir_ask *ask, const struct wi_scan_ask *a,
                       struct wi_scan_slot *room);

/** A client's load, or NULL. */
struct wi_scan_load *wi_scan_load_find(const struct wi_scan_session *session,
                                       const uint64_t *id);

/** FILL. Takes over the ask. */
void wi_scan_load_fill(struct wi_scan_load *load, const struct weir_ask *ask,
                       const struct wi_scan_ask *a, struct wi_scan_slot *room);

/** A scan wants its rows. False: another one has wanted them. */
bool wi_scan_load_hold(struct wi_scan_load *load);
/** That scan is freed. */
void wi_scan_load_drop(struct wi_scan_load *load);

/** No rows are wanted: get_next fails, FILLs get their end. */
void wi_scan_load_cancel(struct wi_scan_load *load);

/** The client is gone. */
void wi_scan_loads_leave(struct wi_scan_session *session);

/**
 * Its rows as a stream, for an engine. get_next waits for FILLs, for idle_ns at
 * most.
 *
 * Blocks:     shortly
 * Threads:    any, the lock not held; the scan holds the load
 * Ownership:  stream_out->release
 */
void wi_scan_load_bind(struct wi_scan_load *load,
                       struct ArrowArrayStream *stream_out);

/** Why an engine that has read its rows did not get them all; NULL: it did.
 *  Threads: any, the lock not held. Ownership: the caller's, to free. */
char *wi_scan_load_why_cut(struct wi_scan_load *load);

#endif /* WI_SCAN_LOAD_H */
