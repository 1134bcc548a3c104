/* SPDX-License-Identifier: Apache-2.0 */
#include <weir/stats.h>

#include "core/link/engine.h"
#include "core/link/lock.h"
#include "test/support/lone.h"

static struct wt_lone lone;

Test(stats, the_memory_plan_is_in_them)
{
    static const struct weir_node_params params = {.memory_bytes = 64 << 20};
    struct weir_node_stats s = {0};
    wt_lone_open(&lone, &params);
    weir_node_stats_get(lone.node, &s);
    const struct wi_budget *plan = &lone.node->engine.budget;
    cr_assert_gt(plan->total_bytes, 0);
    cr_expect_eq(s.memory_plan_bytes, plan->total_bytes);
    cr_expect_eq(s.memory_cap_bytes, params.memory_bytes);
    cr_expect_leq(s.memory_bytes, s.memory_plan_bytes);
    cr_expect_geq(s.memory_peak_bytes, s.memory_bytes);
    wt_lone_close(&lone);
}
