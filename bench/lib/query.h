/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A query plan, run by forked processes, timed: its tables in memory, one
 * process per node.
 *
 *   open | connect | read the plan | warm-up run | all meet | timed run | close
 *
 * The warm-up run makes the tables' rows or reads their files, and keeps them,
 * so that the timed run reads memory. Timed is everything from opening the run,
 * on the first member, until all members have ended it.
 */
#ifndef WB_QUERY_H
#define WB_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <weir/batch.h>
#include <weir/error.h>

#include "launch/nodes.h"

#define WB_ANSWER_BYTES (UINT32_C(4) << 20)

/** Print an answer as CSV: a line with the names of the columns, then the rows
 *  of each batch. *printer is NULL in the first call; batch is NULL in the
 *  last.
 *  Errors: any, with a message. */
typedef weir_err (*wb_print_fn)(void **printer,
                                const struct ArrowSchema *schema,
                                const struct ArrowArray *batch, FILE *out,
                                struct weir_error *err);

struct wb_query_params {
    const char *plan;      /* JSON; its tables are all of "chbench" or "csv" */
    uint32_t warehouses;   /* of "chbench", in place of what the plan says */
    const char *data_dir;  /* of "csv" ["."] */
    bool no_filters;       /* joins do without filters */
    uint64_t memory_bytes; /* of operators, per node */
    wb_print_fn print;
    uint32_t nodes;               /* processes */
    struct weir_node_params node; /* transport, workers, ... of each */
    uint64_t timeout_ns;          /* [120 s] */
};

/**
 * Run the plan once.
 *
 * @param answer_out  [out] lines of CSV, NUL-terminated, WB_ANSWER_BYTES long
 *
 * Errors:     WEIR_ERR_ARG, as weir_plan_read and weir_run_wait, as
 *             wl_group_run; WEIR_ERR_BUDGET: the answer is longer than
 *             WB_ANSWER_BYTES
 * Blocks:     until the run has ended, at most timeout_ns
 * Threads:    one, the only one of the process
 * Ownership:  answer_out is the caller's
 */
weir_err wb_query_run(const struct wb_query_params *params, double *seconds_out,
                      char *answer_out, struct weir_error *err);

/**
 * Are two answers the same? Lines are compared as a multiset; fields exactly,
 * but for zeros at the end of a fraction. Two numbers of which one has an
 * exponent, which makes it a float, are compared to one part in 10^6, or to
 * 10^-6 if they are less than 1: opponents differ in how they divide.
 *
 * Errors:     WEIR_ERR_INTEGRITY, with the first line that differs;
 *             WEIR_ERR_NO_MEMORY
 * Blocks:     never.  Threads: any.  Ownership: nothing
 */
weir_err wb_answer_compare(const char *a, const char *b,
                           struct weir_error *err);

#endif /* WB_QUERY_H */
