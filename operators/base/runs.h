/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Runs: rows with the same keys that follow each other in a chunk. What is
 * found for the first row of each holds for all of it.
 *
 *   chunk   7 7 7 3 3 7     wi_runs_take    first   7 3 7
 *   found   a a a b b a  <- wi_runs_spread  found   a b a
 */
#ifndef WI_OPERATORS_RUNS_H
#define WI_OPERATORS_RUNS_H

#include "operators/base/hash.h"

/* Fixed size: part of an operator. Zeroed at first. */
struct wi_runs {
    uint32_t wait; /* chunks to go before runs are looked for again */
    uint32_t n;    /* rows of the chunk */
    uint8_t differs[WI_CHUNK_ROWS];
    uint32_t pos[WI_CHUNK_ROWS];    /* of the first row of each run */
    uint32_t number[WI_CHUNK_ROWS]; /* the caller's, for each run */
};

/** The first rows of a chunk's runs as a chunk, if that is much shorter.
 *  Returns whether it is. */
bool wi_runs_take(struct wi_runs *runs, const struct wi_chunk *chunk,
                  const uint32_t *cols, uint32_t n_cols,
                  struct wi_chunk *first_out);

/** Give each row of the chunk the `number` of its run. */
void wi_runs_spread(const struct wi_runs *runs, uint32_t *number_out);

#endif /* WI_OPERATORS_RUNS_H */
