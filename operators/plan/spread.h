/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where rows are, and what that allows.
 *
 *   scan            ANY      each row on some worker
 *   shuffle hash    HASH     equal keys on one worker
 *   shuffle range   RANGE    the same
 *   gather, merge   SINGLE   all rows on worker 0 of member 0
 *   broadcast       EVERY    all rows on every worker
 *
 * A plan that would give another answer on two workers than on one is refused:
 *
 *   join            both sides HASH (RANGE) by keys of the join, in the same
 *                   order and with the same seed (bounds); or the right side
 *                   EVERY, whatever the left one is; or both SINGLE
 *   aggregate       groups: HASH or RANGE by some of the groups, or SINGLE;
 *   (not partial)   no groups: SINGLE
 *   limit           SINGLE
 *   shuffle, result not EVERY: rows would come more than once
 *   top-k           if not SINGLE: above it a merge and a limit, or a gather
 *                   and a second top-k, as each worker has its own first rows
 *
 * Keys are numbers of values (wi_plan_notes.value). A column keeps its number
 * from operator to operator, and an inner join gives both keys of a pair the
 * same one. So rows stay hashed by a column that a projection has dropped.
 */
#ifndef WI_OPERATORS_SPREAD_H
#define WI_OPERATORS_SPREAD_H

#include "operators/plan/draft.h"

/* Each checks the inputs of the operator, whose params are set, and sets its
 * notes.spread. Errors: WEIR_ERR_ARG, with what to put where. */
weir_err wi_spread_scan(struct wi_draft *b);
weir_err wi_spread_join(struct wi_draft *b);
weir_err wi_spread_agg(struct wi_draft *b);
weir_err wi_spread_union(struct wi_draft *b);
weir_err wi_spread_limit(struct wi_draft *b);
weir_err wi_spread_sort(struct wi_draft *b);
weir_err wi_spread_shuffle(struct wi_draft *b);

/** A filter's: rows stay where they are. */
weir_err wi_spread_filter(struct wi_draft *b);

/** A write's: input rows must come once; it gives out rows of its own. */
weir_err wi_spread_write(struct wi_draft *b);

/** A projection's: as a filter's, but allowed above a top-k. Errors: none. */
weir_err wi_spread_project(struct wi_draft *b);

/** Fail if these rows cannot be the answer. Errors: WEIR_ERR_ARG. */
weir_err wi_spread_result(struct wi_draft *b, const struct wi_plan_op *op);

#define WI_SPREAD_TEXT_BYTES 160

/** "by hash of a, b", "on every worker". Returns text. */
const char *wi_spread_text(const struct wi_plan_op *op,
                           char text[WI_SPREAD_TEXT_BYTES]);

#endif /* WI_OPERATORS_SPREAD_H */
