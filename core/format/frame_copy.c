/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copy loops of the frame builder, one per width.
 *
 * A gather takes a third of the instructions of scalar loads. It took 0.8 of
 * their time on an Emerald Rapids guest, and 1.5 of it on a Cascade Lake guest,
 * whose microcode guards against Gather Data Sampling, and on AMD's Zen 3 and
 * 4: hence WI_ISA_GATHER.
 */
#include "core/format/frame_copy.h"

#include <string.h>

#if WI_X86
#include <immintrin.h>
#endif

#include "core/base/bytes.h"
#include "core/base/cc.h"
#include "core/format/text.h"

/* ---- blocks -------------------------------------------------------------- */

/* Between these sizes the C library uses `rep movsb` on many machines. A loop
 * was as fast where the target is in this core's cache, and up to 1.3 times as
 * fast where another core has read it since; from 128 KiB on it was slower
 * there. */
#define LOOP_LEAST 8192u
#define LOOP_MOST 65536u

/* Eight vectors of `size` bytes at a time. */
#define DEFINE_COPY(name, size, target)                                        \
    typedef uint64_t name##_words                                              \
        __attribute__((vector_size(size), aligned(1), may_alias));             \
    target static void name(uint8_t *dst, const uint8_t *src, size_t bytes)    \
    {                                                                          \
        enum { STEP = 8 * (size) };                                            \
        const uint8_t *end = src + bytes / STEP * STEP;                        \
        for (; src != end; src += STEP) {                                      \
            name##_words w[8];                                                 \
            _Pragma("GCC unroll 8") for (int i = 0; i < 8; i++)                \
            {                                                                  \
                w[i] = *(const name##_words *)(src + i * (size));              \
            }                                                                  \
            _Pragma("GCC unroll 8") for (int i = 0; i < 8; i++)                \
            {                                                                  \
                *(name##_words *)(dst + i * (size)) = w[i];                    \
            }                                                                  \
            dst += STEP;                                                       \
        }                                                                      \
        memcpy(dst, src, bytes % STEP);                                        \
    }

#if WI_X86
DEFINE_COPY(copy_avx2, 32, WI_TARGET_AVX2)
DEFINE_COPY(copy_avx512, 64, WI_TARGET_AVX512)
#endif

void wi_copy_block(uint8_t *dst, const uint8_t *src, size_t bytes,
                   enum wi_isa isa)
{
#if WI_X86
    if (bytes > LOOP_LEAST && bytes <= LOOP_MOST && isa >= WI_ISA_AVX2) {
        (isa == WI_ISA_AVX2 ? copy_avx2 : copy_avx512)(dst, src, bytes);
        return;
    }
#endif
    (void)isa;
    memcpy(dst, src, bytes);
}

static inline void copy_block(uint8_t *dst, const uint8_t *src, size_t bytes)
{
    if (bytes > LOOP_LEAST) {
        wi_copy_block(dst, src, bytes, wi_isa_best());
    } else {
        memcpy(dst, src, bytes);
    }
}

/* ---- fixed width --------------------------------------------------------- */

/* How far ahead of a copy its lines are prefetched: the core that last read the
 * frame still has them. */
enum { AHEAD_BYTES = 1024 };

static inline void own_ahead(const uint8_t *dst, size_t bytes)
{
    for (size_t off = 0; off < bytes; off += WI_CACHE_LINE) {
        wi_prefetch_write((uintptr_t)dst + AHEAD_BYTES + off);
    }
}

/* `width` is a constant in every caller but one: the copies become moves. */
static inline __attribute__((always_inline)) void
gather(uint8_t *dst, const uint8_t *src, size_t width, const uint32_t *idx,
       uint32_t n)
{
    const uint32_t *end = idx + n;
    for (; end - idx >= 8; idx += 8) {
        own_ahead(dst, 8 * width);
        memcpy(dst, src + idx[0] * width, width);
        memcpy(dst + width, src + idx[1] * width, width);
        memcpy(dst + 2 * width, src + idx[2] * width, width);
        memcpy(dst + 3 * width, src + idx[3] * width, width);
        memcpy(dst + 4 * width, src + idx[4] * width, width);
        memcpy(dst + 5 * width, src + idx[5] * width, width);
        memcpy(dst + 6 * width, src + idx[6] * width, width);
        memcpy(dst + 7 * width, src + idx[7] * width, width);
        dst += 8 * width;
    }
    for (; idx != end; idx++) {
        memcpy(dst, src + *idx * width, width);
        dst += width;
    }
}

#if WI_X86
/* Rows [0, n), as many as make whole vectors. Returns how many. */
static WI_TARGET_AVX512 uint32_t gather_avx512(uint8_t *dst, const uint8_t *src,
                                               const uint32_t *idx, uint32_t n)
{
    uint32_t whole = n / 8 * 8;
    for (uint32_t i = 0; i < whole; i += 8) {
        __m256i rows = _mm256_loadu_si256((const void *)(idx + i));
        __m512i wide = _mm512_cvtepu32_epi64(rows); /* gather: signed ones */
        own_ahead(dst, 64);
        _mm512_storeu_si512(dst, _mm512_i64gather_epi64(wide, src, 8));
        dst += 64;
    }
    return whole;
}
#endif

/* Two words are one store. */
typedef uint64_t word_pair
    __attribute__((vector_size(16), aligned(1), may_alias));

/* The words of two rows, whose numbers are one load. */
static inline word_pair load_pair(const uint8_t *src, const uint32_t *idx)
{
    uint64_t two = wi_load_u64((const uint8_t *)idx);
    return (word_pair){wi_load_u64(src + (two & UINT32_MAX) * 8),
                       wi_load_u64(src + (two >> 32) * 8)};
}

static inline void store_pair(uint8_t *dst, word_pair pair)
{
    *(word_pair *)dst = pair;
}

/* As gather_avx512(), on any machine. */
static uint32_t gather_pairs(uint8_t *dst, const uint8_t *src,
                             const uint32_t *idx, uint32_t n)
{
    uint32_t whole = n / 8 * 8;
    for (uint32_t i = 0; i < whole; i += 8) {
        own_ahead(dst, 64);
        word_pair a = load_pair(src, idx + i);
        word_pair b = load_pair(src, idx + i + 2);
        word_pair c = load_pair(src, idx + i + 4);
        word_pair d = load_pair(src, idx + i + 6);
        store_pair(dst, a);
        store_pair(dst + 16, b);
        store_pair(dst + 32, c);
        store_pair(dst + 48, d);
        dst += 64;
    }
    return whole;
}

void wi_gather_words(uint8_t *dst, const uint8_t *src,
                     const struct wi_rows *rows, enum wi_isa isa)
{
    uint32_t done;
#if WI_X86
    if (isa >= WI_ISA_GATHER) {
        done = gather_avx512(dst, src, rows->idx, rows->n);
    } else
#endif
    {
        (void)isa;
        done = gather_pairs(dst, src, rows->idx, rows->n);
    }
    gather(dst + (size_t)done * 8, src, 8, rows->idx + done, rows->n - done);
}

static void gather_width(uint8_t *dst, const uint8_t *src, uint32_t width,
                         const struct wi_rows *rows)
{
    const uint32_t *idx = rows->idx;
    uint32_t n = rows->n;
    switch (width) {
    case 1:
        gather(dst, src, 1, idx, n);
        break;
    case 2:
        gather(dst, src, 2, idx, n);
        break;
    case 4:
        gather(dst, src, 4, idx, n);
        break;
    case 8:
        wi_gather_words(dst, src, rows, wi_isa_best());
        break;
    case 16:
        gather(dst, src, 16, idx, n);
        break;
    default:
        gather(dst, src, width, idx, n);
        break;
    }
}

void wi_copy_fixed(uint8_t *dst, const struct wi_view *v, uint32_t width,
                   const struct wi_rows *rows)
{
    const uint8_t *src = (const uint8_t *)v->values + v->offset * width;

    if (rows->idx == NULL) {
        size_t bytes = (size_t)rows->n * width;
        src += (size_t)rows->first * width;
        if (bytes == 8) { /* a row by itself is waited for */
            memcpy(dst, src, 8);
        } else {
            copy_block(dst, src, bytes);
        }
        return;
    }
    gather_width(dst, src, width, rows);
}

/* ---- variable width ------------------------------------------------------ */

static const uint8_t *source_offsets(const struct wi_view *v)
{
    return (const uint8_t *)v->values + v->offset * 4;
}

static uint32_t load_offset(const uint8_t *offsets, uint64_t row)
{
    return wi_load_u32(offsets + row * 4);
}

/* Most rows k <= n of a run whose bytes fit into `space`. */
static uint32_t count_fitting(const uint8_t *offsets, uint32_t n,
                              uint32_t space)
{
    uint32_t begin = load_offset(offsets, 0);
    uint32_t lo = 0;
    uint32_t hi = n;
    while (lo < hi) {
        uint32_t k = hi - (hi - lo) / 2;
        if (load_offset(offsets, k) - begin <= space) {
            lo = k;
        } else {
            hi = k - 1;
        }
    }
    return lo;
}

typedef uint32_t u32x4 __attribute__((vector_size(16), aligned(1), may_alias));

/* Offsets 1 .. n, each `more` greater. */
static void move_offsets(int32_t *ends, const uint8_t *offsets, uint32_t n,
                         uint32_t more)
{
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const u32x4 *from = (const void *)(offsets + ((size_t)i + 1) * 4);
        u32x4 a = from[0] + more;
        u32x4 b = from[1] + more;
        *(u32x4 *)(ends + i) = a;
        *(u32x4 *)(ends + i + 4) = b;
    }
    for (; i < n; i++) {
        ends[i] = (int32_t)(load_offset(offsets, i + 1u) + more);
    }
}

static uint32_t offsets_of_run(int32_t *ends, struct wi_var *var,
                               const uint8_t *offsets, uint32_t n)
{
    uint32_t begin = load_offset(offsets, 0);
    uint32_t used = var->used; /* `ends` might alias it */
    uint32_t room = var->cap_bytes - used;
    if (load_offset(offsets, n) - begin > room) {
        n = count_fitting(offsets, n, room);
    }
    move_offsets(ends, offsets, n, used - begin);
    var->end = used + load_offset(offsets, n) - begin;
    return n;
}

enum { BLOCK_BYTES = 32, MOST_BLOCKS_BYTES = 256 };

/* Where texts are, and where they go. */
struct texts {
    const uint8_t *offsets;
    const uint8_t *bytes;
    uint32_t src_end; /* bytes before this may be read */
    uint8_t *dst;
    uint32_t cap_bytes;
};

/* One that is not short, or near an end. */
static void copy_text(const struct texts *t, uint32_t to, uint32_t from,
                      uint32_t len)
{
    uint32_t whole = (len + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
    uint8_t *dst = t->dst + to;
    const uint8_t *src = t->bytes + from;
    if (len > MOST_BLOCKS_BYTES || (uint64_t)from + whole > t->src_end ||
        t->cap_bytes - to < whole) {
        memcpy(dst, src, len);
        return;
    }
    for (uint32_t at = 0; at < len; at += BLOCK_BYTES) {
        memcpy(dst + at, src + at, BLOCK_BYTES);
    }
}

/* Short texts are moved as a whole block where source and destination have that
 * much: a branch on the length would be mispredicted, and a call costs more
 * than the copy. The surplus is overwritten by the next text or lies in the
 * unused end of the area. */
static uint32_t gather_texts(int32_t *ends, struct wi_var *var,
                             const struct texts *t, const struct wi_rows *rows)
{
    const struct texts own = *t; /* what is written might alias it */
    const int64_t src_most = (int64_t)own.src_end - BLOCK_BYTES;
    const int64_t to_most = (int64_t)own.cap_bytes - BLOCK_BYTES;
    uint32_t to = var->used;
    uint32_t i;
    for (i = 0; i < rows->n; i++) {
        uint64_t pair = wi_load_u64(own.offsets + (size_t)rows->idx[i] * 4);
        uint32_t from = (uint32_t)pair;
        uint32_t len = (uint32_t)(pair >> 32) - from;
        if (wi_likely(len <= BLOCK_BYTES && from <= src_most &&
                      to <= to_most)) {
            memcpy(own.dst + to, own.bytes + from, BLOCK_BYTES);
        } else if (len > own.cap_bytes - to) {
            break;
        } else {
            copy_text(&own, to, from, len);
        }
        to += len;
        ends[i] = (int32_t)to;
    }
    var->end = to;
    return i;
}

uint32_t wi_copy_texts(int32_t *ends, uint8_t *dst, struct wi_var *var,
                       const struct wi_view *v, const struct wi_rows *rows)
{
    const uint8_t *offsets = source_offsets(v);
    uint32_t used = var->used;
    if (rows->n == 0) {
        var->end = used;
        return 0;
    }
    if (v->texts != NULL) {
        return wi_text_gather(ends, dst, var, v->texts, rows);
    }
    if (rows->idx != NULL) {
        uint64_t last = rows->idx[rows->n - 1];
        const struct texts t = {.offsets = offsets,
                                .bytes = v->bytes,
                                .src_end = load_offset(offsets, last + 1),
                                .dst = dst,
                                .cap_bytes = var->cap_bytes};
        return gather_texts(ends, var, &t, rows);
    }
    offsets += (size_t)rows->first * 4;
    uint32_t n = offsets_of_run(ends, var, offsets, rows->n);
    copy_block(dst + used, v->bytes + load_offset(offsets, 0), var->end - used);
    return n;
}

uint32_t wi_var_bytes(const struct wi_view *v, const struct wi_rows *rows)
{
    const uint8_t *offsets = source_offsets(v);
    uint32_t bytes = 0;
    if (v->texts != NULL) {
        return wi_text_bytes(v->texts, rows);
    }
    if (rows->idx == NULL) {
        return load_offset(offsets, (uint64_t)rows->first + rows->n) -
               load_offset(offsets, rows->first);
    }
    for (uint32_t i = 0; i < rows->n; i++) {
        uint64_t pair = wi_load_u64(offsets + (size_t)rows->idx[i] * 4);
        bytes += (uint32_t)(pair >> 32) - (uint32_t)pair;
    }
    return bytes;
}
