/* SPDX-License-Identifier: Apache-2.0 */
/**
 * One worker's operators of a run, made from the plan.
 *
 *   plan->ops[i]     filter "recent"        shuffle "by_no"
 *                         |                  /          \
 *   tree        op[i] = filter        op[i] = receive   send[i] = send
 *                                     (or merge)        a root of sched
 */
#ifndef WI_OPERATORS_TREE_H
#define WI_OPERATORS_TREE_H

#include "operators/plan/layout.h"
#include "operators/plan/sched.h"

/* written by: the worker */
struct wi_tree {
    struct wi_ctx ctx;
    struct wi_sched sched;
    uint32_t n_ops;
    struct wi_op **op;       /* [n_ops] NULL: not on this worker */
    struct wi_op **send;     /* [n_ops] of shuffles that it produces for */
    struct wi_op **loose;    /* [n_ops] made, without an owner yet */
    struct wi_op *result;    /* NULL: not on this worker */
    uint32_t making;         /* operator made last, or being made */
    weir_writer *end_writer; /* worker 0 of member 0: wi_layout_shuffles */
    weir_reader *end_reader; /* worker 0 of other members */
};

/**
 * Make the operators of one worker. ctx is set except for mem.above.
 *
 * @param layout  with its shuffles; outlives the tree
 * @param result  what takes the answer; used by worker 0 of member 0
 *
 * Errors:     as what it opens, in tree->ctx.err. Report it before
 *             wi_tree_fini: that closes writers, which aborts the query
 * Blocks:     on files
 * Threads:    any
 * Ownership:  wi_tree_fini, also on error
 */
weir_err wi_tree_init(struct wi_tree *tree, const struct wi_layout *layout,
                      const struct wi_ctx *ctx,
                      const struct wi_result_params *result);
void wi_tree_fini(struct wi_tree *tree);

/**
 * Bytes that operators take when they open, before there are rows, on the
 * worker that has all of them: the first one of member 0. Each is opened alone,
 * without a table, and closed; so every member can measure it, and finds the
 * same.
 *
 * @param layout  with its shuffles
 *
 * Errors:     WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing
 */
weir_err wi_tree_least(const struct wi_layout *layout,
                       const struct wi_result_params *result,
                       uint64_t *bytes_out, struct weir_error *err);

/** Rows that its roots have handed to shuffles and to the program. */
uint64_t wi_tree_rows(const struct wi_tree *tree);

#endif /* WI_OPERATORS_TREE_H */
