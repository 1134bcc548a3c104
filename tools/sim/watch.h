/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Invariants, looked at after every step of a node and every write, through the
 * engine's own structures.
 *
 *   positions     a ring's only grow, head <= scan <= tail <= head + size; so
 *                 do the producer's, never ahead of what it was given
 *   space         no write lands on bytes that were not given back
 *   held          no space of a batch that somebody holds is given back
 *   rows          no stream has more rows than were sent over its edge; when it
 *                 has ended, all of them
 *   budget        memory that travels is within the cap, also by the
 *                 transport's own count
 *   units         the units that are in use are those of the rings that are
 *                 open
 */
#ifndef WS_WATCH_H
#define WS_WATCH_H

#include "tools/sim/world.h"

/** Begin to look on. Errors: no memory. Ownership: ws_watch_close. */
weir_err ws_watch_open(struct ws_world *w);
void ws_watch_close(struct ws_world *w);

/** What is left of queries on a node, and of its link to which other one; NULL:
 *  nothing. Where nodes lie, edges are not looked at. */
const char *ws_watch_left(struct ws_world *w, uint32_t node, uint32_t *peer);

#endif /* WS_WATCH_H */
