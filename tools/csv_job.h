/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The second pass: a plan that reads the file, shuffles its rows, and writes a
 * file of each worker (run_job.h).
 *
 *   scan --> shuffle by hash --> write --> a row about each file
 */
#ifndef WEIR_CSV_JOB_H
#define WEIR_CSV_JOB_H

#include <stdint.h>

#include <weir/error.h>

#include "cli/identity.h"
#include "cli/progress.h"
#include "tools/csv_dir.h"
#include "tools/csv_plan.h"

struct csv_job {
    const struct csv_plan *plan; /* scanned, nodes x workers parts */
    const struct csv_dir *dir;
    struct progress *progress; /* a counter per node: rows sent */
    const char *transport;
    struct identity identity; /* of all nodes; without a name */
    uint32_t nodes;
    uint32_t workers;      /* of each node */
    uint64_t memory_bytes; /* of each node; 0: the library's default */
    uint64_t stopped_ns;   /* as of wl_group_params */
    const uint32_t *keys;  /* columns */
    uint32_t n_keys;
};

/** What a worker wrote. */
struct csv_tally {
    uint64_t rows;
    uint64_t bytes;
};

/**
 * Run all nodes to their end.
 *
 * @param tally_out  [out] nodes x workers entries; set on WEIR_OK, and then
 *                   the rows are those of job->plan
 *
 * Errors:     what failed first, with the number of its process; how a process
 *             died; WEIR_ERR_DATA (the file was changed)
 * Blocks:     until all processes have ended
 * Threads:    the only one of the process
 * Ownership:  nothing
 */
weir_err csv_job_run(const struct csv_job *job, struct csv_tally *tally_out,
                     struct weir_error *err);

#endif /* WEIR_CSV_JOB_H */
