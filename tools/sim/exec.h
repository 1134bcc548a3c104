/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Queries of the executor: a join and an aggregate over tables that are
 * computed, so that the one row that comes out is known.
 */
#ifndef WS_EXEC_H
#define WS_EXEC_H

#include "tools/sim/world.h"

/** Read the plan, once for all nodes. Errors: a finding. */
void ws_exec_open(struct ws_world *w);
void ws_exec_close(struct ws_world *w);

/** Open the run of a part. */
weir_err ws_exec_begin(struct ws_part *p, struct weir_error *err);

/** Was the answer of a query that is done the right one? */
bool ws_exec_is_right(const struct ws_world *w, uint32_t query);

#endif /* WS_EXEC_H */
