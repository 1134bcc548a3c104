/* SPDX-License-Identifier: Apache-2.0 */
/** What operators of a run did, next to the tree of their plan. */
#ifndef WEIR_RUN_REPORT_H
#define WEIR_RUN_REPORT_H

#include <stdio.h>

#include "cli/run_job.h"

/**
 * Print the tree, a line per operator, and a line per shuffle.
 *
 * Times are sums over all workers of all nodes; memory is the most on one node.
 *
 * @param ops  of run_job_run
 *
 * Errors:     WEIR_ERR_NO_MEMORY
 * Blocks:     on the stream
 * Threads:    any
 * Ownership:  nothing
 */
weir_err run_report(FILE *to, const struct run_job *job,
                    const struct run_op *ops, struct weir_error *err);

#endif /* WEIR_RUN_REPORT_H */
