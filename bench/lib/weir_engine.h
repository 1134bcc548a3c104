/* SPDX-License-Identifier: Apache-2.0 */
/** The library as an engine of the two-stage bench: two_stage.h in forked
 *  processes, over the transport that wb_plan_params names. */
#ifndef WB_WEIR_ENGINE_H
#define WB_WEIR_ENGINE_H

#include "bench/lib/plan.h"

extern const struct wb_engine_ops wb_weir_engine;

#endif /* WB_WEIR_ENGINE_H */
