/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir demo: the two-stage plan with four processes, what came of it, and the
 * same plan over TCP and over plain sockets beside it; then a whole query.
 *
 * How many rows is decided by a short first run, so that the whole takes some
 * seconds on a slow machine as on a fast one. Every figure that is printed was
 * measured in this run.
 */
#define _GNU_SOURCE 1
#include "cli/cmd.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/commands/demo_query.h"
#include "bench/lib/median.h"
#include "bench/lib/pin.h"
#include "bench/lib/weir_engine.h"
#include "bench/opponents/sockets.h"
#include "cli/fail.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "launch/clock.h"

enum { NODES = 4, ROUNDS = 5, BAR = 32, N_WAYS = 3 };

#define FIRST_ROWS UINT64_C(500000) /* of each node, to learn the speed */
#define MAX_ROWS UINT64_C(60000000)
#define MAIN_SECONDS 2.0
#define COMPARE_SECONDS 0.15               /* of the fastest way, each round */
#define LAST_ROUND_NS UINT64_C(6500000000) /* none begins later */

enum { PHASE_FIRST, PHASE_MAIN, PHASE_COMPARE };

static const struct progress_phase phases[] = {
    [PHASE_FIRST] = {"warming up", " rows"},
    [PHASE_MAIN] = {"main run over shm", " rows"},
    [PHASE_COMPARE] = {"shm, tcp, sockets in turn", NULL},
};

/* One way to run the same plan. */
struct way {
    const char *name;
    const struct wb_engine_ops *ops;
    const char *transport;
    const char *what;
    struct wl_counter *counters; /* NULL: they are not shown */
    double seconds[ROUNDS];
    double median;
};

struct demo {
    struct progress *progress;
    uint64_t begin_ns;
    uint64_t main_rows;    /* of each node */
    uint64_t compare_rows; /* of each node */
    double main_seconds;
    uint64_t counted[NODES];
    uint32_t rounds;
    struct way ways[N_WAYS];
};

/* ---- runs ---------------------------------------------------------------- */

static weir_err run_way(const struct way *way, uint64_t rows,
                        double *seconds_out, struct weir_error *err)
{
    const struct wb_plan_params params = {
        .nodes = NODES,
        .workers = 1,
        .rows_per_node = rows,
        .transport = way->transport,
        .counters = way->counters,
    };
    struct weir_error why = {.code = WEIR_OK};
    weir_err rc = wb_plan_run(way->ops, &params, seconds_out, &why);
    return rc == WEIR_OK ? rc
                         : tool_fail(err, rc, "%s: %s", way->name, why.message);
}

static uint64_t rows_for(double seconds, double rows_per_second)
{
    double rows = seconds * rows_per_second;
    if (rows > (double)MAX_ROWS) {
        return MAX_ROWS;
    }
    return rows < (double)FIRST_ROWS ? FIRST_ROWS : (uint64_t)rows;
}

static weir_err run_first(struct demo *d, struct weir_error *err)
{
    double seconds;
    progress_begin(d->progress, PHASE_FIRST, FIRST_ROWS * NODES);
    weir_err rc = run_way(&d->ways[0], FIRST_ROWS, &seconds, err);
    if (rc == WEIR_OK) {
        double per_second = (double)FIRST_ROWS / seconds;
        d->main_rows = rows_for(MAIN_SECONDS, per_second);
        d->compare_rows = rows_for(COMPARE_SECONDS, per_second);
    }
    return rc;
}

static weir_err run_main(struct demo *d, struct weir_error *err)
{
    progress_begin(d->progress, PHASE_MAIN, d->main_rows * NODES);
    weir_err rc = run_way(&d->ways[0], d->main_rows, &d->main_seconds, err);
    for (uint32_t i = 0; i < NODES; i++) {
        d->counted[i] = progress_counters(d->progress)[i].rows;
    }
    return rc;
}

static weir_err run_comparison(struct demo *d, struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    uint32_t done = 0;
    progress_begin(d->progress, PHASE_COMPARE, ROUNDS * N_WAYS);
    d->ways[0].counters = NULL; /* runs are counted, not rows */
    while (rc == WEIR_OK && d->rounds < ROUNDS &&
           (d->rounds == 0 || wl_now_ns() - d->begin_ns < LAST_ROUND_NS)) {
        for (uint32_t w = 0; rc == WEIR_OK && w < N_WAYS; w++) {
            rc = run_way(&d->ways[w], d->compare_rows,
                         &d->ways[w].seconds[d->rounds], err);
            progress_counters(d->progress)[0].rows = ++done;
        }
        d->rounds++;
    }
    for (uint32_t w = 0; rc == WEIR_OK && w < N_WAYS; w++) {
        d->ways[w].median = wb_spread_of(d->ways[w].seconds, d->rounds).median;
    }
    return rc;
}

/* ---- what is printed ----------------------------------------------------- */

/* Whoever has more threads gets more of a busy machine, so ratios shift too. */
static void print_load(void)
{
    double load;
    if (getloadavg(&load, 1) == 1 && load > wb_cores()) {
        (void)printf("Note: this machine is busy (load %.1f on %u cores): "
                     "expect lower figures, and\nratios that vary.\n\n",
                     load, wb_cores());
    }
}

static void print_begin(void)
{
    (void)printf(
        "Weir demo: %d processes on this machine exchange rows, twice.\n"
        "Each makes rows, sends every row to the process that its hash names;\n"
        "that one sends it on by another hash; the last counts it.\n\n",
        (int)NODES);
    print_load();
    (void)fflush(stdout);
}

static void print_main(const struct demo *d)
{
    char bar[PROGRESS_BAR_BYTES];
    char figure[PROGRESS_TEXT_BYTES];
    const uint64_t rows = d->main_rows * NODES;
    uint64_t most = 1;
    for (uint32_t i = 0; i < NODES; i++) {
        most = d->counted[i] > most ? d->counted[i] : most;
    }
    (void)printf("Main run, over shared memory: %" PRIu64 " rows in %.2f s\n",
                 rows, d->main_seconds);
    (void)printf("  %s rows/s through both exchanges, on %u cores\n\n",
                 progress_figure((double)rows / d->main_seconds, figure),
                 wb_cores());
    for (uint32_t i = 0; i < NODES; i++) {
        (void)printf("  process %u counted  %s %12" PRIu64 " rows\n", i,
                     progress_bar((double)d->counted[i] / (double)most, BAR,
                                  '#', ' ', bar),
                     d->counted[i]);
    }
    (void)printf("\n  Verified: all %" PRIu64 " rows arrived, each once: rows "
                 "and sums of keys agree,\n"
                 "  and so do the rows of each of the %d x %d pairs of "
                 "processes in both exchanges.\n\n",
                 rows, (int)NODES, (int)NODES);
    (void)fflush(stdout);
}

static void print_ratio(const struct demo *d, uint32_t other)
{
    double ratio = d->ways[other].median / d->ways[0].median;
    if (ratio >= 1) {
        (void)printf("  shm is %.1f times as fast as %s.\n", ratio,
                     d->ways[other].name);
    } else {
        (void)printf("  shm is SLOWER here than %s: %.1f times as fast.\n",
                     d->ways[other].name, ratio);
    }
}

static void print_comparison(const struct demo *d)
{
    char bar[PROGRESS_BAR_BYTES];
    char figure[PROGRESS_TEXT_BYTES];
    const double rows = (double)d->compare_rows * NODES;
    double best = rows / d->ways[0].median;
    for (uint32_t w = 1; w < N_WAYS; w++) {
        double speed = rows / d->ways[w].median;
        best = speed > best ? speed : best;
    }
    (void)printf("The same plan over other ways, %.0f rows, median of %u "
                 "interleaved run%s each:\n\n",
                 rows, d->rounds, d->rounds == 1 ? "" : "s");
    for (uint32_t w = 0; w < N_WAYS; w++) {
        double speed = rows / d->ways[w].median;
        (void)printf("  %-8s %s %8s rows/s   %s\n", d->ways[w].name,
                     progress_bar(speed / best, BAR, '#', ' ', bar),
                     progress_figure(speed, figure), d->ways[w].what);
    }
    (void)printf("\n");
    for (uint32_t w = 1; w < N_WAYS; w++) {
        print_ratio(d, w);
    }
    (void)printf("  All were verified in the same way. Figures are of this "
                 "machine, now.\n"
                 "  More of them: weir bench two-stage\n");
}

/* ---- the command --------------------------------------------------------- */

static weir_err run_part(struct demo *d,
                         weir_err (*part)(struct demo *d,
                                          struct weir_error *err),
                         struct weir_error *err)
{
    weir_err rc =
        progress_open(STDOUT_FILENO, NODES, phases, &d->progress, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    d->ways[0].counters = progress_counters(d->progress);
    rc = part(d, err);
    progress_close(d->progress); /* wipes the line before a result is printed */
    return rc;
}

static weir_err run(struct demo *d, struct weir_error *err)
{
    weir_err rc = run_part(d, run_first, err);
    if (rc == WEIR_OK) {
        rc = run_part(d, run_main, err);
    }
    if (rc == WEIR_OK) {
        print_main(d);
        rc = run_part(d, run_comparison, err);
    }
    if (rc == WEIR_OK) {
        print_comparison(d);
        rc = demo_query(stdout, NODES, err);
    }
    return rc;
}

int cmd_demo(int argc, char **argv)
{
    static const struct option_row none[] = {{.name = NULL}};
    static const struct options options = {
        .rows = none,
        .doc = "Show the two-stage plan at work: four processes exchange rows "
               "by hash, twice, over shared memory; then the same over TCP and "
               "over plain sockets; then a query with three joins. Takes some "
               "seconds and needs nothing."
               "\vExit status: 0 done and verified; 1 failed; 2 wrong use."};
    struct weir_error err = {.code = WEIR_OK};
    options_parse(&options, argc, argv, NULL);
    struct demo d = {.begin_ns = wl_now_ns(),
                     .ways = {
                         {.name = "shm",
                          .ops = &wb_weir_engine,
                          .transport = "shm",
                          .what = "Weir over shared memory"},
                         {.name = "tcp",
                          .ops = &wb_weir_engine,
                          .transport = "tcp",
                          .what = "Weir over TCP"},
                         {.name = "sockets",
                          .ops = &wb_sockets_engine,
                          .what = "plain blocking sockets, no Weir"},
                     }};
    print_begin();
    if (run(&d, &err) != WEIR_OK) {
        (void)fprintf(stderr, "weir demo: %s\n", err.message);
        return 1;
    }
    return 0;
}
