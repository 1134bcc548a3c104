/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a result set adds up to: the same for the same rows, whatever batches
 * they come in, and in whatever order.
 *
 *   sum = sum over rows and columns of mix(value, column)   (modulo 2^64)
 *
 * Every byte of every value takes part, texts with their length, nulls as a
 * value of their own. Which values of two columns stand in one row it does not
 * tell. Opponents in Python load this file as a library and add
 * up by the same code, so that reading costs all of them the same.
 */
#ifndef WB_SCAN_SUM_H
#define WB_SCAN_SUM_H

#include <stdint.h>

#include <weir/batch.h>

struct wb_scan_sum {
    uint64_t sum;
    uint64_t bytes; /* of values: widths, and lengths of texts */
};

/**
 * Add one batch to a sum.
 *
 * @param schema   a struct of flat columns: bools, numbers, dates and times,
 *                 decimals of 128 bits, texts and bytes
 * @param array    a batch of it
 * @param sum      changed only if 0 is returned
 *
 * Returns:    0, or -1: a column of another type
 * Errors:     none
 * Blocks:     never
 * Threads:    any
 * Ownership:  borrows both
 */
int wb_scan_sum(const struct ArrowSchema *schema,
                const struct ArrowArray *array, struct wb_scan_sum *sum);

/** The same, and releases the array; it is what Python calls. */
int wb_scan_sum_take(const struct ArrowSchema *schema, struct ArrowArray *array,
                     struct wb_scan_sum *sum);

#endif /* WB_SCAN_SUM_H */
