/* SPDX-License-Identifier: Apache-2.0 */
/* A node that asks a seed, which hangs up: on the simulator. */
#include "core/link/join.h"

#include "core/link/engine.h"
#include "core/link/lock.h"
#include "test/support/lone.h"

static struct wt_lone lone;

static const uint64_t ms = 1000000u;

/* What else the node does meanwhile must not make it forget. */
Test(join, asks_again_in_time_whatever_else_is_due_before)
{
    struct weir_error err = {0};
    wt_lone_open(&lone, NULL);
    struct wi_engine *e = &lone.node->engine;
    const struct weir_seed to = {.address = "sim:1"};
    cr_assert_eq(wi_join_start(e, &to, 2, &err), WEIR_OK, "%s", err.message);
    struct wt_raw *seed = &lone.raws[0];
    WT_TURNS(&lone, seed->of_type[WI_MSG_JOIN] == 1);
    wt_raw_drop(seed);
    wt_lone_settle(&lone);
    cr_assert_not(seed->accepted && seed->ep != NULL);
    uint64_t from = wi_simnet_now(lone.net);
    wi_engine_due(e, from + 10 * ms); /* anything */
    WT_TURNS(&lone, seed->ep != NULL && seed->of_type[WI_MSG_JOIN] == 1);
    cr_assert_gt(wi_simnet_now(lone.net), from + 10 * ms);
    cr_assert_lt(wi_simnet_now(lone.net), from + 60 * ms);
    wi_join_end(e, true);
    wt_lone_close(&lone);
}
