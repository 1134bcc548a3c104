/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rings that peers open are given to the readers of their workers. Under the
 * node's lock.
 */
#ifndef WI_ATTACH_H
#define WI_ATTACH_H

struct weir_query;
struct wi_in;

/** Give the streams of a ring to the readers of its query that are open;
 *  weir_reader_open() calls again for the others. */
void wi_query_attach(struct wi_in *in, struct weir_query *q);

#endif /* WI_ATTACH_H */
