/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What one worker does of a query: it makes rows, takes rows, joins them, sends
 * them on, keeps batches for a while, and checks every value that it sees.
 *
 * A worker that is blocked on a writer goes on taking rows downstream of it, as
 * weir/shuffle.h asks for.
 */
#ifndef WS_ACTOR_H
#define WS_ACTOR_H

#include "tools/sim/world.h"

/** Add the tasks of a part. */
void ws_actors_begin(struct ws_part *p);

/** Give back what it holds; its writers and readers are the query's. */
void ws_actor_close(struct ws_actor *a);

#endif /* WS_ACTOR_H */
