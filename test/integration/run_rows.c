/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of plans without expressions over shm, tcp and the simulator: every row
 * comes out as often as it should, whatever the shape of the cluster.
 */
#include "test/support/sketch.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct wt_place places[] = {{.transport = "shm"},
                                         {.transport = "tcp"},
                                         {.transport = "sim", .sim = true}};
enum { SHM, TCP, SIM, PLACES };

/* scan -> hash -> hash -> hash -> gather */
static void sketch_chain(struct wt_sketch *s, const struct wt_rows *rows,
                         const struct wt_table *table)
{
    wt_sketch_init(s, rows);
    uint32_t op = wt_sketch_scan(s, table);
    for (uint32_t i = 1; i <= 3; i++) {
        op = wt_sketch_shuffle(s, op, WEIR_HASH, i);
    }
    wt_sketch_result(s, op);
}

static void run_exact(const struct wt_place *place, const struct wt_sketch *s,
                      const struct wt_cluster_params *params, uint8_t times)
{
    struct wt_cluster c;
    struct wt_trial t = {0};
    wt_cluster_open(&c, place, params);
    wt_trial_open(&t, &c, s, NULL);
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s, %u nodes, %u workers: %s", place->transport, c.n_nodes,
              c.n_workers, c.why);
    wt_trial_exact(&t, times);
    wt_trial_close(&t);
    wt_cluster_close(&c);
}

static void chain_everywhere(const struct wt_place *place)
{
    static const uint32_t nodes[] = {1, 2, 3, 5};
    struct wt_sketch s;
    const struct wt_table table = {.n_rows = 5000};
    sketch_chain(&s, &(struct wt_rows){0}, &table);
    for (uint32_t i = 0; i < 8; i++) {
        const struct wt_cluster_params cluster = {.nodes = nodes[i / 2],
                                                  .workers = 1 + i % 2};
        run_exact(place, &s, &cluster, 1);
    }
    wt_sketch_fini(&s);
}

Test(run_rows, chain_of_shuffles_over_shm, .timeout = 100)
{
    chain_everywhere(&places[SHM]);
}

Test(run_rows, chain_of_shuffles_over_tcp, .timeout = 100)
{
    chain_everywhere(&places[TCP]);
}

Test(run_rows, chain_of_shuffles_in_the_simulator, .timeout = 100)
{
    chain_everywhere(&places[SIM]);
}

static void remove_from(weir_node *node, uint32_t idx)
{
    struct weir_error err = {0};
    cr_assert_eq(weir_node_remove_member(node, idx, &err), WEIR_OK, "%s",
                 err.message);
}

/* Three nodes, without the second: their numbers are 0 and 2. Then the first
 * by itself. */
Test(run_rows, members_that_were_removed_have_no_part, .timeout = 100)
{
    struct wt_cluster c;
    struct wt_sketch s;
    const struct wt_table table = {.n_rows = 5000};
    const struct wt_cluster_params three = {.nodes = 3, .workers = 2};
    wt_cluster_open(&c, &places[SHM], &three);
    weir_node *node[] = {c.node[0], c.node[2], c.node[1]};
    sketch_chain(&s, &(struct wt_rows){0}, &table);
    memcpy(c.node, node, sizeof(node));
    remove_from(c.node[0], 1);
    remove_from(c.node[1], 1);
    for (c.n_nodes = 2; c.n_nodes > 0; c.n_nodes--) {
        struct wt_trial t = {0};
        const struct weir_run_params params = {.query_id = c.n_nodes};
        wt_trial_open(&t, &c, &s, &params);
        bool ran = wt_cluster_run(&c);
        cr_assert(ran, "%s", c.why);
        wt_trial_exact(&t, 1);
        wt_trial_close(&t);
        if (c.n_nodes == 2) {
            remove_from(c.node[0], 2);
        }
    }
    c.n_nodes = 3;
    wt_sketch_fini(&s);
    wt_cluster_close(&c);
}

/* The cycle of full rings that is possible if a worker that is blocked on one
 * stage does not go on with the later ones. */
static void tiny_rings(const struct wt_place *place, uint64_t seed)
{
    struct wt_sketch s;
    const struct wt_rows rows = {.keys = 1};
    const struct wt_table table = {.n_rows = 3000, .batch_rows = 500};
    struct wt_cluster_params cluster = {
        .nodes = 2 + (uint32_t)(seed % 3),
        .workers = 1 + (uint32_t)(seed / 3 % 2),
        .node = {.frame_bytes = 1024, .ring_frames = 2, .max_shuffles = 6},
        .sim = {.seed = seed, .jitter_ns = 3000}};
    if (seed % 2 == 0) {
        cluster.node.memory_bytes = wt_least_memory(place, &cluster);
    }
    sketch_chain(&s, &rows, &table);
    run_exact(place, &s, &cluster, 1);
    wt_sketch_fini(&s);
}

Test(run_rows, equal_keys_through_tiny_rings_in_the_simulator, .timeout = 100)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        tiny_rings(&places[SIM], seed);
    }
}

Test(run_rows, equal_keys_through_tiny_rings_over_shm_and_tcp, .timeout = 100)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        tiny_rings(&places[seed % 2 == 0 ? SHM : TCP], seed);
    }
}

/* ---- other shapes -------------------------------------------------------- */

static const struct wt_cluster_params three_by_two = {.nodes = 3, .workers = 2};

Test(run_rows, merge_gives_rows_in_order, .timeout = 100)
{
    const struct wt_table table = {.n_rows = 20000};
    struct wt_sketch s;
    wt_sketch_init(&s, &(struct wt_rows){0});
    wt_sketch_result(&s, wt_sketch_merge(&s, wt_sketch_scan(&s, &table)));
    for (uint32_t i = 0; i < PLACES; i++) {
        struct wt_cluster c;
        struct wt_trial t = {.ordered = true};
        wt_cluster_open(&c, &places[i], &three_by_two);
        wt_trial_open(&t, &c, &s, NULL);
        bool ran = wt_cluster_run(&c);
        cr_assert(ran, "%s: %s", places[i].transport, c.why);
        wt_trial_exact(&t, 1);
        wt_trial_close(&t);
        wt_cluster_close(&c);
    }
    wt_sketch_fini(&s);
}

Test(run_rows, union_gives_the_rows_of_all_inputs, .timeout = 100)
{
    const struct wt_table table = {.n_rows = 5000};
    struct wt_sketch s;
    wt_sketch_init(&s, &(struct wt_rows){0});
    uint32_t a = wt_sketch_scan(&s, &table);
    uint32_t b =
        wt_sketch_shuffle(&s, wt_sketch_scan(&s, &table), WEIR_HASH, 1);
    uint32_t ab = wt_sketch_union(&s, a, b);
    /* One side is on the first worker only, the other one everywhere. */
    uint32_t c =
        wt_sketch_shuffle(&s, wt_sketch_scan(&s, &table), WEIR_GATHER, 0);
    wt_sketch_result(&s, wt_sketch_union(&s, c, ab));
    for (uint32_t i = 0; i < PLACES; i++) {
        run_exact(&places[i], &s, &three_by_two, 3);
    }
    wt_sketch_fini(&s);
}

Test(run_rows, rows_are_spread_again_after_a_gather, .timeout = 100)
{
    const struct wt_table table = {.n_rows = 5000};
    struct wt_sketch s;
    wt_sketch_init(&s, &(struct wt_rows){0});
    uint32_t op =
        wt_sketch_shuffle(&s, wt_sketch_scan(&s, &table), WEIR_GATHER, 0);
    wt_sketch_result(&s, wt_sketch_shuffle(&s, op, WEIR_ROUND_ROBIN, 0));
    for (uint32_t i = 0; i < PLACES; i++) {
        run_exact(&places[i], &s, &three_by_two, 1);
    }
    wt_sketch_fini(&s);
}

Test(run_rows, broadcast_multiplies_rows_by_workers, .timeout = 100)
{
    const struct wt_table table = {.n_rows = 1000};
    struct wt_sketch s;
    wt_sketch_init(&s, &(struct wt_rows){0});
    uint32_t op = wt_sketch_scan(&s, &table);
    wt_sketch_result(&s, wt_sketch_shuffle(&s, op, WEIR_BROADCAST, 0));
    for (uint32_t i = 0; i < PLACES; i++) {
        run_exact(&places[i], &s, &three_by_two, 6);
    }
    wt_sketch_fini(&s);
}

Test(run_rows, no_rows_at_all, .timeout = 100)
{
    const struct wt_table table = {.n_rows = 0};
    struct wt_sketch s;
    sketch_chain(&s, &(struct wt_rows){0}, &table);
    for (uint32_t i = 0; i < PLACES; i++) {
        run_exact(&places[i], &s, &three_by_two, 0);
    }
    wt_sketch_fini(&s);
}

/* ---- enough -------------------------------------------------------------- */

static void run_until(const struct wt_place *place, const struct wt_sketch *s,
                      uint64_t stop_after, uint64_t rows)
{
    struct wt_cluster c;
    struct wt_trial t = {.stop_after = stop_after};
    wt_cluster_open(&c, place, &three_by_two);
    wt_trial_open(&t, &c, s, NULL);
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s: %s", place->transport, c.why);
    for (uint32_t n = 0; n < 3; n++) {
        struct weir_error err = {0};
        cr_assert_eq(weir_run_status(t.run[n], &err), WEIR_OK, "%s",
                     err.message);
    }
    if (stop_after == 0) {
        cr_assert_eq(t.rows, rows);
    } else {
        cr_assert(t.rows >= stop_after && t.rows < rows);
    }
    wt_trial_close(&t);
    wt_cluster_close(&c);
}

Test(run_rows, limit_stops_what_produces_rows, .timeout = 100)
{
    const struct wt_table table = {.n_rows = 2000000};
    static const uint64_t limits[][3] = {
        {0, 0, 0}, {1, 0, 1}, {2500, 0, 2500}, {10, 3000, 10}};
    for (uint32_t i = 0; i < 4 * PLACES; i++) {
        const uint64_t *limit = limits[i / PLACES];
        struct wt_sketch s;
        wt_sketch_init(&s, &(struct wt_rows){0});
        uint32_t op =
            wt_sketch_shuffle(&s, wt_sketch_scan(&s, &table), WEIR_HASH, 1);
        op = wt_sketch_shuffle(&s, op, WEIR_GATHER, 0);
        wt_sketch_result(&s, wt_sketch_limit(&s, op, limit[0], limit[1]));
        run_until(&places[i % PLACES], &s, 0, limit[2]);
        wt_sketch_fini(&s);
    }
}

Test(run_rows, the_program_may_have_enough, .timeout = 100)
{
    const struct wt_table table = {.n_rows = 2000000};
    struct wt_sketch s;
    sketch_chain(&s, &(struct wt_rows){0}, &table);
    for (uint32_t i = 0; i < PLACES; i++) {
        run_until(&places[i], &s, 100, table.n_rows);
    }
    wt_sketch_fini(&s);
}

/* ---- threads of the library, statistics ---------------------------------- */

static void *wait_for_run(void *run)
{
    return (void *)(intptr_t)weir_run_wait(run, NULL);
}

Test(run_rows, wait_runs_all_workers_and_counts_add_up, .timeout = 100)
{
    const struct weir_run_params params = {.timed = 1};
    const struct wt_table table = {.n_rows = 30000};
    struct wt_sketch s;
    struct wt_cluster c;
    struct wt_trial t = {0};
    pthread_t thread[3];
    struct weir_op_stats sum[6] = {0};
    uint64_t progress = 0;
    uint64_t edges = 0;
    sketch_chain(&s, &(struct wt_rows){0}, &table);
    wt_cluster_open(&c, &places[SHM], &three_by_two);
    wt_trial_open(&t, &c, &s, &params);
    for (uint32_t n = 0; n < 3; n++) {
        cr_assert_eq(pthread_create(&thread[n], NULL, wait_for_run, t.run[n]),
                     0);
    }
    for (uint32_t n = 0; n < 3; n++) {
        void *end = &t;
        cr_assert_eq(pthread_join(thread[n], &end), 0);
        cr_assert_null(end, "weir_run_wait on node %u", n);
        cr_assert_eq(weir_run_operators(t.run[n]), 6);
        progress += weir_run_progress(t.run[n]);
        for (uint32_t i = 0; i < 6; i++) {
            struct weir_op_stats one;
            cr_assert_eq(weir_run_stats(t.run[n], i, &one), WEIR_OK);
            cr_assert_leq(one.rows_least, one.rows_most);
            cr_assert_leq(one.busy_ns, UINT64_MAX / 2, "negative time");
            sum[i].rows += one.rows;
            sum[i].bytes += one.bytes;
            sum[i].busy_ns += one.busy_ns;
            sum[i].memory_bytes += one.memory_bytes;
        }
        struct weir_edge_stats edge;
        for (uint32_t i = 0; i < 12; i++) {
            cr_assert_eq(weir_run_edge(t.run[n], 1, i / 6, i % 6, &edge),
                         WEIR_OK);
            edges += edge.rows;
        }
        cr_assert_eq(weir_run_edge(t.run[n], 0, 0, 0, &edge),
                     WEIR_ERR_NOT_FOUND, "a scan has no edges");
        cr_assert_eq(weir_run_stats(t.run[n], 6, &sum[0]), WEIR_ERR_NOT_FOUND);
    }
    for (uint32_t i = 0; i < 6; i++) {
        cr_assert_eq(sum[i].rows, 30000, "operator %u", i);
        cr_assert_gt(sum[i].busy_ns, 0);
        cr_assert_gt(sum[i].memory_bytes, 0);
        cr_assert_eq(sum[i].bytes != 0, i >= 1 && i <= 4);
    }
    cr_assert_eq(edges, 30000);
    cr_assert_eq(progress, 5 * 30000);
    wt_trial_exact(&t, 1);
    wt_trial_close(&t);
    wt_cluster_close(&c);
    wt_sketch_fini(&s);
}

/* What an operator did on all nodes. */
static struct weir_op_stats sum_up(const struct wt_trial *t, uint32_t nodes,
                                   uint32_t idx)
{
    struct weir_op_stats sum = {.rows_least = UINT64_MAX};
    for (uint32_t n = 0; n < nodes; n++) {
        struct weir_op_stats one;
        cr_assert_eq(weir_run_stats(t->run[n], idx, &one), WEIR_OK);
        sum.rows += one.rows;
        sum.batches += one.batches;
        sum.wait_input_ns += one.wait_input_ns;
        sum.wait_output_ns += one.wait_output_ns;
        if (one.rows_most > sum.rows_most) {
            sum.rows_most = one.rows_most;
        }
        if (one.rows_least < sum.rows_least) {
            sum.rows_least = one.rows_least;
        }
    }
    return sum;
}

static uint32_t count_edges(const struct wt_trial *t, uint32_t nodes,
                            uint32_t idx)
{
    struct weir_edge_stats edge;
    uint32_t edges = 0;
    for (uint32_t n = 0; n < nodes; n++) {
        for (uint32_t w = 0; w < 2; w++) {
            for (uint32_t d = 0;
                 weir_run_edge(t->run[n], idx, w, d, &edge) == WEIR_OK; d++) {
                edges++;
            }
        }
    }
    return edges;
}

enum { SCAN_OP, HASH_OP, GATHER_OP, RESULT_OP };

/* All rows have one key, and every ring holds two frames of 1 KiB. In the
 * simulator nothing is delivered while a worker works, so producers meet full
 * rings, and consumers empty ones. */
Test(run_rows, statistics_tell_waits_batches_edges_and_skew, .timeout = 100)
{
    enum { ROWS = 6000, PART_ROWS = ROWS / 6, BATCH_ROWS = 100 };
    const struct weir_run_params timed = {.timed = 1};
    const struct wt_rows one_key = {.keys = 1};
    const struct wt_table table = {.n_rows = ROWS, .batch_rows = BATCH_ROWS};
    const struct wt_cluster_params tiny = {
        .nodes = 3,
        .workers = 2,
        .node = {.frame_bytes = 1024, .ring_frames = 2, .max_shuffles = 4}};
    struct wt_sketch s;
    struct wt_cluster c;
    struct wt_trial t = {0};
    wt_sketch_init(&s, &one_key);
    wt_sketch_result(
        &s, wt_sketch_shuffle(&s, wt_sketch_scan(&s, &table), WEIR_HASH, 1));
    wt_cluster_open(&c, &places[SIM], &tiny);
    wt_trial_open(&t, &c, &s, &timed);
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    wt_trial_exact(&t, 1);

    const struct weir_op_stats scan = sum_up(&t, 3, SCAN_OP);
    cr_expect_eq(scan.rows, ROWS);
    cr_expect_eq(scan.batches, ROWS / BATCH_ROWS);
    cr_expect_eq(scan.rows_least, PART_ROWS, "an even part for each worker");
    cr_expect_eq(scan.rows_most, PART_ROWS);
    cr_expect_eq(scan.wait_input_ns, 0, "a table is always there");

    const struct weir_op_stats hash = sum_up(&t, 3, HASH_OP);
    cr_expect_eq(hash.batches, ROWS / BATCH_ROWS);
    cr_expect_gt(hash.wait_input_ns, 0);
    cr_expect_gt(hash.wait_output_ns, 0);
    cr_expect_eq(hash.rows_most, ROWS, "one worker receives all");
    cr_expect_eq(hash.rows_least, 0, "the others nothing");
    cr_expect_eq(count_edges(&t, 3, HASH_OP), 36u, "workers x workers");

    cr_expect_eq(count_edges(&t, 3, GATHER_OP), 6u, "workers x 1");
    const struct weir_op_stats result = sum_up(&t, 3, RESULT_OP);
    cr_expect_eq(result.rows, ROWS);
    cr_expect_eq(result.rows_most, ROWS);
    cr_expect_gt(result.wait_input_ns, 0);
    wt_trial_close(&t);
    wt_cluster_close(&c);
    wt_sketch_fini(&s);
}
