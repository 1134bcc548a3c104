/* SPDX-License-Identifier: Apache-2.0 */
/* Random plans give what SQLite gives for the same query. A seed that fails is
 * in the message: WEIR_SEED=n runs it alone. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "test/support/oracle_data.h"
#include "test/support/random_plan.h"

static const struct wt_place shm = {.transport = "shm"};
static const struct wt_place sim = {.transport = "sim", .sim = true};

static void run_seed(struct wt_oracle *o, struct wt_cluster *c, uint64_t seed)
{
    struct wt_random_plan plan;
    char name[32];
    wt_random_plan_init(&plan, seed);
    (void)snprintf(name, sizeof(name), "seed %" PRIu64, seed);
    wt_oracle_check(o, c, name, plan.json, plan.sql, plan.ordered);
    wt_random_plan_fini(&plan);
}

static void run_seeds(const struct wt_place *place, uint64_t first, uint64_t n,
                      const struct wt_cluster_params *params)
{
    static struct wt_cluster c;
    struct wt_oracle o;
    const char *only = getenv("WEIR_SEED");
    wt_oracle_open(&o);
    wt_oracle_data(&o, first);
    wt_cluster_open(&c, place, params);
    for (uint64_t seed = first; seed < first + n; seed++) {
        if (only == NULL || strtoull(only, NULL, 10) == seed) {
            run_seed(&o, &c, seed);
        }
    }
    wt_cluster_close(&c);
    wt_oracle_close(&o);
}

Test(oracle_random, plans_in_the_simulator)
{
    run_seeds(&sim, 1, 150,
              &(struct wt_cluster_params){
                  .nodes = 3, .workers = 2, .node = {.max_shuffles = 32}});
}

Test(oracle_random, plans_with_tiny_rings)
{
    struct wt_cluster_params params = {
        .nodes = 4,
        .node = {.frame_bytes = 1024, .ring_frames = 2, .max_shuffles = 32}};
    run_seeds(&sim, 1001, 100, &params);
}

Test(oracle_random, plans_over_shm)
{
    run_seeds(&shm, 2001, 100,
              &(struct wt_cluster_params){
                  .nodes = 2, .workers = 2, .node = {.max_shuffles = 32}});
}
