/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a run is made of, the same for all workers of this node: which
 * operators of the plan run, where it is cut into fragments, and its shuffles.
 *
 *         result            fragment 0
 *           |
 *     cut[0] gather  ~~~~   the shuffles, downstream first; of a join's inputs
 *           |               the right one first, as the join reads it first
 *         join
 *        /    \
 *   cut[2]    cut[1]
 */
#ifndef WI_OPERATORS_LAYOUT_H
#define WI_OPERATORS_LAYOUT_H

#include "operators/plan/node.h"

/** One open shuffle of the plan. */
struct wi_exchange {
    weir_shuffle *shuffle;
    struct wi_send_params send;
    struct wi_receive_params receive;
    struct wi_merge_params merge; /* n_keys 0: receive */
};

/* constant after open */
struct wi_layout {
    const struct weir_plan *plan;
    weir_query *query;
    uint32_t self;
    uint32_t n_members;
    uint32_t n_workers;  /* of all members */
    uint32_t *workers;   /* [n_members] of each */
    uint32_t first_part; /* number of this node's first worker */
    bool *live;          /* [n_ops] it is or feeds the result */
    bool *one;           /* [n_ops] its rows are needed on worker 0 of member
                            0 only */
    uint32_t *cut;       /* [n_cuts] operators that are shuffles */
    uint32_t n_cuts;
    struct wi_exchange *exchange; /* [n_ops], of cuts */
    weir_shuffle *end;            /* see wi_layout_shuffles; NULL: one member */
};

/**
 * Look at the plan and the cluster. Ownership: wi_layout_fini, also on error.
 *
 * Errors: WEIR_ERR_NO_MEMORY
 */
weir_err wi_layout_init(struct wi_layout *l, const struct weir_plan *plan,
                        const weir_node *node, struct weir_error *err);
void wi_layout_fini(struct wi_layout *l);

/**
 * Open the shuffles in a query: those of the plan, and one without rows that
 * ends when the first worker of member 0 has the whole answer. The other
 * members wait for it, so that a fault anywhere is the outcome everywhere.
 *
 * Errors:     as weir_shuffle_open
 * Blocks:     never
 * Threads:    any
 * Ownership:  the query's
 */
weir_err wi_layout_shuffles(struct wi_layout *l, weir_query *query,
                            struct weir_error *err);

/** Do the rows of this operator exist on this worker of this node? */
bool wi_layout_present(const struct wi_layout *l, uint32_t op, uint32_t worker);

#endif /* WI_OPERATORS_LAYOUT_H */
