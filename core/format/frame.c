/* SPDX-License-Identifier: Apache-2.0 */
/* Frames other than DATA, and the checksum of DATA and CHUNK frames. */
#include "core/format/frame.h"

#include <assert.h>
#include <string.h>

#include "core/base/cc.h"
#include "core/format/checksum.h"
#include "core/format/frame_table.h"

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

/* The header's fields that say what the bytes mean. Those that a DATA frame
 * does not use are zero, and zeros add nothing. */
static uint64_t head_sum(const struct wi_frame_header *h)
{
    uint64_t sum = wi_sum_word(h->kind, 0) + wi_sum_word(h->rows, 1) +
                   wi_sum_word(h->n_buffers, 2);
    if (wi_unlikely(h->kind == WI_FRAME_CHUNK)) {
        sum += wi_sum_word(h->chunk_off, 3) + wi_sum_word(h->chunk_bytes, 4) +
               wi_sum_word(h->total_bytes, 5);
    }
    return sum;
}

static uint64_t wide_sum(const struct wi_frame_header *h, const uint8_t *mem,
                         const struct wi_sum_part *const *parts, uint64_t salt)
{
    uint32_t most = (h->bytes - WI_TABLE_OFF) / WI_SUM_BLOCK_BYTES;
    struct wi_sum sum = {
        .lead = mem + WI_TABLE_OFF,
        .mem = mem,
        .bytes = h->bytes,
        .parts = parts,
    };
    uint64_t lead = h->chunk_bytes; /* of a CHUNK */
    if (h->kind != WI_FRAME_CHUNK) {
        sum.n_buffers = wi_min_u32(h->n_buffers, most * 8);
        lead = (uint64_t)sum.n_buffers * 8;
    }
    sum.lead_blocks = (uint32_t)wi_min_u64((lead + 63) / 64, most);
    return wi_sum_get(&sum, wi_isa_best(), salt);
}

uint64_t wi_frame_checksum(const struct wi_frame_header *h, const uint8_t *mem)
{
    uint64_t salt = head_sum(h);
    uint64_t sum = 0;
    if (h->kind == WI_FRAME_DATA && h->bytes >= 2 * WI_TABLE_OFF) {
        sum = wi_sum_narrow(mem, h->bytes, h->n_buffers, salt);
    }
    return sum != 0 ? sum : wide_sum(h, mem, NULL, salt);
}

uint64_t wi_frame_checksum_parts(const struct wi_frame_header *h,
                                 const uint8_t *mem,
                                 const struct wi_sum_part *const *parts)
{
    return wide_sum(h, mem, parts, head_sum(h));
}
