/* SPDX-License-Identifier: Apache-2.0 */
/** A batch of one column of int64, over memory of the caller. */
#ifndef WL_BATCH_H
#define WL_BATCH_H

#include <stdint.h>

#include <weir/batch.h>

struct wl_batch {
    struct ArrowArray array; /* what is pushed */
    struct ArrowArray column;
    struct ArrowArray *children[1];
    const void *array_buffers[1];
    const void *column_buffers[2];
};

/** Point the batch at values; releasing it frees nothing.
 *  Errors: none. Blocks: never. Threads: any. Ownership: the values stay the
 *  caller's; the batch must not be moved. */
void wl_batch_point(struct wl_batch *batch, const int64_t *values,
                    uint32_t rows);

/** The first of the values of a batch with such a column.
 *  Errors: none. Blocks: never. Threads: any. Ownership: the batch's. */
const int64_t *wl_batch_values(const struct ArrowArray *array);

#endif /* WL_BATCH_H */
