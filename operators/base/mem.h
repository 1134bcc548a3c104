/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a worker's operators may hold: malloc with a limit.
 *
 *   weir_run_params.memory_bytes / workers  =  limit_bytes of each worker
 *
 * A worker has a share of its own, so that no operator waits for another's
 * memory and the outcome does not depend on which worker was faster. What all
 * operators take when they open is checked before any of them is opened
 * (wi_tree_least). Each operator has a wi_op_mem of its own, which counts; the
 * one above it is the worker's, which has the limit. Chunks, hash tables,
 * sorted rows and everything else that grows with data are taken here; small
 * fixed parts of an operator use plain malloc.
 */
#ifndef WI_OPERATORS_MEM_H
#define WI_OPERATORS_MEM_H

#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>

/* written by: the worker */
struct wi_op_mem {
    struct wi_op_mem *above; /* counts the same bytes [NULL] */
    uint64_t limit_bytes;    /* 0: none */
    uint32_t sharers;        /* the option is for this many shares [1] */
    uint64_t held_bytes;
    uint64_t peak_bytes;
};

/**
 * Take memory, 64-byte aligned, not cleared.
 *
 * @param bytes  0 is rounded up to 64
 *
 * Errors:     WEIR_ERR_QUERY_MEMORY (says what is held and needed, and what to
 *             raise the memory of all sharers to: twice as much, or more if
 *             more is needed at once), WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    the worker's
 * Ownership:  wi_mem_put with the same number of bytes
 */
weir_err wi_mem_take(struct wi_op_mem *mem, size_t bytes, void **out,
                     struct weir_error *err);
void wi_mem_put(struct wi_op_mem *mem, void *at, size_t bytes);

/** Would `bytes` fit, if nothing else were held? Errors:
 *  WEIR_ERR_QUERY_MEMORY (what all sharers need together). */
weir_err wi_mem_check(const struct wi_op_mem *mem, uint64_t bytes,
                      struct weir_error *err);

/** Move to a larger place: take, copy old_bytes, put. *at is unchanged on
 *  error; NULL with old_bytes 0 is allowed. Errors: as wi_mem_take. */
weir_err wi_mem_grow(struct wi_op_mem *mem, void **at, size_t old_bytes,
                     size_t new_bytes, struct weir_error *err);

#endif /* WI_OPERATORS_MEM_H */
