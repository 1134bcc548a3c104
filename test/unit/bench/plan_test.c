/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check finds every kind of wrong result, and the engines of this folder
 * pass it: also with skew, with more workers than rows, and alone.
 */
#include "bench/lib/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "bench/lib/limit.h"
#include "bench/opponents/sockets.h"

enum { WORKERS = 3 };

/* A right result of three workers that made 10 rows each. */
struct sheet {
    struct wb_board board;
    struct wb_tally tally[WORKERS];
    uint64_t edge[WB_STAGES][WORKERS * WORKERS];
};

static void fill(struct sheet *s)
{
    static const uint64_t one[WORKERS * WORKERS] = {5, 2, 1, 3, 4, 6, 2, 4, 3};
    static const uint64_t two[WORKERS * WORKERS] = {8, 0, 0, 0, 9, 1, 0, 4, 8};
    memset(s, 0, sizeof(*s));
    s->board = (struct wb_board){.workers = WORKERS,
                                 .rows = 30,
                                 .tally = s->tally,
                                 .edge = {s->edge[0], s->edge[1]}};
    memcpy(s->edge[0], one, sizeof(one));
    memcpy(s->edge[1], two, sizeof(two));
    for (int w = 0; w < WORKERS; w++) {
        s->tally[w] = (struct wb_tally){.begin_ns = 1000 + (uint64_t)w,
                                        .end_ns = 5000 - (uint64_t)w,
                                        .made_rows = 10,
                                        .made_sum = 100,
                                        .got_rows = 8 + 2 * (uint64_t)w,
                                        .got_sum = 100};
    }
}

Test(board, right_result_passes)
{
    struct sheet s;
    struct weir_error err = {.code = WEIR_OK};
    fill(&s);
    cr_assert_eq(wb_board_check(&s.board, &err), WEIR_OK, "%s", err.message);
}

Test(board, lost_row_of_stage_one_is_found)
{
    struct sheet s;
    fill(&s);
    s.edge[0][4]--;
    cr_assert_eq(wb_board_check(&s.board, NULL), WEIR_ERR_INTEGRITY);
}

Test(board, row_of_another_producer_is_found)
{
    struct sheet s;
    fill(&s);
    s.edge[0][0]--;
    s.edge[0][1]++;
    cr_assert_eq(wb_board_check(&s.board, NULL), WEIR_ERR_INTEGRITY);
}

Test(board, doubled_row_of_stage_two_is_found)
{
    struct sheet s;
    fill(&s);
    s.edge[1][5]++;
    s.tally[1].got_rows++;
    cr_assert_eq(wb_board_check(&s.board, NULL), WEIR_ERR_INTEGRITY);
}

Test(board, miscounted_rows_are_found)
{
    struct sheet s;
    fill(&s);
    s.tally[0].got_rows++;
    s.tally[1].got_rows--;
    cr_assert_eq(wb_board_check(&s.board, NULL), WEIR_ERR_INTEGRITY);
}

Test(board, changed_key_is_found)
{
    struct sheet s;
    fill(&s);
    s.tally[2].got_sum++;
    cr_assert_eq(wb_board_check(&s.board, NULL), WEIR_ERR_INTEGRITY);
}

Test(board, too_few_rows_made_are_found)
{
    struct sheet s;
    fill(&s);
    s.board.rows = 31;
    cr_assert_eq(wb_board_check(&s.board, NULL), WEIR_ERR_INTEGRITY);
}

Test(board, seconds_are_from_first_begin_to_last_end)
{
    struct sheet s;
    fill(&s);
    cr_assert_float_eq(wb_board_seconds(&s.board), 4000e-9, 1e-12);
}

Test(plan, rows_of_workers_add_up)
{
    uint64_t rows = 0;
    for (uint32_t w = 0; w < 7; w++) {
        rows += wb_worker_rows(23, 7, w);
    }
    cr_assert_eq(rows, 23);
}

Test(plan, refuses_what_it_cannot_do)
{
    struct wb_plan_params p = {.nodes = 0, .workers = 1, .rows_per_node = 1};
    struct weir_error err = {.code = WEIR_OK};
    double s = -1.0;
    cr_assert_eq(wb_plan_run(&wb_sockets_engine, &p, &s, &err), WEIR_ERR_ARG);
    p = (struct wb_plan_params){
        .nodes = 256, .workers = 64, .rows_per_node = 1};
    cr_assert_eq(wb_plan_run(&wb_sockets_engine, &p, &s, &err), WEIR_ERR_ARG);
    p = (struct wb_plan_params){.nodes = 1, .workers = 1, .rows_per_node = 0};
    cr_assert_eq(wb_plan_run(&wb_sockets_engine, &p, &s, &err), WEIR_ERR_ARG);
    p = (struct wb_plan_params){.nodes = 1,
                                .workers = 1,
                                .rows_per_node = 1,
                                .times = WB_MAX_TIMES + 1};
    cr_assert_eq(wb_plan_run(&wb_sockets_engine, &p, &s, &err), WEIR_ERR_ARG);
    cr_assert(s == -1.0, "an output was written on failure");
}

/* An engine that says it did the work. */
static weir_err idle_open(const struct wb_node *node, void **out,
                          struct weir_error *err)
{
    (void)node;
    (void)err;
    *out = NULL;
    return WEIR_OK;
}

static weir_err idle_work(void *engine, struct wb_worker *w,
                          struct weir_error *err)
{
    (void)engine;
    (void)err;
    w->tally->made_rows = w->rows;
    return WEIR_OK;
}

static void idle_close(void *engine)
{
    (void)engine;
}

Test(plan, an_engine_that_moves_nothing_is_found_out, .timeout = 60)
{
    static const struct wb_engine_ops idle = {
        .name = "idle",
        .open = idle_open,
        .connect = wb_no_step,
        .prepare = wb_no_step,
        .work = idle_work,
        .settle = wb_no_step,
        .close = idle_close,
    };
    struct wb_plan_params p = {.nodes = 2, .workers = 2, .rows_per_node = 10};
    struct weir_error err = {.code = WEIR_OK};
    double s = -1.0;
    cr_assert_eq(wb_plan_run(&idle, &p, &s, &err), WEIR_ERR_INTEGRITY);
    cr_assert_not_null(strstr(err.message, "process 0 of 2"));
}

/* An engine that counts its phases and moves nothing; it fails in one. */
static uint32_t counted; /* of this process: each has its own */

static weir_err counting_prepare(void *engine, struct weir_error *err)
{
    (void)engine;
    counted++;
    if (counted == 5) {
        err->code = WEIR_ERR_STATE;
        (void)snprintf(err->message, sizeof(err->message), "the fifth phase");
    }
    return counted == 5 ? WEIR_ERR_STATE : WEIR_OK;
}

static weir_err own_rows(void *engine, struct wb_worker *w,
                         struct weir_error *err)
{
    (void)engine;
    (void)err;
    w->tally->made_rows = w->rows;
    w->tally->got_rows = w->rows;
    w->edge[0][w->id] = w->rows;
    w->edge[1][w->id] = w->rows;
    return WEIR_OK;
}

Test(plan, two_phases_for_the_warm_up_and_one_for_each_time, .timeout = 60)
{
    static const struct wb_engine_ops counting = {
        .name = "counting",
        .open = idle_open,
        .connect = wb_no_step,
        .prepare = counting_prepare,
        .work = own_rows,
        .settle = wb_no_step,
        .close = idle_close,
    };
    struct wb_plan_params p = {
        .nodes = 2, .workers = 1, .rows_per_node = 10, .times = 2};
    struct weir_error err = {.code = WEIR_OK};
    double s = -1.0;
    cr_assert_eq(wb_plan_run(&counting, &p, &s, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_geq(s, 0.0);
    p.times = 3; /* and the warm-up are five */
    cr_assert_eq(wb_plan_run(&counting, &p, &s, &err), WEIR_ERR_STATE);
    cr_assert_not_null(strstr(err.message, "the fifth phase"));
}

static void check_runs(const struct wb_engine_ops *ops,
                       struct wb_plan_params params)
{
    struct weir_error err = {.code = WEIR_OK};
    double seconds = -1.0;
    struct wb_usage usage = {.user_s = -1.0};
    params.usage_out = &usage;
    cr_assert_eq(wb_plan_run(ops, &params, &seconds, &err), WEIR_OK, "%s: %s",
                 ops->name, err.message);
    cr_assert_gt(seconds, 0.0);
    cr_assert_geq(usage.user_s, 0.0);
    cr_assert_gt(usage.user_s + usage.sys_s, 0.0);
}

static void check_engine(const struct wb_engine_ops *ops)
{
    check_runs(ops, (struct wb_plan_params){
                        .nodes = 1, .workers = 1, .rows_per_node = 12345});
    check_runs(ops, (struct wb_plan_params){
                        .nodes = 3, .workers = 2, .rows_per_node = 100001});
    check_runs(ops, (struct wb_plan_params){
                        .nodes = 2, .workers = 3, .rows_per_node = 1});
    check_runs(
        ops, (struct wb_plan_params){
                 .nodes = 2, .workers = 2, .rows_per_node = 100, .times = 20});
    check_runs(
        ops, (struct wb_plan_params){
                 .nodes = 2, .workers = 1, .rows_per_node = 2048, .pin = true});
    for (int row = WB_ROW_MIXED; row < WB_ROW_KINDS; row++) {
        check_runs(ops, (struct wb_plan_params){.nodes = 3,
                                                .workers = 1,
                                                .rows_per_node = 10007,
                                                .row = (enum wb_row)row});
    }
}

Test(plan, sockets_deliver_every_row, .timeout = 120)
{
    check_engine(&wb_sockets_engine);
}

Test(plan, sockets_bear_skew, .timeout = 120)
{
    /* All rows to one worker, then to two: megabytes wait at one queue. */
    check_runs(
        &wb_sockets_engine,
        (struct wb_plan_params){
            .nodes = 4, .workers = 1, .rows_per_node = 400000, .distinct = 1});
    check_runs(
        &wb_sockets_engine,
        (struct wb_plan_params){
            .nodes = 3, .workers = 2, .rows_per_node = 200000, .distinct = 2});
}

Test(plan, the_limit_consumes_every_row, .timeout = 120)
{
    check_engine(&wb_limit_engine);
}
