/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Filters of a shuffle: what its consumers have said about the keys that they
 * want.
 *
 *   consuming worker                         producing node
 *   keys --> weir_reader_filter_* -- FILTER, pieces --> slot of its destination
 *                                                          | when it is whole
 *                                        rows of a push -- sift --> lanes
 *
 * A row goes to one destination, so each filter is asked about the rows for its
 * own destination only, and there is nothing to merge. A filter is a hint:
 * nobody waits for one, and one that does not come, does not fit the memory, or
 * lets most rows pass changes nothing but the time that is taken.
 *
 * Slots are filled by the engine, under the node's lock, and stay until the
 * shuffle is freed; writers see those that are whole (edge E13).
 */
#ifndef WI_QUERY_FILTER_H
#define WI_QUERY_FILTER_H

#include "core/format/wire.h"
#include "core/partition/partition_bloom.h"
#include "core/query/writer.h"

struct weir_shuffle;
struct wi_link;

/** Most words of one destination's filter of this shuffle: 256 KiB, and 16 MiB
 *  for all of them together. The same on every member. */
uint32_t wi_filter_most_words(const struct weir_shuffle *s);

/** A piece came. */
void wi_query_on_filter(struct wi_link *l, const struct wi_msg_filter *m);

/** Free the filters of a shuffle. */
void wi_filters_free(struct weir_shuffle *s);

/** Are rows taken out of the next split: has any consumer sent a filter, and do
 *  those that are there pay, as far as is known? By the writer's worker. */
bool wi_writer_sifts(struct weir_writer *w);

/** Take the rows that no consumer wants out of the split that was made last.
 *  By the writer's worker. */
void wi_writer_sift(struct weir_writer *w);

#endif /* WI_QUERY_FILTER_H */
