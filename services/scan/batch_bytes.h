/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A batch as bytes: a head that says how long everything is, and a body, the
 * buffers as they lie in the ArrowArray.
 *
 *   head:  struct wi_scan_head
 *          struct wi_scan_node     n_nodes: field, its children, dictionary
 *          u64 bytes               n_buffers, in the same order
 *   body:  the buffers one after the other, each from a multiple of 64 on
 *
 * Where a buffer begins follows from the lengths before it. Buffers are those
 * of the Arrow C Data Interface, validity included; of string and binary views
 * the list of lengths is left out, since the head has it. A validity bitmap
 * that is not there has 0 bytes.
 *
 *   engine: ArrowArray --split--> head + list of buffers --> a region
 *   client: head + body (copied or lent) --join--> ArrowArray
 *
 * Arrays are sent from their first value on, also if they are slices, whose
 * offset travels with them: no value is copied to split.
 */
#ifndef WI_SCAN_BATCH_BYTES_H
#define WI_SCAN_BATCH_BYTES_H

#include <weir/batch.h>

#include "services/scan/buf.h"
#include "services/scan/shape.h"

enum { WI_SCAN_ALIGN = 64, WI_SCAN_BATCH_MAGIC = 0x31425357 };

struct wi_scan_head {
    uint32_t magic; /* "WSB1" */
    uint32_t n_nodes;
    uint32_t n_buffers;
    uint32_t zero;
    uint64_t body_bytes;
};

struct wi_scan_node {
    int64_t length;
    int64_t null_count; /* -1: not counted */
    int64_t offset;
    uint64_t n_variadic; /* buffers beyond those that the type demands */
};

/** One buffer, where it lies and where in the body it goes. */
struct wi_scan_piece {
    const void *base;
    uint64_t bytes;
    uint64_t at;
};

/** What split makes. Used again for the next batch. */
struct wi_scan_split {
    struct wi_scan_buf head;   /* bytes */
    struct wi_scan_buf pieces; /* struct wi_scan_piece */
    uint32_t n_pieces;
    uint64_t body_bytes;
};

/**
 * Split a batch of this process.
 *
 * @param shape  of its schema
 * @param split  zeroed, or used before
 *
 * Errors:     WEIR_ERR_DATA (not a batch of that schema), WEIR_ERR_NO_MEMORY
 * Blocks:     never; O(buffers)
 * Threads:    one at a time for a shape
 * Ownership:  pieces point into the batch; wi_scan_split_fini
 */
weir_err wi_scan_split(struct wi_scan_shape *shape,
                       const struct ArrowArray *batch,
                       struct wi_scan_split *split, struct weir_error *err);
void wi_scan_split_fini(struct wi_scan_split *split);

/** Copy the body to dst, which has split->body_bytes; gaps become zeros. */
void wi_scan_split_copy(const struct wi_scan_split *split, void *dst);

/** The body of a batch, and how it is given back once no array uses it. */
struct wi_scan_body {
    const void *base; /* 64-byte aligned */
    uint64_t bytes;
    void (*release)(void *arg); /* any thread; may be NULL */
    void *arg;
    bool shared; /* others may write to head and body meanwhile */
};

/**
 * Length of the body that belongs to a head.
 *
 * Errors:     WEIR_ERR_DATA
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing
 */
weir_err wi_scan_head_body_bytes(const void *head, size_t len,
                                 uint64_t *bytes_out, struct weir_error *err);

/**
 * Put a batch together. Head and body may come from a peer: all that they say
 * is checked, once. If they are shared, what is checked (the head, offsets,
 * views, type ids, run ends, indices) is copied before; values stay where they
 * are, and may change while they are read.
 *
 * @param batch_out  [out] its arrays may be moved out and released one by one,
 *                   in any order, by any thread
 *
 * Errors:     WEIR_ERR_DATA (says what is wrong), WEIR_ERR_NO_MEMORY; the body
 *             stays the caller's then
 * Blocks:     never; as wi_scan_shape_check
 * Threads:    one at a time for a shape
 * Ownership:  batch_out->release; the body with it
 */
weir_err wi_scan_join(struct wi_scan_shape *shape, const void *head, size_t len,
                      const struct wi_scan_body *body,
                      struct ArrowArray *batch_out, struct weir_error *err);

#endif /* WI_SCAN_BATCH_BYTES_H */
