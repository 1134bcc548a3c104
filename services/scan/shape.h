/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What batches of one schema look like: which buffers each field has, and how
 * long they must be.
 *
 *   ArrowSchema --> shape: one struct ArrowArrayView per field, in the order
 *                   field, its children, its dictionary (nanoarrow)
 *
 * batch.h fills the views with the lengths and buffers of one batch at a time.
 *
 * The schema may come from a peer. Its formats are read more strictly here than
 * by nanoarrow, which cuts numbers to 32 bits: what two readers could read in
 * two ways is refused.
 */
#ifndef WI_SCAN_SHAPE_H
#define WI_SCAN_SHAPE_H

#include <stdint.h>

#include <nanoarrow/nanoarrow.h>

#include <weir/error.h>

struct wi_scan_shape {
    struct ArrowArrayView root;
    uint32_t n_fields;
};

/**
 * The shape of a schema.
 *
 * Errors:     WEIR_ERR_SCHEMA: a type that is not known here, or malformed;
 *             names the field. WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    any
 * Ownership:  wi_scan_shape_fini
 */
weir_err wi_scan_shape_init(struct wi_scan_shape *shape,
                            const struct ArrowSchema *schema,
                            struct weir_error *err);
void wi_scan_shape_fini(struct wi_scan_shape *shape);

/**
 * Check the lengths and buffers that were filled in, and what offsets, views,
 * type ids, run ends and indices in them point at: afterwards no value of the
 * batch lies outside its buffer.
 *
 * Texts are not checked to be UTF-8.
 *
 * Errors:     WEIR_ERR_DATA, says what is wrong
 * Blocks:     never; reads offsets and their like, no values
 * Threads:    one at a time
 * Ownership:  nothing
 */
weir_err wi_scan_shape_check(struct wi_scan_shape *shape,
                             struct weir_error *err);

/**
 * Set the sizes of buffers that are -1, from lengths and offsets. For batches
 * of this process, which are trusted to be what they say.
 *
 * Errors:     WEIR_ERR_DATA
 * Blocks:     never
 * Threads:    one at a time
 * Ownership:  nothing
 */
weir_err wi_scan_shape_measure(struct wi_scan_shape *shape,
                               struct weir_error *err);

/** Does this field have a variable number of buffers (string, binary views)? */
static inline int wi_scan_has_views(const struct ArrowArrayView *v)
{
    return v->storage_type == NANOARROW_TYPE_STRING_VIEW ||
           v->storage_type == NANOARROW_TYPE_BINARY_VIEW;
}

/** Buffers of a field that its type alone demands. */
uint32_t wi_scan_fixed_buffers(const struct ArrowArrayView *v);

#endif /* WI_SCAN_SHAPE_H */
