/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Giving rings that peers open to the readers of their workers. Under the
 * node's lock.
 */
#ifndef WI_ATTACH_H
#define WI_ATTACH_H

struct weir_query;
struct wi_in;

/** Give the streams of a ring to the open readers of its query; those that open
 *  later are given theirs by weir_reader_open(). */
void wi_query_attach(struct wi_in *in, struct weir_query *q);

#endif /* WI_ATTACH_H */
