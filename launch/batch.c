/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/batch.h"

#include <stddef.h>

/* To Arrow, an array without a release function is a released one. */
static void release_nothing(struct ArrowArray *array)
{
    array->release = NULL;
}

void wl_batch_point(struct wl_batch *batch, const int64_t *values,
                    uint32_t rows)
{
    batch->children[0] = &batch->column;
    batch->array_buffers[0] = NULL;
    batch->column_buffers[0] = NULL;
    batch->column_buffers[1] = values;
    batch->column = (struct ArrowArray){.length = rows,
                                        .n_buffers = 2,
                                        .buffers = batch->column_buffers,
                                        .release = release_nothing};
    batch->array = (struct ArrowArray){.length = rows,
                                       .n_buffers = 1,
                                       .n_children = 1,
                                       .buffers = batch->array_buffers,
                                       .children = batch->children,
                                       .release = release_nothing};
}

const int64_t *wl_batch_values(const struct ArrowArray *array)
{
    const struct ArrowArray *column = array->children[0];
    const int64_t *values = column->buffers[1];
    return values + array->offset + column->offset;
}
