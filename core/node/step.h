/* SPDX-License-Identifier: Apache-2.0 */
/** Steps of the engine. Beside them, only calls of the API change anything. */
#ifndef WI_STEP_H
#define WI_STEP_H

#include <stdint.h>

struct wi_engine;

/** Do everything that can be done at now_ns. Returns how many things were done.
 *  Under the node's lock. */
uint32_t wi_engine_step(struct wi_engine *e, uint64_t now_ns);

/** When to step again if nothing happens. */
uint64_t wi_engine_next(const struct wi_engine *e);

/** A worker is about to sleep: send what waits for a step, and take what the
 *  node has told itself. Under the node's lock. */
void wi_engine_tend(struct wi_engine *e);

#endif /* WI_STEP_H */
