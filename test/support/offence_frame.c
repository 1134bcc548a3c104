/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that are wrong, in a ring that was opened as it has to be. */
#include "core/base/cc.h"
#include "test/support/offence.h"

enum { UNIT = 2, STAGE = 1, ROWS = 8, MANY = 24, MAX_ROW = 1 << 20 };

static const int64_t keys[ROWS] = {3, 1, 4, 1, 5, 9, 2, 6};

static void apply(uint8_t *frame, const struct wt_offence *o)
{
    for (uint32_t i = 0; i < 2 && o->patch[i].bytes != 0; i++) {
        const struct wt_patch *p = &o->patch[i];
        wt_put(frame + p->off, p->value, p->bytes);
    }
}

static void put(struct wt_ring *r, const uint8_t *frame, uint32_t len)
{
    wt_ring_write(r, frame, len);
    wt_ring_publish(r, len);
}

/* A frame of eight rows that was changed, after one that was not. */
static void data(struct wt_lab *lab, const struct wt_offence *o)
{
    uint8_t frame[256];
    struct wt_ring r;
    wt_ring_open(lab, 0, STAGE, UNIT, &r);
    wt_ring_rows(&r, 3);
    uint32_t len = wt_frame_data(frame, wt_ring_place(&r), keys, ROWS);
    apply(frame, o);
    if (!o->stale) {
        wt_put(frame + 24, 0, 8); /* no checksum: it is the field that counts */
    }
    put(&r, frame, len);
}

static void many(struct wt_lab *lab, const struct wt_offence *o)
{
    uint8_t frame[256];
    struct wt_ring r;
    wt_ring_open(lab, 0, STAGE, UNIT, &r);
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t len = wt_frame_data(frame, wt_ring_place(&r), keys, ROWS);
        apply(frame, o);
        put(&r, frame, len);
    }
}

static void end(struct wt_lab *lab, const struct wt_offence *o)
{
    uint8_t frame[128];
    struct wt_ring r;
    wt_ring_open(lab, 0, STAGE, UNIT, &r);
    wt_ring_rows(&r, 3);
    uint32_t len = wt_frame_end(frame, wt_ring_place(&r), r.sums);
    apply(frame, o);
    put(&r, frame, len);
}

static void rows_after_the_end(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_ring r;
    (void)o;
    wt_ring_open(lab, 0, STAGE, UNIT, &r);
    wt_ring_rows(&r, 3);
    wt_ring_end(&r);
    for (uint32_t i = 0; i < 2; i++) {
        wt_ring_rows(&r, 3);
        for (uint32_t k = 0; k < 64; k++) { /* until the ring was let go */
            (void)wt_lab_step(lab);
        }
    }
}

/* A chunk of a row of 256 bytes, changed, after the first one. */
static void chunk(struct wt_lab *lab, const struct wt_offence *o)
{
    uint8_t image[256];
    uint8_t frame[256];
    struct wt_ring r;
    const struct wt_place_in_ring nowhere = {0, 0};
    wt_ring_open(lab, 0, STAGE, UNIT, &r);
    memset(image, 0, sizeof(image));
    (void)wt_frame_data(image, nowhere, keys, 1);
    uint32_t len =
        wt_frame_chunk(frame, wt_ring_place(&r), image, sizeof(image), 0, 64);
    put(&r, frame, len);
    len =
        wt_frame_chunk(frame, wt_ring_place(&r), image, sizeof(image), 64, 192);
    apply(frame, o);
    if (!o->stale) {
        wt_put(frame + 24, 0, 8);
    }
    put(&r, frame, len);
}

/* The end, when only the first chunk of a row has come. */
static void half_a_row(struct wt_lab *lab, const struct wt_offence *o)
{
    uint8_t frame[256];
    uint8_t image[256] = {0};
    struct wt_ring r;
    (void)o;
    wt_ring_open(lab, 0, STAGE, UNIT, &r);
    uint32_t len =
        wt_frame_chunk(frame, wt_ring_place(&r), image, sizeof(image), 0, 64);
    r.sums[1] = len;
    r.sums[2] = wt_get(frame + 24, 8);
    r.sums[3] = 1;
    put(&r, frame, len);
    wt_ring_end(&r);
}

/* Nothing was written where the position says. */
static void nothing(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_ring r;
    (void)o;
    wt_ring_open(lab, 0, STAGE, UNIT, &r);
    wt_ring_publish(&r, 4096);
}

#define FRAME(name_, off_, bytes_, value_)                                     \
    {                                                                          \
        .name = (name_), .outcome = WT_QUERY_FAILS,                            \
        .code = WEIR_ERR_PEER_PROTOCOL, .play = data, .patch = {               \
            {(off_), (bytes_), (value_)}                                       \
        }                                                                      \
    }
#define CHUNK(name_, code_, off_, bytes_, value_)                              \
    {                                                                          \
        .name = (name_), .outcome = WT_QUERY_FAILS, .code = (code_),           \
        .play = chunk, .patch = {                                              \
            {(off_), (bytes_), (value_)}                                       \
        }                                                                      \
    }
#define END(name_, off_)                                                       \
    {                                                                          \
        .name = (name_), .outcome = WT_QUERY_FAILS,                            \
        .code = WEIR_ERR_INTEGRITY, .play = end, .patch = {                    \
            {(off_), 8, 77}                                                    \
        }                                                                      \
    }

const struct wt_offence wt_frame_offences[] = {
    FRAME("a frame with another magic", 0, 4, 0x52494558),
    FRAME("a frame with a flag", 5, 1, 1),
    FRAME("a frame whose reserved bytes are not zero", 56, 4, 1),
    FRAME("a frame of kind 0", 4, 1, 0),
    FRAME("a frame of kind 9", 4, 1, 9),
    FRAME("a frame of no bytes", 8, 4, 0),
    FRAME("a frame of half a cache line", 8, 4, 32),
    FRAME("a frame of 100 bytes", 8, 4, 100),
    FRAME("a frame across the end of its ring", 8, 4, 16384),
    FRAME("a frame of 4 GiB", 8, 4, 0xffffffc0),
    FRAME("a frame for another position", 16, 8, 64),
    FRAME("a frame for an earlier epoch", 32, 4, 0),
    FRAME("a frame without rows", 12, 4, 0),
    FRAME("a frame of 2^31 rows", 12, 4, 0x80000000),
    FRAME("a frame of more rows than it has values", 12, 4, ROWS + 1),
    FRAME("a frame without buffers", 36, 4, 0),
    FRAME("a frame of a buffer too many", 36, 4, 2),
    FRAME("a frame of 2^32-1 buffers", 36, 4, 0xffffffff),
    FRAME("a buffer in the header", 64, 4, 0),
    FRAME("a buffer over the table", 64, 4, 64),
    FRAME("a buffer that is not aligned", 64, 4, 136),
    FRAME("a buffer beyond its frame", 64, 4, 8192),
    FRAME("a buffer far away", 64, 4, 0xffffffc0),
    FRAME("a buffer that is too short", 68, 4, 8),
    FRAME("a buffer longer than its frame", 68, 4, 0xffffffff),
    {.name = "a frame with another checksum",
     .outcome = WT_QUERY_FAILS,
     .code = WEIR_ERR_INTEGRITY,
     .play = data,
     .stale = true,
     .patch = {{24, 8, 12345}}},
    {.name = "a value that was changed on its way",
     .outcome = WT_QUERY_FAILS,
     .code = WEIR_ERR_INTEGRITY,
     .play = data,
     .stale = true,
     .patch = {{128, 8, 12345}}},
    {.name = "frames refused by the dozen",
     .outcome = WT_QUERY_FAILS,
     .code = WEIR_ERR_PEER_PROTOCOL,
     .play = many,
     .patch = {{0, 4, 0}}},
    {.name = "a position without a frame",
     .outcome = WT_QUERY_FAILS,
     .code = WEIR_ERR_PEER_PROTOCOL,
     .play = nothing},
    CHUNK("a chunk that leaves a gap", WEIR_ERR_PEER_PROTOCOL, 40, 4, 128),
    CHUNK("a chunk of nothing", WEIR_ERR_PEER_PROTOCOL, 44, 4, 0),
    CHUNK("a chunk longer than its frame", WEIR_ERR_PEER_PROTOCOL, 44, 4, 4096),
    CHUNK("a chunk that says it is not the last", WEIR_ERR_PEER_PROTOCOL, 12, 4,
          0),
    CHUNK("a chunk of another image", WEIR_ERR_PEER_PROTOCOL, 48, 4, 320),
    {.name = "a chunk with another checksum",
     .outcome = WT_QUERY_FAILS,
     .code = WEIR_ERR_INTEGRITY,
     .play = chunk,
     .stale = true,
     .patch = {{100, 4, 1}}},
    {.name = "a row over max_row_bytes",
     .outcome = WT_QUERY_FAILS,
     .code = WEIR_ERR_QUERY_MEMORY,
     .play = chunk,
     .patch = {{48, 4, MAX_ROW + 64}, {12, 4, 0}}},
    {.name = "the end, with half a row collected",
     .outcome = WT_QUERY_FAILS,
     .code = WEIR_ERR_INTEGRITY,
     .play = half_a_row},
    CHUNK("an image that is no frame", WEIR_ERR_PEER_PROTOCOL, 64, 4, 0),
    END("an end that says more rows", 64),
    END("an end that says more bytes", 72),
    END("an end with another checksum", 80),
    END("an end that says more frames", 88),
    {.name = "rows after the end", /* dropped if the ring is still there */
     .outcome = WT_DEPENDS,
     .play = rows_after_the_end},
};
const uint32_t wt_n_frame_offences = WI_ARRAY_LEN(wt_frame_offences);
