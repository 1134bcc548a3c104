/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Trials of hash aggregates: rows in, values out, in one step and in two.
 *
 *   wt_agg_open   wt_agg_add ...   wt_op_rows_add(&t.in, ...)
 *   wt_op_rows_add(&t.expected, ...)   wt_agg_expect
 */
#ifndef WT_AGG_TRIAL_H
#define WT_AGG_TRIAL_H

#include "operators/op/ops.h"
#include "test/support/operators.h"

enum { WT_AGG_COLUMNS = 12 };

/** Input, states and output. Columns of the input: groups first. */
struct wt_agg_trial {
    struct wi_ctx ctx;
    struct wt_op_rows in;
    struct wt_op_rows states;
    struct wt_op_rows got;
    struct wt_op_rows expected;
    uint32_t n_groups;
    uint32_t groups[WT_AGG_COLUMNS];
    uint32_t n_aggs;
    uint64_t state_rows; /* may be set */
    struct wi_agg aggs[WT_AGG_COLUMNS];
    struct wi_agg finals[WT_AGG_COLUMNS];
};

/** @param in  columns, as wt_op_rows_init takes them */
void wt_agg_open(struct wt_agg_trial *t, uint32_t n_groups, const char *in);
void wt_agg_close(struct wt_agg_trial *t);

/** One more aggregate, of a column of the input. */
void wt_agg_add(struct wt_agg_trial *t, enum wi_agg_fn fn, uint32_t col);

struct wi_agg_params wt_agg_params_of(const struct wt_agg_trial *t,
                                      weir_aggregate_mode mode);

/** Run it once: to t->got, or for PARTIAL to t->states; see wt_run_op. */
void wt_agg_run(struct wt_agg_trial *t, weir_aggregate_mode mode, uint64_t seed,
                weir_err code);

/** In one step and in two it gives t->expected; closes the trial. */
void wt_agg_expect(struct wt_agg_trial *t, uint64_t seed);

#endif /* WT_AGG_TRIAL_H */
