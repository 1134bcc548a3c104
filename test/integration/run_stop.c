/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enough rows: what feeds a limit that is satisfied stops, also where it makes
 * no rows at the moment. The tables have 10^12 rows, so that a plan of which
 * any part is not stopped does not end before the test is given up.
 */
#include <criterion/criterion.h>
#include <string.h>

#include <weir/run.h>

#include "test/support/cluster.h"

#define PLAN(OPERATORS)                                                        \
    "{\"weir\": 1, \"tables\": {"                                              \
    " \"t\": {\"series\": {\"rows\": 1000000000000, \"columns\": ["            \
    "  {\"name\": \"i\", \"type\": \"int64\"}]}},"                             \
    " \"u\": {\"series\": {\"rows\": 1000000000000, \"columns\": ["            \
    "  {\"name\": \"j\", \"type\": \"int64\", \"kind\": \"constant\"}]}}},"    \
    " \"operators\": [" OPERATORS "], \"result\": \"answer\"}"
#define LIMITED(INPUT)                                                         \
    "{\"name\": \"one\", \"op\": \"shuffle\", \"input\": \"" INPUT             \
    "\", \"by\": \"gather\"}, "                                                \
    "{\"name\": \"answer\", \"op\": \"limit\", \"input\": \"one\","            \
    " \"rows\": 10}"
#define SCAN_T "{\"name\": \"t\", \"op\": \"scan\", \"table\": \"t\"}, "
#define SCAN_U "{\"name\": \"u\", \"op\": \"scan\", \"table\": \"u\"}, "
#define FILTER(WHERE)                                                          \
    "{\"name\": \"some\", \"op\": \"filter\", \"input\": \"t\","               \
    " \"where\": \"" WHERE "\"}, "

enum { ROWS = 10, MEMBERS = 3, WORKERS = 2, BUSY_NS = 20000 };

static const struct wt_place places[] = {{.transport = "shm"},
                                         {.transport = "tcp"},
                                         {.transport = "sim", .sim = true}};

/* Every row is wanted. */
static const char all_rows[] = PLAN(SCAN_T LIMITED("t"));

/* The ten rows come with the first chunk, and nothing after them. */
static const char early_rows[] = PLAN(SCAN_T FILTER("i < 10") LIMITED("some"));

/* One row of many chunks: none fills a frame. */
static const char rare_rows[] =
    PLAN(SCAN_T FILTER("i % 100000 = 0") LIMITED("some"));

/* The rows come from one side of a union; the other one is a join that takes
 * its build side, from other members, without end. It takes only one key into
 * its table, so that memory is not what ends it. */
static const char build_side[] =
    PLAN(SCAN_T FILTER("i < 10") SCAN_U
         "{\"name\": \"none\", \"op\": \"filter\", \"input\": \"u\","
         " \"where\": \"j <> 0\"},"
         "{\"name\": \"by_j\", \"op\": \"shuffle\", \"input\": \"none\","
         " \"by\": \"hash\", \"keys\": [\"j\"]},"
         "{\"name\": \"v\", \"op\": \"scan\", \"table\": \"t\"},"
         "{\"name\": \"by_i\", \"op\": \"shuffle\", \"input\": \"v\","
         " \"by\": \"hash\", \"keys\": [\"i\"]},"
         "{\"name\": \"both\", \"op\": \"join\", \"kind\": \"inner\","
         " \"left\": \"by_i\", \"right\": \"by_j\","
         " \"left_keys\": [\"i\"], \"right_keys\": [\"j\"]},"
         "{\"name\": \"i\", \"op\": \"project\", \"input\": \"both\","
         " \"outputs\": [\"i\"]},"
         "{\"name\": \"u2\", \"op\": \"union\","
         " \"inputs\": [\"i\", \"some\"]}," LIMITED("u2"));

/* ---- a run on every member ----------------------------------------------- */

struct part {
    struct wt_cluster *cluster;
    weir_run *run;
    uint32_t worker;
};

struct trial {
    struct wt_cluster c;
    weir_plan *plan;
    weir_run *run[MEMBERS];
    struct part part[MEMBERS * WORKERS];
    uint64_t rows;
};

static weir_err take_rows(void *arg, const struct ArrowArray *batch,
                          struct weir_error *err)
{
    struct trial *t = arg;
    (void)err;
    t->rows += (uint64_t)batch->length;
    return WEIR_OK;
}

static weir_err step_part(void *arg)
{
    const struct part *p = arg;
    if (p->cluster->sim != NULL) { /* else all is done at one instant */
        weir_sim_busy(p->cluster->sim, BUSY_NS);
    }
    return weir_run_step(p->run, p->worker);
}

static void open_runs(struct trial *t, const char *plan)
{
    const struct weir_run_params params = {
        .query_id = 1, .rows = take_rows, .rows_arg = t};
    struct weir_error err = {0};
    cr_assert_eq(weir_plan_read(plan, strlen(plan), NULL, &t->plan, &err),
                 WEIR_OK, "%s", err.message);
    for (uint32_t n = 0; n < t->c.n_nodes; n++) {
        cr_assert_eq(
            weir_run_open(t->c.node[n], t->plan, &params, &t->run[n], &err),
            WEIR_OK, "%s", err.message);
        for (uint32_t w = 0; w < t->c.n_workers; w++) {
            struct part *p = &t->part[t->c.n_tasks];
            *p = (struct part){&t->c, t->run[n], w};
            (void)wt_task(&t->c, n, w, step_part, p);
        }
    }
}

static void close_runs(struct trial *t)
{
    for (uint32_t n = 0; n < t->c.n_nodes; n++) {
        struct weir_error err = {0};
        cr_assert_eq(weir_run_status(t->run[n], &err), WEIR_OK, "%s",
                     err.message);
        weir_run_close(t->run[n]);
    }
    weir_plan_close(t->plan);
    wt_cluster_close(&t->c);
}

static void ends(const char *plan)
{
    static struct trial t;
    static const uint32_t members[] = {1, 2, MEMBERS};
    for (uint32_t i = 0; i < 9; i++) {
        const struct wt_cluster_params cluster = {.nodes = members[i / 3],
                                                  .workers = 1 + i % WORKERS};
        t = (struct trial){0};
        wt_cluster_open(&t.c, &places[i % 3], &cluster);
        open_runs(&t, plan);
        bool ran = wt_cluster_run(&t.c);
        cr_assert(ran, "%s, %u nodes: %s", places[i % 3].transport, t.c.n_nodes,
                  t.c.why);
        cr_assert_eq(t.rows, ROWS);
        close_runs(&t);
    }
}

Test(run_stop, rows_that_come_without_end, .timeout = 100)
{
    ends(all_rows);
}

Test(run_stop, filter_that_lets_no_more_rows_pass, .timeout = 100)
{
    ends(early_rows);
}

Test(run_stop, rows_too_few_to_fill_a_frame, .timeout = 100)
{
    ends(rare_rows);
}

Test(run_stop, build_side_of_a_join_that_nobody_needs, .timeout = 100)
{
    ends(build_side);
}
