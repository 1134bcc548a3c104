/* SPDX-License-Identifier: Apache-2.0 */
/**
 * An operator: a resumable state machine that gives out chunks.
 *
 *       result            a fragment: a tree of operators without a shuffle
 *         |  step         in between; its root is stepped by the scheduler
 *       filter            (plan/sched.h), everything below by the one above
 *         |  step
 *   shuffle receive  <~~~~ ring ~~~~ shuffle send        root of another
 *                                        |  step         fragment
 *                                      scan
 *
 * Each worker has a tree of its own of the same shape; they meet in shuffles
 * only. What is the same for all workers (columns, compiled expressions) lies
 * in a params struct that the plan owns.
 *
 * Rules
 *  - step does a bounded piece of work, about a chunk, and returns. It never
 *    blocks: where it would, it says on what.
 *  - WI_MOVED: something was done; out->n may be 0. WI_WAIT_INPUT: no rows have
 *    arrived. WI_WAIT_OUTPUT: a ring is full. WI_DONE: no more rows, also from
 *    every later step. WI_FAILED: ctx->err says why, also from every later
 *    step.
 *  - What step gives out is valid until its next step (vec.h).
 *  - stop: nobody wants more rows. wi_op_stop passes it on to the inputs (a
 *    receiver stops its senders), and from then on wi_op_step returns WI_DONE.
 *    It may come at any time, and more than once; the last chunk stays valid.
 *  - An operator owns its inputs: wi_op_close closes them, too.
 *  - An operator that is done with rows left in an input stops that input.
 */
#ifndef WI_OPERATORS_OP_H
#define WI_OPERATORS_OP_H

#include <weir/weir.h>

#include "operators/base/vec.h"

enum wi_state {
    WI_MOVED,
    WI_WAIT_INPUT,
    WI_WAIT_OUTPUT,
    WI_DONE,
    WI_FAILED,
};

struct wi_op;

/** Called by wi_op_*, by one worker's thread; no locks are held. */
struct wi_op_ops {
    const char *name;
    /** One bounded piece of work. out->n is 0 before. */
    enum wi_state (*step)(struct wi_op *op, struct wi_chunk *out);
    /** What stopping means to this operator itself. Nothing:
     *  wi_op_ignore_stop. */
    void (*stop)(struct wi_op *op);
    /** Free the operator's struct; its inputs are closed by wi_op_close. */
    void (*close)(struct wi_op *op);
};

/** Counters of one operator on one worker. written by: the worker */
struct wi_op_stats {
    uint64_t rows; /* given out */
    uint64_t chunks;
    uint64_t busy_ns; /* in step, inputs included */
    uint64_t wait_input_ns;
    uint64_t wait_output_ns;
    uint64_t since_ns; /* of the wait under way, or 0 */
    enum wi_state state;
};

/** One worker's part of a run. */
struct wi_ctx {
    weir_node *node;
    weir_query *query;
    uint32_t worker;  /* on this node */
    uint32_t workers; /* of this node */
    uint32_t part;    /* of this worker among all of the query's */
    uint32_t n_parts;
    bool timed; /* fill the _ns counters */
    struct wi_op_mem mem;
    struct weir_error err;      /* the first failure */
    const struct wi_op *failed; /* where it was; NULL: none */
};

#define WI_OP_INPUTS 2u /* more: an array of its own (union) */

/** First member of every operator's struct. */
struct wi_op {
    const struct wi_op_ops *ops;
    struct wi_ctx *ctx;
    struct wi_op *input[WI_OP_INPUTS]; /* owned; NULL: none */
    struct wi_op_mem mem;              /* `above` is &ctx->mem */
    struct wi_op_stats stats;
    uint32_t id; /* of the plan's operator */
};

/** Fill the members; takes the inputs over. Never fails. */
void wi_op_init(struct wi_op *op, const struct wi_op_ops *ops,
                struct wi_ctx *ctx, struct wi_op *input0, struct wi_op *input1);

/**
 * An operator's struct of `bytes`, zeroed but for its first member; takes the
 * input over.
 *
 * Returns:    NULL without memory: ctx->err is set, the input closed
 */
void *wi_op_new(struct wi_ctx *ctx, const struct wi_op_ops *ops, size_t bytes,
                struct wi_op *input);

/** The end of opening: *out = op, or, if rc is an error, op is closed. Returns
 *  rc. */
weir_err wi_op_opened(struct wi_op *op, weir_err rc, struct wi_op **out);

/** Step, and count. Everybody steps an operator through here. */
enum wi_state wi_op_step(struct wi_op *op, struct wi_chunk *out);

/** Stop it and its inputs. NULL is allowed. */
void wi_op_stop(struct wi_op *op);

/** For operators whose stop has nothing to do. */
void wi_op_ignore_stop(struct wi_op *op);

/** Close it and its inputs. NULL is allowed. */
void wi_op_close(struct wi_op *op);

/** Returns WI_FAILED, for `return wi_op_failed(op)`; ctx->err is set. The run
 *  tells the other members of the query. */
enum wi_state wi_op_failed(struct wi_op *op);

/** A call of the core failed and `said` why: sets ctx->err to that, or, if the
 *  query has failed, to what failed it. Returns WI_FAILED. */
enum wi_state wi_op_core_failed(struct wi_op *op, const struct weir_error *said,
                                const char *what);

#endif /* WI_OPERATORS_OP_H */
