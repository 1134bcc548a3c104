/* SPDX-License-Identifier: Apache-2.0 */
/**
 * From a worker's bell to the ready rings of its readers. By the worker.
 */
#ifndef WI_COLLECT_H
#define WI_COLLECT_H

struct weir_reader;
struct wi_worker;

/** Move marked rings to their readers' ready lists, and note in the worker
 *  (`happened`) if any was found that `reader` does not own. */
void wi_worker_collect(struct wi_worker *w, const struct weir_reader *reader);

#endif /* WI_COLLECT_H */
