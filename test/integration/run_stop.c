/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enough rows: what feeds a limit that is satisfied stops, also where it makes
 * no rows at the moment. The tables have 10^12 rows, so that a plan of which
 * any part is not stopped does not end before the test is given up.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "test/support/runs.h"

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

enum { ROWS = 10, MEMBERS = 3 };

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

static void ends(const char *plan)
{
    static struct wt_runs t;
    static const uint32_t members[] = {1, 2, MEMBERS};
    for (uint32_t i = 0; i < 9; i++) {
        const struct wt_cluster_params cluster = {
            .nodes = members[i / 3], .workers = 1 + i % WT_RUNS_WORKERS};
        t = (struct wt_runs){0};
        wt_cluster_open(&t.c, &places[i % 3], &cluster);
        wt_runs_open(&t, plan);
        bool ran = wt_cluster_run(&t.c);
        cr_assert(ran, "%s, %u nodes: %s", places[i % 3].transport, t.c.n_nodes,
                  t.c.why);
        cr_assert_eq(t.rows, ROWS);
        wt_runs_close(&t);
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
