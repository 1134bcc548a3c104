/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What bench/micro/loops_bench.c runs the inner loops on: a few batches, where
 * their rows go, and the lists of that.
 */
#ifndef WB_LOOPS_H
#define WB_LOOPS_H

#include <stdint.h>

#include "core/format/schema.h"
#include "core/partition/partition.h"

enum {
    WB_LOOPS_ROWS = WI_SPLIT_ROWS, /* of a batch */
    WB_LOOPS_BATCHES = 4,          /* different ones */
    WB_LOOPS_COLUMNS = 3,          /* int64, int32, utf8 */
    WB_LOOPS_TEXT = 24,            /* bytes of the longest text */
};

struct wb_loops {
    struct wi_schema *schema;
    struct wi_partition *hash;    /* by the int64 column */
    struct wi_partition *several; /* by the int64 and the int32 column */
    struct wi_partition *vector;  /* by `dest` */
    uint32_t n_dest;
    struct wi_view views[WB_LOOPS_BATCHES][WB_LOOPS_COLUMNS];
    uint32_t dest[WB_LOOPS_BATCHES][WB_LOOPS_ROWS];
    struct wi_split split[WB_LOOPS_BATCHES]; /* by `dest`, one after another */
    int32_t steps[WB_LOOPS_ROWS + 1]; /* offsets of texts, most of them empty */
    uint8_t *bits;                    /* of a batch, and 64 */
    /* written by: the loops */
    uint8_t *out; /* values and texts of a batch */
    int32_t ends[WB_LOOPS_ROWS];
};

/**
 * Errors:    WEIR_ERR_ARG (n_dest), WEIR_ERR_NO_MEMORY
 * Blocks:    never.  Threads: one
 * Ownership: wb_loops_close()
 */
weir_err wb_loops_open(struct wb_loops *b, uint32_t n_dest,
                       struct weir_error *err);
void wb_loops_close(struct wb_loops *b);

#endif /* WB_LOOPS_H */
