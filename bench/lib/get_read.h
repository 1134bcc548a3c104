/* SPDX-License-Identifier: Apache-2.0 */
/** The reader's side of wb_get_run(): gets of one size, one way. */
#ifndef WB_GET_READ_H
#define WB_GET_READ_H

#include <weir/fetch.h>

#include "bench/lib/get.h"

/** Gets whose offsets follow a rule, the same in each run. */
struct wb_gets {
    /* the caller's */
    const struct wb_get_params *params;
    weir_node *node;
    weir_fetch *fetch;
    weir_peer *peer;
    uint64_t bytes;
    enum wb_get_way way;
    uint8_t *to; /* in_flight places of so many bytes */
    /* progress */
    uint32_t free[WB_GET_IN_FLIGHT]; /* places; those of the first n_free */
    uint32_t n_free;
    uint64_t taken;
    uint64_t done;
    uint64_t sum; /* of first and last words */
};

extern const struct weir_name wb_get_name;

/** One at a time, for params->ms. Errors: WEIR_ERR_INTEGRITY, or of a get.
 *  Blocks: so long. Threads: the worker's. Ownership: nothing. */
weir_err wb_gets_single(struct wb_gets *g, struct wb_get_figures *out,
                        struct weir_error *err);

/** params->in_flight at a time, for params->ms: sets mb_per_s. */
weir_err wb_gets_many(struct wb_gets *g, struct wb_get_figures *out,
                      struct weir_error *err);

/** All of the span, in order, each word compared; not timed. */
weir_err wb_gets_check(struct wb_gets *g, struct weir_error *err);

#endif /* WB_GET_READ_H */
