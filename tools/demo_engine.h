/* SPDX-License-Identifier: Apache-2.0 */
/** The library as an engine of the two-stage plan that shows how far it is. */
#ifndef WEIR_DEMO_ENGINE_H
#define WEIR_DEMO_ENGINE_H

#include "bench/lib/plan.h"
#include "tools/progress.h"

extern const struct wb_engine_ops demo_engine;

/** Where workers report the rows that they have counted, by their number in
 *  the cluster; NULL: nowhere. Set before a run: forked processes inherit it.
 *  Errors: none. Blocks: never. Threads: one. Ownership: the caller's. */
void demo_engine_show(struct progress *progress);

#endif /* WEIR_DEMO_ENGINE_H */
