/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of rows with the same keys. Chunks without runs cost little: after one,
 * the next few are not examined. */
#include "operators/base/runs.h"

enum { WAIT_CHUNKS = 15 };

bool wi_runs_take(struct wi_runs *runs, const struct wi_chunk *chunk,
                  const uint32_t *cols, uint32_t n_cols,
                  struct wi_chunk *first_out)
{
    if (runs->wait > 0) {
        runs->wait--;
        return false;
    }
    uint32_t n_runs = wi_find_runs(chunk, cols, n_cols, runs->differs);
    if (n_runs > chunk->n / 4 * 3) {
        runs->wait = WAIT_CHUNKS;
        return false;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < chunk->n; i++) {
        runs->pos[n] = wi_chunk_pos(chunk, i);
        n += runs->differs[i];
    }
    runs->n = chunk->n;
    *first_out = (struct wi_chunk){n, chunk->n_cols, runs->pos, chunk->col};
    return true;
}

void wi_runs_spread(const struct wi_runs *runs, uint32_t *number_out)
{
    uint32_t run = 0;
    for (uint32_t i = 0; i < runs->n; i++) {
        run += runs->differs[i];
        number_out[i] = runs->number[run - 1];
    }
}
