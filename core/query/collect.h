/* SPDX-License-Identifier: Apache-2.0 */
/**
 * From the marks of a worker's bell to the ready lists of its readers. By the
 * worker.
 */
#ifndef WI_COLLECT_H
#define WI_COLLECT_H

struct weir_reader;
struct wi_worker;

/** Put marked rings on their readers' ready lists; `happened` of the worker is
 *  set if one belongs to another reader than `reader`. */
void wi_worker_collect(struct wi_worker *w, const struct weir_reader *reader);

#endif /* WI_COLLECT_H */
