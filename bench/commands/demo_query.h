/* SPDX-License-Identifier: Apache-2.0 */
/** The last part of `weir demo`: a whole query. */
#ifndef WEIR_DEMO_QUERY_H
#define WEIR_DEMO_QUERY_H

#include <stdint.h>
#include <stdio.h>

#include <weir/error.h>

/**
 * Run the triple hash join of the benchmarks on computed tables, over shared
 * memory, and print its first rows, its plan with what each operator did, and
 * where the time went.
 *
 * Errors:     as weir_plan_read and run_job_run
 * Blocks:     until it has run
 * Threads:    one, the only one of the process
 * Ownership:  nothing
 */
weir_err demo_query(FILE *to, uint32_t nodes, struct weir_error *err);

#endif /* WEIR_DEMO_QUERY_H */
