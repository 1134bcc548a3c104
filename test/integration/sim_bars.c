/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two-stage plan on a simulated network stays near the bandwidth bound.
 * `weir bench sim` does the same at 256 nodes; here are sizes that are run in
 * seconds. 128 Ki rows on 32 nodes are 4096 per pair, eight frames and a bit.
 */
#include <criterion/criterion.h>

#include "bench/lib/simulate.h"

static struct wb_simulate run(struct wb_simulate_params p)
{
    struct wb_simulate r;
    struct weir_error err = {0};
    cr_assert_eq(wb_simulate_run(&p, &r, &err), WEIR_OK, "%s", err.message);
    cr_assert_geq(r.ratio, 1.0, "faster than the network: %.3f", r.ratio);
    return r;
}

Test(sim_bars, near_the_bound, .timeout = 100)
{
    struct wb_simulate r = run(
        (struct wb_simulate_params){.nodes = 32, .rows_per_node = 128 << 10});
    cr_assert_lt(r.ratio, 1.15, "%.3f", r.ratio);
    cr_assert_lt(r.wire_per_payload, 1.1, "%.3f", r.wire_per_payload);
}

/* Producers that all began with the same consumer took 1.32 here. */
Test(sim_bars, few_frames_per_pair, .timeout = 100)
{
    struct wb_simulate r = run(
        (struct wb_simulate_params){.nodes = 64, .rows_per_node = 96 << 10});
    cr_assert_lt(r.ratio, 1.22, "%.3f", r.ratio);
}

Test(sim_bars, with_jitter, .timeout = 100)
{
    struct wb_simulate r = run((struct wb_simulate_params){
        .nodes = 32, .rows_per_node = 128 << 10, .jitter_ns = 5000, .seed = 7});
    cr_assert_lt(r.ratio, 1.3, "%.3f", r.ratio);
}

Test(sim_bars, one_seed_one_run, .timeout = 100)
{
    struct wb_simulate_params p = {
        .nodes = 8, .rows_per_node = 32 << 10, .jitter_ns = 3000, .seed = 3};
    struct wb_simulate a = run(p);
    struct wb_simulate b = run(p);
    cr_assert_eq(a.virtual_ns, b.virtual_ns);
    cr_assert_eq(a.frames, b.frames);
    p.seed = 4;
    cr_assert_neq(run(p).virtual_ns, a.virtual_ns);
}
