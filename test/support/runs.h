/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Runs of a plan on every node and worker of a cluster; the rows of its result
 * are counted.
 *
 *   wt_cluster_open(&r.c, ...) -> wt_runs_open -> wt_cluster_run
 *       -> wt_runs_close, which closes the cluster, too
 *
 * In the simulator a step of a run takes some time, or everything would be done
 * at one instant.
 */
#ifndef WT_RUNS_H
#define WT_RUNS_H

#include <weir/run.h>

#include "test/support/cluster.h"

enum { WT_RUNS_WORKERS = 2, WT_RUNS_BUSY_NS = 5000 };

struct wt_runs;

struct wt_run_part {
    struct wt_runs *runs;
    weir_run *run;
    uint32_t worker;
};

struct wt_runs {
    struct wt_cluster c;
    weir_plan *plan;
    weir_run *run[WT_NODES];
    struct wt_run_part part[WT_NODES * WT_RUNS_WORKERS];
    uint64_t rows; /* of the result */
};

/** Read the plan and open it on all nodes, a task for each worker. Fails the
 *  test on error. */
void wt_runs_open(struct wt_runs *r, const char *plan);

/** Fails the test if a run had failed. */
void wt_runs_close(struct wt_runs *r);

#endif /* WT_RUNS_H */
