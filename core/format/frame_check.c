/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receiving DATA frames: check every length and offset, and point at what was
 * checked. A peer may change the frame after the check, so only values are used
 * in place: pointers and lengths are kept here, and offsets of texts are copied
 * first where the transport cannot keep the peer from writing there.
 */
#include "core/format/frame_check.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/format/frame_table.h"

/* ---- headers ------------------------------------------------------------- */

static weir_err bad_field(struct weir_error *err, const char *field,
                          uint64_t value, uint64_t expected)
{
    return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                   "frame: %s is %llu (0x%llx), expected %llu (0x%llx)", field,
                   (unsigned long long)value, (unsigned long long)value,
                   (unsigned long long)expected, (unsigned long long)expected);
}

static weir_err check_data(const struct wi_frame_header *h,
                           struct weir_error *err)
{
    if (h->rows == 0 || h->rows > INT32_MAX) {
        return bad_field(err, "rows of a DATA frame", h->rows, 1);
    }
    if (h->n_buffers > (h->bytes - WI_TABLE_OFF) / 8) {
        return bad_field(err, "n_buffers, for the frame's bytes,", h->n_buffers,
                         (h->bytes - WI_TABLE_OFF) / 8);
    }
    return WEIR_OK;
}

static weir_err check_chunk(const struct wi_frame_header *h,
                            struct weir_error *err)
{
    if (h->chunk_bytes == 0 || h->chunk_bytes > h->bytes - WI_TABLE_OFF) {
        return bad_field(err, "chunk_bytes", h->chunk_bytes,
                         h->bytes - WI_TABLE_OFF);
    }
    if (h->chunk_off >= h->total_bytes ||
        h->chunk_bytes > h->total_bytes - h->chunk_off) {
        return bad_field(err, "chunk_off", h->chunk_off, h->total_bytes);
    }
    uint32_t last = h->chunk_bytes == h->total_bytes - h->chunk_off;
    if (h->rows != last) {
        return bad_field(err, "rows of a CHUNK frame", h->rows, last);
    }
    return WEIR_OK;
}

static weir_err check_kind(const struct wi_frame_header *h,
                           struct weir_error *err)
{
    switch (h->kind) {
    case WI_FRAME_DATA:
        return check_data(h, err);
    case WI_FRAME_CHUNK:
        return check_chunk(h, err);
    case WI_FRAME_END:
        return h->bytes >= WI_TABLE_OFF + WI_CACHE_LINE
                   ? WEIR_OK
                   : bad_field(err, "bytes of an END frame", h->bytes,
                               WI_TABLE_OFF + WI_CACHE_LINE);
    case WI_FRAME_PAD:
        return WEIR_OK;
    default:
        return bad_field(err, "kind", h->kind, WI_FRAME_DATA);
    }
}

weir_err wi_frame_check_header(const struct wi_frame_header *h, uint64_t pos,
                               uint32_t epoch, uint64_t avail,
                               struct weir_error *err)
{
    if (h->magic != WI_FRAME_MAGIC) {
        return bad_field(err, "magic", h->magic, WI_FRAME_MAGIC);
    }
    if (h->flags != 0) {
        return bad_field(err, "flags", h->flags, 0);
    }
    if ((h->reserved[0] | h->reserved[1] | h->reserved[2]) != 0) {
        return bad_field(err, "reserved",
                         h->reserved[0] | h->reserved[1] | h->reserved[2], 0);
    }
    if (h->bytes < WI_TABLE_OFF || h->bytes % WI_CACHE_LINE != 0 ||
        h->bytes > avail) {
        return bad_field(err, "bytes, for what was published,", h->bytes,
                         avail);
    }
    if (h->pos != pos) {
        return bad_field(err, "pos", h->pos, pos);
    }
    if (h->epoch != epoch) {
        return bad_field(err, "epoch", h->epoch, epoch);
    }
    return check_kind(h, err);
}

/* ---- contents ------------------------------------------------------------ */

/* A frame whose buffers are looked up one after the other. */
struct lookup {
    const struct wi_frame_header *h; /* a checked copy */
    const uint8_t *mem;
    uint8_t *offsets; /* see wi_frame_at */
    uint32_t entry;   /* next of the table */
    struct weir_error *err;
};

static WI_COLD const uint8_t *bad_extent(const struct lookup *l,
                                         struct wi_extent e, uint64_t need)
{
    uint32_t least = wi_table_end(l->h->n_buffers);
    bool off_ok =
        e.off >= least && e.off <= l->h->bytes && e.off % WI_CACHE_LINE == 0;
    if (off_ok) {
        (void)bad_field(l->err, "length of a buffer", e.len, need);
    } else {
        (void)bad_field(l->err, "offset of a buffer", e.off, least);
    }
    return NULL;
}

/* The next buffer if it is inside the frame, aligned and at least `need` bytes
 * long, else NULL. Its entry is loaded once: a peer that writes into the ring
 * may change it, but not what was checked. */
static inline const uint8_t *next_buffer(struct lookup *l, uint64_t need,
                                         uint32_t *len_out)
{
    const struct wi_frame_header *h = l->h;
    struct wi_extent e = wi_table_get(l->mem, l->entry++);
    *len_out = e.len;
    if (wi_unlikely(e.off < wi_table_end(h->n_buffers) || e.off > h->bytes ||
                    e.off % WI_CACHE_LINE != 0 || e.len < need ||
                    e.len > h->bytes - e.off)) {
        return bad_extent(l, e, need);
    }
    return l->mem + e.off;
}

typedef int32_t i32x4 __attribute__((vector_size(16), aligned(4), may_alias));

/* Offsets 0 = o[0] <= o[1] .. <= o[rows] <= bytes. Faults are summed up:
 * without an early exit the loop has no branch to mispredict, and four offsets
 * are compared at a time with those before them. */
static weir_err check_offsets(const int32_t *o, uint32_t rows, uint32_t bytes,
                              struct weir_error *err)
{
    i32x4 some = {0};
    uint32_t i = 0;
    for (; i + 4 <= rows; i += 4) {
        some |= *(const i32x4 *)(o + i) > *(const i32x4 *)(o + i + 1);
    }
    int32_t faults = some[0] | some[1] | some[2] | some[3];
    for (; i < rows; i++) {
        faults |= -(int32_t)(o[i] > o[i + 1]);
    }
    if (o[0] != 0) {
        return bad_field(err, "first offset", (uint32_t)o[0], 0);
    }
    if (faults != 0) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "frame: offsets do not ascend");
    }
    if ((uint32_t)o[rows] > bytes) {
        return bad_field(err, "last offset", (uint32_t)o[rows], bytes);
    }
    return WEIR_OK;
}

static inline uint64_t need_bytes(const struct wi_column *c, uint64_t rows)
{
    switch (c->kind) {
    case WI_KIND_FIXED:
        return rows * c->width;
    case WI_KIND_BITS:
        return (rows + 7) / 8;
    case WI_KIND_VAR:
        return (rows + 1) * 4;
    case WI_KIND_STRUCT:
        break;
    }
    return 0;
}

/* Copy offsets out of the peer's reach, to the same place of our own memory. */
static const void *copy_offsets(const struct lookup *l, const uint8_t *from)
{
    return memcpy(l->offsets + (from - l->mem), from,
                  ((size_t)l->h->rows + 1) * sizeof(int32_t));
}

/* Check the buffers of one column and point at them. */
static weir_err take_column(struct lookup *l, const struct wi_column *c,
                            const void **buffers)
{
    uint32_t rows = l->h->rows;
    uint32_t len;
    buffers[0] = NULL;
    buffers[2] = NULL;
    if (c->nullable) {
        buffers[0] = next_buffer(l, ((uint64_t)rows + 7) / 8, &len);
        if (buffers[0] == NULL) {
            return WEIR_ERR_PEER_PROTOCOL;
        }
    }
    buffers[1] = NULL;
    if (c->kind == WI_KIND_STRUCT) {
        return WEIR_OK;
    }
    buffers[1] = next_buffer(l, need_bytes(c, rows), &len);
    if (buffers[1] == NULL) {
        return WEIR_ERR_PEER_PROTOCOL;
    }
    if (c->kind != WI_KIND_VAR) {
        return WEIR_OK;
    }
    if (l->offsets != NULL) {
        buffers[1] = copy_offsets(l, buffers[1]);
    }
    buffers[2] = next_buffer(l, 0, &len);
    return buffers[2] == NULL ? WEIR_ERR_PEER_PROTOCOL
                              : check_offsets(buffers[1], rows, len, l->err);
}

static weir_err check_data_of(const struct wi_schema *s,
                              const struct wi_frame_header *h,
                              struct weir_error *err)
{
    if (h->kind != WI_FRAME_DATA) {
        return bad_field(err, "kind", h->kind, WI_FRAME_DATA);
    }
    if (h->n_buffers != s->n_buffers || h->bytes < wi_table_end(s->n_buffers)) {
        return bad_field(err, "n_buffers, of the schema,", h->n_buffers,
                         s->n_buffers);
    }
    if (h->rows > INT32_MAX) {
        return bad_field(err, "rows", h->rows, INT32_MAX);
    }
    return WEIR_OK;
}

static WI_COLD weir_err bad_checksum(const struct wi_frame_header *h,
                                     struct weir_error *err)
{
    return wi_fail(err, WEIR_ERR_INTEGRITY,
                   "frame: %u bytes at position %llu do not match their "
                   "checksum",
                   h->bytes, (unsigned long long)h->pos);
}

/* ---- export -------------------------------------------------------------- */

/* What was packed, now that the bytes are those that were sent. */
static weir_err unpack(struct wi_export *x, uint32_t rows,
                       struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; rc == WEIR_OK && i < x->s->n_columns; i++) {
        if (x->items[i] != NULL) {
            rc = wi_export_list(x, i, rows, err);
        }
    }
    return rc;
}

weir_err wi_frame_export(struct wi_export *x, const struct wi_frame_at *at,
                         struct ArrowArray *out, struct weir_error *err)
{
    const struct wi_schema *s = x->s;
    const struct wi_frame_header *h = at->h;
    struct lookup l = {
        .h = h, .mem = at->mem, .offsets = at->offsets, .err = err};
    weir_err rc = check_data_of(s, h, err);
    for (uint32_t i = 0; rc == WEIR_OK && i < s->n_columns; i++) {
        rc = take_column(&l, &s->columns[i], &x->buffers[i * 3]);
        wi_export_array(x, i, h->rows);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    if (h->checksum != 0 && h->checksum != wi_frame_checksum(h, at->mem)) {
        return bad_checksum(h, err);
    }
    if (s->n_lists > 0) {
        rc = unpack(x, h->rows, err);
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    *out = (struct ArrowArray){
        .length = h->rows,
        .n_buffers = 1,
        .n_children = s->n_top,
        .buffers = &x->buffers[s->n_columns * 3],
        .children = x->children,
    };
    return WEIR_OK;
}
