/* SPDX-License-Identifier: Apache-2.0 */
/**
 * One worker of a CSV shuffle, as a task that never blocks: it takes rows from
 * its reader before it sends any of its own, so a full ring anywhere empties.
 */
#ifndef WEIR_CSV_WORKER_H
#define WEIR_CSV_WORKER_H

#include <stdint.h>

#include <weir/shuffle.h>

#include "tools/csv_job.h"

struct csv_worker;

struct csv_worker_params {
    const struct csv_job *job;
    weir_shuffle *shuffle;
    const struct ArrowSchema *schema; /* of the shuffle; borrowed until close */
    uint32_t worker;                  /* on its node */
    uint32_t id;                      /* in the cluster: part and output */
    struct csv_tally *tally;
};

/**
 * Errors:     as weir_writer_open and weir_reader_open, WEIR_ERR_SYSTEM,
 *             WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    the worker's thread
 * Ownership:  csv_worker_close, also after an error
 */
weir_err csv_worker_open(const struct csv_worker_params *params,
                         struct csv_worker **out, struct weir_error *err);
void csv_worker_close(struct csv_worker *w);

/**
 * Returns:    WEIR_OK (it moved) | WEIR_AGAIN (wait for the worker) | WEIR_DONE
 *             (all is read, sent, received, and on the disk)
 * Errors:     a code of QUERY scope and above comes without a message: ask
 *             weir_query_status
 * Blocks:     on the files
 * Threads:    the worker's thread
 * Ownership:  nothing
 */
weir_err csv_worker_step(struct csv_worker *w, struct weir_error *err);

#endif /* WEIR_CSV_WORKER_H */
