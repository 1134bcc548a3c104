/* SPDX-License-Identifier: Apache-2.0 */
/** The inside of weir_run. */
#ifndef WI_OPERATORS_RUN_H
#define WI_OPERATORS_RUN_H

#include <pthread.h>

#include <weir/run.h>

#include "operators/plan/tree.h"

/* written by: the worker */
struct wi_run_worker {
    struct weir_run *run;
    struct wi_tree tree;
    weir_err end;  /* WEIR_AGAIN while it works */
    bool reported; /* its fault is reported: the query will fail soon */
    uint32_t steps;
    pthread_t thread;
    pthread_mutex_t lock;
    uint64_t rows; /* under lock: for weir_run_progress */
};

struct weir_run {
    /* constant after open */
    weir_node *node;
    weir_query *query;
    const struct weir_plan *plan;
    struct wi_layout layout;
    struct wi_result_params result;
    struct wi_run_worker *workers;
    uint32_t n_workers;
    bool broken; /* opening failed: nothing to step */
};

#endif /* WI_OPERATORS_RUN_H */
