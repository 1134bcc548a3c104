/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Received frames: every byte is untrusted.
 *
 *   header, copied out of the ring --wi_frame_check_header--> kind and size
 *   DATA frame in the ring --wi_frame_export--> ArrowArray that points into it
 */
#ifndef WI_FRAME_CHECK_H
#define WI_FRAME_CHECK_H

#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>

#include "core/format/export.h"
#include "core/format/frame.h"

/**
 * Check a header that was copied out of the ring.
 *
 * @param avail  bytes published from the frame's start
 *
 * Errors: WEIR_ERR_PEER_PROTOCOL, with the field and its value
 */
weir_err wi_frame_check_header(const struct wi_frame_header *h, uint64_t pos,
                               uint32_t epoch, uint64_t avail,
                               struct weir_error *err);

/** A received frame. */
struct wi_frame_at {
    const struct wi_frame_header *h; /* a copy that the writer of mem cannot
                                        change, checked */
    const uint8_t *mem;
    uint8_t *offsets; /* where VAR offsets are copied to, at the same offsets
                         from here, before they are checked and pointed at;
                         NULL: they are used in place */
};

/**
 * Check the contents of a DATA frame against the schema of x, and fill *out
 * (and the children in x) with it.
 *
 * Packed lists are unpacked into memory of x.
 *
 * Checked are: table entries inside the frame, aligned, after header and table,
 * long enough for h->rows; VAR offsets start at 0, ascend and end inside their
 * bytes; the checksum if h->checksum is not 0. The caller sets `release` and
 * `private_data` of *out; children have a release that only marks them
 * released. null_count is -1 where the column is nullable.
 *
 * Whoever can still write to `mem` can change values and, with `offsets` NULL,
 * the lengths of texts, but nothing else that *out points at.
 *
 * @param at  its header was checked by wi_frame_check_header()
 *
 * Errors: WEIR_ERR_PEER_PROTOCOL, WEIR_ERR_INTEGRITY (checksum),
 * WEIR_ERR_NO_MEMORY (lists); *out is unchanged
 */
weir_err wi_frame_export(struct wi_export *x, const struct wi_frame_at *at,
                         struct ArrowArray *out, struct weir_error *err);

#endif /* WI_FRAME_CHECK_H */
