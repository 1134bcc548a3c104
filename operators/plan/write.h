/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The operator that writes files. It is not part of weir/plan.h: the program
 * that runs the plan makes the files, and removes them if the run fails.
 */
#ifndef WI_OPERATORS_PLAN_WRITE_H
#define WI_OPERATORS_PLAN_WRITE_H

#include <weir/plan.h>

#include "operators/op/ops.h"

struct wi_plan_write_params {
    const char *input;
    const struct wi_str *header; /* [columns of the input], copied; data NULL:
                                    an empty name */
    wi_write_fn file;
    void *arg; /* of file */
};

/** Add one: each worker writes its rows to a file, and gives out one row of
 *  "part", "rows", "bytes" (int64). Errors, Blocks, Threads, Ownership: as
 *  weir_plan_limit. */
weir_err wi_plan_write(weir_plan *plan, const char *name,
                       const struct wi_plan_write_params *params,
                       struct weir_error *err);

#endif /* WI_OPERATORS_PLAN_WRITE_H */
