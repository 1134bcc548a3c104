/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Opening and closing of writers: a lane to each consuming worker. All under
 * the node's lock.
 */
#ifndef WI_WRITER_OPEN_H
#define WI_WRITER_OPEN_H

struct weir_writer;

void wi_writer_free(struct weir_writer *w);

#endif /* WI_WRITER_OPEN_H */
