/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames other than DATA, and the checksum of DATA and CHUNK frames.
 */
#include "core/frame.h"

#include <string.h>

#include "core/base/cc.h"
#include "core/checksum.h"
#include "core/frame_table.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "frames are little endian and are used in place"
#endif

static uint32_t put_header(uint8_t *mem, enum wi_frame_kind kind,
                           uint32_t bytes)
{
    struct wi_frame_header h = {
        .magic = WI_FRAME_MAGIC,
        .kind = (uint8_t)kind,
        .bytes = bytes,
    };
    memcpy(mem, &h, sizeof(h));
    return bytes;
}

uint32_t wi_frame_put_end(uint8_t *mem, const struct wi_frame_end *end)
{
    memset(mem + WI_TABLE_OFF, 0, WI_CACHE_LINE);
    memcpy(mem + WI_TABLE_OFF, end, sizeof(*end));
    return put_header(mem, WI_FRAME_END, WI_TABLE_OFF + WI_CACHE_LINE);
}

struct wi_frame_end wi_frame_get_end(const uint8_t *mem)
{
    struct wi_frame_end end;
    memcpy(&end, mem + WI_TABLE_OFF, sizeof(end));
    return end;
}

void wi_frame_put_pad(uint8_t *mem, uint32_t bytes)
{
    assert(bytes >= WI_TABLE_OFF && bytes % WI_CACHE_LINE == 0);
    (void)put_header(mem, WI_FRAME_PAD, bytes);
}

uint32_t wi_frame_put_chunk(uint8_t *mem, const uint8_t *image,
                            uint32_t total_bytes, uint32_t chunk_off,
                            uint32_t chunk_bytes, bool checksum)
{
    uint32_t end = WI_TABLE_OFF + chunk_bytes;
    struct wi_frame_header h = {
        .magic = WI_FRAME_MAGIC,
        .kind = WI_FRAME_CHUNK,
        .bytes = (uint32_t)wi_align_up(end, WI_CACHE_LINE),
        .rows = chunk_off + chunk_bytes == total_bytes,
        .chunk_off = chunk_off,
        .chunk_bytes = chunk_bytes,
        .total_bytes = total_bytes,
    };
    assert(chunk_bytes > 0 && chunk_off < total_bytes &&
           chunk_bytes <= total_bytes - chunk_off);
    memcpy(mem + WI_TABLE_OFF, image + chunk_off, chunk_bytes);
    memset(mem + end, 0, h.bytes - end);
    h.checksum = checksum ? wi_frame_checksum(&h, mem) : 0;
    memcpy(mem, &h, sizeof(h));
    return h.bytes;
}

/* Header fields that say what the bytes mean. */
static void add_header(struct wi_sum *sum, const struct wi_frame_header *h)
{
    const uint64_t fields[] = {h->kind,      h->rows,        h->n_buffers,
                               h->chunk_off, h->chunk_bytes, h->total_bytes};
    wi_sum_add(sum, fields, sizeof(fields));
}

uint64_t wi_frame_checksum(const struct wi_frame_header *h, const uint8_t *mem)
{
    struct wi_sum sum;
    wi_sum_init(&sum, wi_isa_best());
    add_header(&sum, h);
    if (h->kind == WI_FRAME_CHUNK) {
        wi_sum_add(&sum, mem + WI_TABLE_OFF,
                   wi_min_u64(h->chunk_bytes, h->bytes - WI_TABLE_OFF));
        return wi_sum_get(&sum, h->kind);
    }
    uint32_t n = wi_min_u32(h->n_buffers, (h->bytes - WI_TABLE_OFF) / 8);
    wi_sum_add(&sum, mem + WI_TABLE_OFF, (size_t)n * 8);
    for (uint32_t i = 0; i < n; i++) {
        /* A one-sided writer may have changed the table since it was checked:
         * the clamp keeps the reads inside the frame. */
        struct wi_extent e = wi_table_get(mem, i);
        e.off = wi_min_u32(e.off, h->bytes);
        wi_sum_add(&sum, mem + e.off, wi_min_u32(e.len, h->bytes - e.off));
    }
    return wi_sum_get(&sum, h->kind);
}
