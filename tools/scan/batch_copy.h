/* SPDX-License-Identifier: Apache-2.0 */
/** Batches of flat columns, kept longer than whoever lends them allows. */
#ifndef WEIR_TOOL_BATCH_COPY_H
#define WEIR_TOOL_BATCH_COPY_H

#include <nanoarrow/nanoarrow.h>
#include <weir/batch.h>

/**
 * Copy a batch, in one piece of memory.
 *
 * @param view  of the batch's schema, a struct of columns that are not nested;
 *              points into the batch afterwards
 *
 * Errors:     WEIR_ERR_NO_MEMORY, WEIR_ERR_SCHEMA (it has another shape)
 * Blocks:     never
 * Threads:    one per view
 * Ownership:  copy_out->release
 */
weir_err batch_copy(struct ArrowArrayView *view, const struct ArrowArray *batch,
                    struct ArrowArray *copy_out, struct weir_error *err);

#endif /* WEIR_TOOL_BATCH_COPY_H */
