/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random plans give what SQLite gives for the same query. Data, plan and shape
 * of the cluster follow from the seed, which is in the message of what fails:
 * WEIR_SEED=n runs it alone.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "test/support/oracle_data.h"
#include "test/support/random_plan.h"

/* Seeds that share data and cluster. */
enum { BLOCK = 10 };

static const struct wt_place shm = {.transport = "shm"};
static const struct wt_place tcp = {.transport = "tcp"};
static const struct wt_place sim = {.transport = "sim", .sim = true};

static void run_seed(struct wt_oracle *o, struct wt_cluster *c, uint64_t seed)
{
    struct wt_random_plan plan;
    char name[32];
    wt_random_plan_init(&plan, seed);
    (void)snprintf(name, sizeof(name), "seed %" PRIu64, seed);
    wt_oracle_check(
        o, c,
        &(struct wt_oracle_case){.name = name,
                                 .json = plan.json,
                                 .sql = plan.sql,
                                 .order = plan.ordered ? WT_ORDER_ALL : 0,
                                 .twice = plan.keep});
    wt_random_plan_fini(&plan);
}

/* Every number of nodes with one worker and with two, in turn. Data of several
 * batches for each worker take SQLite long: now and then. */
static void run_block(const struct wt_place *place,
                      const struct weir_node_params *node, uint64_t block,
                      uint64_t only)
{
    static const uint32_t nodes[] = {1, 2, 3, 5, 8};
    static struct wt_cluster c;
    const struct wt_cluster_params params = {.nodes = nodes[block % 5],
                                             .workers =
                                                 1 + (uint32_t)(block / 5 % 2),
                                             .node = *node,
                                             .sim = {.seed = block}};
    struct wt_oracle o;
    wt_oracle_open(&o);
    wt_oracle_data(&o, block, block % 7 == 0 ? WT_FACTS_ROWS : 600);
    wt_cluster_open(&c, place, &params);
    for (uint64_t seed = block * BLOCK; seed < (block + 1) * BLOCK; seed++) {
        if (only == 0 || only == seed) {
            run_seed(&o, &c, seed);
        }
    }
    wt_cluster_close(&c);
    wt_oracle_close(&o);
}

static void run_seeds(const struct wt_place *place,
                      const struct weir_node_params *node, uint64_t first,
                      uint64_t n)
{
    const char *seed = getenv("WEIR_SEED");
    const uint64_t only = seed == NULL ? 0 : strtoull(seed, NULL, 10);
    for (uint64_t block = first / BLOCK; block < (first + n) / BLOCK; block++) {
        if (only == 0 || only / BLOCK == block) {
            run_block(place, node, block, only);
        }
    }
}

static const struct weir_node_params usual = {.max_shuffles = 32};
static const struct weir_node_params tiny = {
    .frame_bytes = 1024, .ring_frames = 2, .max_shuffles = 32};

Test(oracle_random, plans_in_the_simulator)
{
    run_seeds(&sim, &usual, 1000, 100);
}

Test(oracle_random, plans_with_tiny_rings)
{
    run_seeds(&sim, &tiny, 2000, 100);
}

Test(oracle_random, plans_over_shm)
{
    run_seeds(&shm, &usual, 3000, 100);
}

Test(oracle_random, plans_over_tcp)
{
    run_seeds(&tcp, &usual, 4000, 100);
}

Test(oracle_random, plans_with_tiny_rings_over_tcp)
{
    run_seeds(&tcp, &tiny, 5050, 50);
}
