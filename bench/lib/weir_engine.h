/* SPDX-License-Identifier: Apache-2.0 */
/** The library as an engine of the two-stage bench: two_stage.h in forked
 *  processes, over the transport that wb_plan_params names. */
#ifndef WB_WEIR_ENGINE_H
#define WB_WEIR_ENGINE_H

#include <weir/node.h>

#include "bench/lib/plan.h"

extern const struct wb_engine_ops wb_weir_engine;

/** The node of an engine that is open. Errors: none. Blocks: never.
 *  Ownership: the engine's. */
weir_node *wb_weir_engine_node(void *engine);

#endif /* WB_WEIR_ENGINE_H */
