/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Frames: what lies in a ring. Pure functions over bytes, no I/O.
 *
 *   0        64 (header)   64 + 8 * n_buffers            bytes
 *   +--------+-------------+--------+--------+---- ... --+
 *   | header | buffer table| buffer | buffer |           |
 *   +--------+-------------+--------+--------+---- ... --+
 *                          ^ every buffer starts on a 64-byte boundary
 *
 * A data frame is an Arrow record batch in place: per column a validity bitmap
 * (if the schema says nullable), then values, bits or int32 offsets, then bytes
 * (VAR). The buffer table gives {u32 offset from the frame's start, u32 length
 * in bytes} of each, in that order. All integers little endian. `bytes` is a
 * multiple of 64. docs/wire.md is the specification; only the frame files of
 * this folder know it:
 *
 *   frame.h         what lies where; END, PAD and CHUNK frames
 *   frame_build.h   building DATA frames in place
 *   frame_check.h   checking received frames
 *
 * Frame kinds:
 *   DATA   rows
 *   CHUNK  a piece of one row that is larger than a frame: its payload is
 *          [chunk_off, chunk_off + chunk_bytes) of an image that itself is a
 *          DATA frame of one row and total_bytes bytes
 *   END    end of stream: struct wi_frame_end follows the header
 *   PAD    skip `bytes` (the rest of the ring before it wraps)
 *
 * The checksum of a frame covers the buffer table, every buffer's used bytes
 * (or the chunk's payload) and the header's kind, rows, n_buffers and chunk
 * fields, not pos, worker and epoch. It notices a changed, missing or moved
 * word (checksum.h) and is no defence against an adversary. The sum over all
 * frames of an edge does not depend on their order.
 */
#ifndef WI_FRAME_H
#define WI_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>

#include "core/format/schema.h"

#define WI_FRAME_MAGIC 0x52494557u /* "WEIR" */

enum wi_frame_kind {
    WI_FRAME_DATA = 1,
    WI_FRAME_CHUNK = 2,
    WI_FRAME_END = 3,
    WI_FRAME_PAD = 4,
};

struct wi_frame_header {
    uint32_t magic;
    uint8_t kind;
    uint8_t flags;      /* zero */
    uint16_t worker;    /* consuming worker (thread-to-node rings) */
    uint32_t bytes;     /* whole frame, multiple of 64 */
    uint32_t rows;      /* DATA; CHUNK: 1 in the last chunk, else 0 */
    uint64_t pos;       /* cumulative position of this frame in its ring */
    uint64_t checksum;  /* 0 if the link does not use checksums */
    uint32_t epoch;     /* of the edge: late frames of an old one are dropped */
    uint32_t n_buffers; /* DATA: entries of the table */
    uint32_t chunk_off; /* CHUNK */
    uint32_t chunk_bytes;
    uint32_t total_bytes;
    uint32_t reserved[3];
};
_Static_assert(sizeof(struct wi_frame_header) == 64, "one cache line");

/** Payload of an END frame: what the producer sent over this edge. */
struct wi_frame_end {
    uint64_t rows;
    uint64_t bytes;    /* sum of header.bytes of DATA and CHUNK frames */
    uint64_t checksum; /* sum of header.checksum of the same, modulo 2^64 */
    uint64_t frames;
};

/** Write END, PAD or CHUNK frames (pos, worker and epoch are left zero).
 *  Return header.bytes. PAD: bytes >= 64, multiple of 64. CHUNK: copies
 *  chunk_bytes of the image. */
uint32_t wi_frame_put_end(uint8_t *mem, const struct wi_frame_end *end);
void wi_frame_put_pad(uint8_t *mem, uint32_t bytes);
uint32_t wi_frame_put_chunk(uint8_t *mem, const uint8_t *image,
                            uint32_t total_bytes, uint32_t chunk_off,
                            uint32_t chunk_bytes, bool checksum);

/** Checksum of a DATA or CHUNK frame as its header and bytes stand. */
uint64_t wi_frame_checksum(const struct wi_frame_header *h, const uint8_t *mem);

/** The same of a DATA frame with parts of it summed already, see struct wi_sum.
 */
struct wi_sum_part;
uint64_t wi_frame_checksum_parts(const struct wi_frame_header *h,
                                 const uint8_t *mem,
                                 const struct wi_sum_part *const *parts);

/** Copy of the END payload. */
struct wi_frame_end wi_frame_get_end(const uint8_t *mem);

#endif /* WI_FRAME_H */
