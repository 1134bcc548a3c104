/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A plan run by a process per node, on this machine.
 *
 *   parent    has read the plan --> forks --> prints what went wrong
 *   member 0  its first worker prints the rows
 *   all       leave statistics in memory of the group
 */
#ifndef WEIR_RUN_JOB_H
#define WEIR_RUN_JOB_H

#include <stdbool.h>
#include <stdio.h>

#include <weir/plan.h>
#include <weir/run.h>

#include "cli/identity.h"
#include "cli/progress.h"
#include "cli/rows_out.h"

struct run_job {
    const weir_plan *plan; /* with a result */
    uint32_t nodes;
    uint32_t workers;
    const char *transport;
    struct identity identity; /* of all nodes; without a name */
    uint64_t memory_bytes;    /* of operators, per node [the library's] */
    uint64_t ring_bytes;      /* of each node's rings [the library's] */
    uint64_t timeout_ns;      /* 0: none */
    uint64_t stopped_ns;      /* as of wl_group_params */
    enum rows_format format;
    FILE *to;          /* where the rows go; nothing is buffered yet */
    weir_rows_fn rows; /* takes them instead, in the process of member 0;
                          what it writes has to be in shared memory */
    void *rows_arg;
    struct progress *progress; /* a counter per node, or NULL */
    bool timed;                /* measure times, too */
};

/** An operator over all nodes; memory: the most on one of them. */
struct run_op {
    struct weir_op_stats stats;
    uint64_t edges; /* shuffles: pairs of workers that could send */
    uint64_t edge_least_bytes;
    uint64_t edge_most_bytes;
};

/** Number of operators that run, plus one for the result. Errors: none.
 *  Blocks: never. Threads: any. Ownership: nothing. */
uint32_t run_job_operators(const weir_plan *plan);

/**
 * Run it.
 *
 * @param ops_out  [out] run_job_operators(plan) entries: in the order of the
 *                 plan those that run, then "result"
 *
 * Errors:     the run's, which all members have; WEIR_DONE: the reader of
 *             `to` has closed it; WEIR_ERR_SYSTEM: `to` cannot be written; a
 *             member's own with its number in front; as wl_group_run
 * Blocks:     until it has ended
 * Threads:    one, the only one of the process
 * Ownership:  nothing
 */
weir_err run_job_run(const struct run_job *job, struct run_op *ops_out,
                     struct weir_error *err);

#endif /* WEIR_RUN_JOB_H */
