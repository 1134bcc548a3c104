/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan over the library: as tasks of a simulated cluster, which shows that
 * a step never blocks and says AGAIN only when something else must happen
 * first (else the simulator reports a deadlock), and over real processes.
 */
#include "bench/lib/two_stage.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <weir/sim.h>

#include "bench/lib/keys.h"
#include "bench/lib/weir_engine.h"

enum { NODES = 5, WORKERS = 2, ALL = NODES * WORKERS, ROWS = 20011 };

struct cluster {
    weir_sim *sim;
    struct wb_two_stage *plans[NODES];
    struct wb_worker workers[ALL];
    struct wb_task *tasks[ALL];
    struct wb_tally tally[ALL];
    uint64_t edge[WB_STAGES][ALL * ALL];
    struct wl_counter counters[ALL];
};

static weir_err step(void *arg, uint64_t now_ns)
{
    (void)now_ns;
    return wb_task_step(arg);
}

static void add_worker(struct cluster *c, uint32_t id, uint64_t distinct,
                       enum wb_row row)
{
    struct wb_worker *w = &c->workers[id];
    *w = (struct wb_worker){
        .id = id,
        .worker = id % WORKERS,
        .first_row = wb_first_row(id),
        .rows = wb_worker_rows(ROWS, WORKERS, id % WORKERS),
        .distinct = distinct,
        .row = row,
        .checks_values = true,
        .tally = &c->tally[id],
        .edge = {&c->edge[0][id * ALL], &c->edge[1][id * ALL]},
        .counter = &c->counters[id],
    };
    c->tasks[id] = wb_two_stage_task(c->plans[id / WORKERS], w);
    cr_assert_eq(
        weir_sim_task(c->sim, id / WORKERS, id % WORKERS, step, c->tasks[id]),
        WEIR_OK);
}

static void run_cluster(uint64_t seed, uint64_t distinct, enum wb_row row)
{
    const struct wb_two_stage_params plan = {
        .workers = WORKERS, .query_id = 1, .row = row};
    struct cluster *c = aligned_alloc(alignof(struct cluster), sizeof(*c));
    cr_assert_not_null(c);
    memset(c, 0, sizeof(*c));
    struct weir_error err = {.code = WEIR_OK};
    struct weir_sim_params params = {
        .nodes = NODES,
        .seed = seed,
        .jitter_ns = 5000,
        .node = {.workers = WORKERS, .frame_bytes = 2048, .ring_frames = 2}};
    cr_assert_not_null(c);
    cr_assert_eq(weir_sim_open(&params, &c->sim, &err), WEIR_OK, "%s",
                 err.message);
    for (uint32_t n = 0; n < NODES; n++) {
        cr_assert_eq(wb_two_stage_open(weir_sim_node(c->sim, n), &plan,
                                       &c->plans[n], &err),
                     WEIR_OK, "%s", err.message);
    }
    for (uint32_t id = 0; id < ALL; id++) {
        add_worker(c, id, distinct, row);
    }
    cr_assert_eq(weir_sim_run(c->sim, UINT64_C(60000000000), &err), WEIR_OK,
                 "seed %lu: %s", (unsigned long)seed, err.message);
    struct wb_board board = {.workers = ALL,
                             .rows = (uint64_t)NODES * ROWS,
                             .tally = c->tally,
                             .edge = {c->edge[0], c->edge[1]}};
    cr_assert_eq(wb_board_check(&board, &err), WEIR_OK, "%s", err.message);
    for (uint32_t w = 0; w < ALL; w++) {
        cr_assert_eq(c->counters[w].rows, c->tally[w].got_rows);
    }
    for (uint32_t n = 0; n < NODES; n++) {
        wb_two_stage_close(c->plans[n]);
    }
    weir_sim_close(c->sim);
    free(c);
}

Test(two_stage, ends_in_a_simulated_cluster, .timeout = 120)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        run_cluster(seed, 0, WB_ROW_NARROW);
    }
}

Test(two_stage, moves_texts_decimals_and_nulls_unchanged, .timeout = 120)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        run_cluster(seed, 0, WB_ROW_MIXED);
        run_cluster(seed, 0, WB_ROW_WIDE);
    }
}

Test(two_stage, ends_when_all_rows_go_to_few_workers, .timeout = 120)
{
    run_cluster(11, 1, WB_ROW_NARROW);
    run_cluster(12, 2, WB_ROW_MIXED);
}

static void run_processes(const char *transport)
{
    struct weir_error err = {.code = WEIR_OK};
    double seconds = -1.0;
    struct wb_plan_params p = {.nodes = 3,
                               .workers = 2,
                               .rows_per_node = 100001,
                               .transport = transport};
    cr_assert_eq(wb_plan_run(&wb_weir_engine, &p, &seconds, &err), WEIR_OK,
                 "%s: %s", transport, err.message);
    cr_assert_gt(seconds, 0.0);
    p.distinct = 1;
    cr_assert_eq(wb_plan_run(&wb_weir_engine, &p, &seconds, &err), WEIR_OK,
                 "%s with skew: %s", transport, err.message);
}

Test(two_stage, runs_over_shm, .timeout = 120)
{
    run_processes("shm");
}

Test(two_stage, runs_over_tcp, .timeout = 120)
{
    run_processes("tcp");
}
