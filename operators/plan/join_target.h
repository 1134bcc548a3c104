/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Which shuffles a join may filter.
 *
 *   join on k        ~~~~ keys of the right side ~~~~.
 *     |  left                                         v
 *   project k = key                                senders drop rows
 *     |                                               ^
 *   join on other, its left input                     :
 *     |                                               :
 *   shuffle by hash of key   ~~~~~~~~~~~~~~~~~~~~~~~~~'
 *
 * A row of the shuffle is useless if its keys are among the join's, arrive
 * there unchanged, and match nothing. So we go down from the left input as long
 * as each row above is made of one row below (or, of an aggregate, of all rows
 * of its group), and the columns are followed by their values
 * (wi_plan_notes.value).
 */
#ifndef WI_OPERATORS_JOIN_TARGET_H
#define WI_OPERATORS_JOIN_TARGET_H

#include "operators/plan/draft.h"

/**
 * Set the targets of a join and when they are told. Its keys are set.
 *
 * Errors:     WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    as weir_plan_open
 * Ownership:  the operator's
 */
weir_err wi_join_targets(struct wi_draft *b, weir_join_filter filter);

#endif /* WI_OPERATORS_JOIN_TARGET_H */
