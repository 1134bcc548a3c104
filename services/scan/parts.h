/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Batches in a payload (proto.h):
 *
 *   | schema |pad| part | head |pad|   body   |pad| part | head |pad| ...
 *   0            64n               64n            64n
 *
 *   writer: wi_scan_parts_bytes, a slot or room of so many, wi_scan_parts_copy
 *   reader: wi_scan_parts_init, then wi_scan_parts_next until WEIR_DONE
 */
#ifndef WI_SCAN_PARTS_H
#define WI_SCAN_PARTS_H

#include <weir/error.h>

#include "services/scan/batch_bytes.h"

/** Bytes of one batch in a payload. */
uint64_t wi_scan_part_bytes(const struct wi_scan_split *split);

/** Bytes of a payload. */
uint64_t wi_scan_parts_bytes(uint32_t schema_bytes,
                             const struct wi_scan_split *splits, uint32_t n);

/** Write a payload to dst, which has wi_scan_parts_bytes(). Gaps become zeros,
 *  so nothing else of the memory's past is sent. */
void wi_scan_parts_copy(const void *schema, uint32_t schema_bytes,
                        const struct wi_scan_split *splits, uint32_t n,
                        void *dst);

/** A walk over a payload that came from a peer, also where that can still
 *  change it: each number is read once. */
struct wi_scan_parts {
    const uint8_t *base;
    uint64_t bytes;
    uint64_t at;
    uint32_t left; /* batches */
};

/** One batch of it. */
struct wi_scan_part_view {
    const void *head;
    size_t head_bytes;
    const void *body; /* 64-byte aligned if the payload is */
    uint64_t body_bytes;
};

/**
 * Begin a walk.
 *
 * Errors:     WEIR_ERR_DATA: the schema goes beyond the end
 * Blocks:     never
 * Threads:    any
 * Ownership:  parts points into the payload
 */
weir_err wi_scan_parts_init(struct wi_scan_parts *parts, const void *payload,
                            uint64_t bytes, uint32_t schema_bytes,
                            uint32_t n_batches, struct weir_error *err);

/**
 * The next batch.
 *
 * Returns:    WEIR_OK | WEIR_DONE (there were n_batches, and nothing is left)
 * Errors:     WEIR_ERR_DATA (says what is wrong)
 * Blocks:     never
 * Threads:    one at a time
 * Ownership:  view_out points into the payload
 */
weir_err wi_scan_parts_next(struct wi_scan_parts *parts,
                            struct wi_scan_part_view *view_out,
                            struct weir_error *err);

#endif /* WI_SCAN_PARTS_H */
