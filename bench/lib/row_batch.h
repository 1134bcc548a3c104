/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The rows of row.h as the library takes and gives them: batches of columns.
 *
 *   narrow  key
 *   mixed   key | number | amount | text
 *   wide    key | text
 *
 * Errors: none but of the schema. Blocks: never. Threads: any.
 */
#ifndef WB_ROW_BATCH_H
#define WB_ROW_BATCH_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include <weir/batch.h>

#include "bench/lib/keys.h"
#include "bench/lib/row.h"

/** A batch that can be filled again and again. */
struct wb_row_batch {
    struct ArrowArray array; /* what is pushed; releasing it frees nothing */
    struct ArrowArray columns[WB_COLUMNS + 1];
    struct ArrowArray *children[WB_COLUMNS + 1];
    const void *buffers[WB_COLUMNS + 1][3];
    const void *none[1];
    enum wb_row row;

    alignas(64) int64_t keys[WB_BATCH_ROWS];
    alignas(64) int32_t numbers[WB_BATCH_ROWS];
    alignas(64) uint64_t amounts[WB_BATCH_ROWS][2];
    alignas(64) int32_t offsets[WB_BATCH_ROWS + 1];
    alignas(64) uint64_t validity[WB_COLUMNS][WB_BATCH_ROWS / 64];
    /* Texts are written whole, also where a null takes no room. */
    alignas(64) uint8_t text[(WB_BATCH_ROWS + 1) * WB_WIDE_TEXT_BYTES];
};

/** Rows of a batch: so many that it stays in a core's cache. */
uint32_t wb_row_batch_rows(enum wb_row row);

/** The schema of such rows.
 *  Errors: as weir_schema_build. Ownership: the caller releases it. */
weir_err wb_row_schema(enum wb_row row, struct ArrowSchema *out,
                       struct weir_error *err);

/** Lay out a batch; it must not be moved afterwards. */
void wb_row_batch_init(struct wb_row_batch *b, enum wb_row row);

/** Fill it; returns the sum of its rows. */
uint64_t wb_row_batch_make(struct wb_row_batch *b,
                           const struct wb_row_range *range);

/** Sum of the rows of a batch, whoever made it. */
uint64_t wb_row_batch_sum(enum wb_row row, const struct ArrowArray *batch);

/** Whether every value and null of a batch is what its key makes it. */
bool wb_row_batch_is_right(enum wb_row row, const struct ArrowArray *batch);

#endif /* WB_ROW_BATCH_H */
