/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a join that has taken its right side tells the producers of a shuffle
 * below its left one: the keys that a row needs to have
 * (weir_reader_filter_open).
 *
 *   right rows, kept --keys--> filter ~~~~> senders of the shuffle
 *
 * It is a hint. Where there is no memory for it, or there are too many keys,
 * there is none, and nothing fails.
 */
#ifndef WI_OPERATORS_JOIN_FILTER_H
#define WI_OPERATORS_JOIN_FILTER_H

#include "operators/op/join_table.h"

struct wi_join_filter;

/**
 * Begin. The table has all its rows.
 *
 * @param target  its shuffle; outlives the filter
 * @param reader  of the shuffle
 *
 * Returns:    NULL: there will be no filter
 * Errors:     none
 * Blocks:     never
 * Threads:    the worker's
 * Ownership:  wi_join_filter_close
 */
struct wi_join_filter *wi_join_filter_open(const struct wi_join_table *table,
                                           const struct wi_join_target *target,
                                           weir_reader *reader);

/** Add the keys of a chunk of rows; send them after the last. True: done. */
bool wi_join_filter_step(struct wi_join_filter *f);

/** NULL is allowed. */
void wi_join_filter_close(struct wi_join_filter *f);

#endif /* WI_OPERATORS_JOIN_FILTER_H */
