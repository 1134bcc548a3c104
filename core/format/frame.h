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
 * multiple of 64. docs/wire.md is the specification; this file and frame.c are
 * the only ones that know it.
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
 * fields, not pos, worker and epoch. Four sums per 64-bit lane (checksum.h,
 * after J. Fletcher, "An Arithmetic Checksum for Serial Transmissions", IEEE
 * Trans. Comm. 1982), finished by a multiplicative mix: it notices a changed,
 * missing or moved word, runs at memory speed, and is no defence against an
 * adversary. The sum over all frames of an edge does not depend on their
 * order.
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

/* ---- building ------------------------------------------------------------ */

/**
 * Builds DATA frames in place, row by row, column by column. One per lane of a
 * writer; keeps what it learned of the width of VAR columns from frame to frame
 * so that a frame fills evenly.
 */
struct wi_builder;

weir_err wi_builder_open(const struct wi_schema *s, struct wi_builder **out,
                         struct weir_error *err);
void wi_builder_close(struct wi_builder *b);

/**
 * Start a frame at mem.
 *
 * @param mem       64-byte aligned, cap_bytes writable; old contents are junk
 *                  (validity and bit buffers must be zeroed as needed)
 * @param cap_bytes multiple of 64, at least wi_frame_min_bytes()
 * @param max_rows  lay out for at most this many rows (0: as many as fit)
 */
void wi_builder_start(struct wi_builder *b, uint8_t *mem, uint32_t cap_bytes,
                      uint32_t max_rows);

/** Rows in the open frame. */
uint32_t wi_builder_rows(const struct wi_builder *b);

/** Rows that still fit for sure in the open frame if no VAR bytes ran out. */
uint32_t wi_builder_room(const struct wi_builder *b);

/**
 * Append rows idx[0..n) of the viewed batch (idx NULL: rows first..first+n).
 * This is the scatter of DESIGN's row path: for each column one tight loop that
 * reads by index and writes in sequence; no check, call or branch per value in
 * FIXED columns.
 *
 * Returns: rows taken, < n when the frame is full (also 0).
 */
uint32_t wi_builder_append(struct wi_builder *b, const struct wi_view *views,
                           const uint32_t *idx, uint32_t first, uint32_t n);

/**
 * Finish the frame: header (kind, bytes, rows, n_buffers; pos, worker and epoch
 * are left zero for the ring), table, zero padding. If less than half of the
 * space between the buffers is used, the buffers are moved together first: a
 * half-empty frame then costs half.
 *
 * @param checksum  compute it, else 0
 *
 * Returns: header.bytes, a multiple of 64; 0 if no row was appended (nothing
 *          was written, the space may be reused)
 */
uint32_t wi_builder_finish(struct wi_builder *b, bool checksum);

/** Bytes of a DATA frame that holds just this row (64-byte multiple). */
uint64_t wi_frame_row_bytes(const struct wi_schema *s,
                            const struct wi_view *views, uint64_t row);

/** Bytes that any frame of one row without VAR bytes needs. */
uint32_t wi_frame_min_bytes(const struct wi_schema *s);

/** Write END, PAD or CHUNK frames (pos, worker and epoch are left zero).
 *  Return header.bytes. PAD: bytes >= 64, multiple of 64. CHUNK: copies
 *  chunk_bytes of the image. */
uint32_t wi_frame_put_end(uint8_t *mem, const struct wi_frame_end *end);
void wi_frame_put_pad(uint8_t *mem, uint32_t bytes);
uint32_t wi_frame_put_chunk(uint8_t *mem, const uint8_t *image,
                            uint32_t total_bytes, uint32_t chunk_off,
                            uint32_t chunk_bytes, bool checksum);

/* ---- receiving: every byte is untrusted --------------------------------- */

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

/** Checksum of a DATA or CHUNK frame as its header and bytes stand. */
uint64_t wi_frame_checksum(const struct wi_frame_header *h, const uint8_t *mem);

/** Copy of the END payload. */
struct wi_frame_end wi_frame_get_end(const uint8_t *mem);

/**
 * Storage for one exported batch: one ArrowArray for each column and the
 * buffer pointers, allocated once and filled again for every frame.
 */
struct wi_export;
struct wi_export *
wi_export_open(const struct wi_schema *s); /* NULL: no memory */
void wi_export_close(struct wi_export *x);

/** A received frame where it lies. */
struct wi_frame_at {
    const struct wi_frame_header *h; /* a copy that the writer of mem cannot
                                        change, checked */
    const uint8_t *mem;
    uint8_t *offsets; /* NULL: VAR offsets are used in place; else they are
                         copied to the same places from here on, and it is the
                         copy that is checked and pointed at */
};

/**
 * Check the contents of a DATA frame against the schema of x, and fill *out (and
 * the children in x) with it.
 *
 * Checked are: table entries inside the frame, aligned, behind header and
 * table, long enough for h->rows; VAR offsets start at 0, ascend and end inside
 * their bytes; the checksum if h->checksum is not 0. `release` and
 * `private_data` of *out are the caller's to set; children have a release that
 * only marks them released. null_count is -1 where the column is nullable.
 *
 * Whoever can write to `mem` meanwhile or afterwards changes values, and with
 * `offsets` NULL the lengths of texts, but nothing else that *out points at.
 *
 * @param at  its header was checked by wi_frame_check_header()
 *
 * Errors: WEIR_ERR_PEER_PROTOCOL, WEIR_ERR_INTEGRITY (checksum); *out is as
 * before
 */
weir_err wi_frame_export(struct wi_export *x, const struct wi_frame_at *at,
                         struct ArrowArray *out, struct weir_error *err);

#endif /* WI_FRAME_H */
