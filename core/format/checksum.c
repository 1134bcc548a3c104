/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frame checksums: four sums per 64-bit lane, eight lanes.
 *
 * A step of the loop is four additions, two of them straight from memory: the
 * shift that brings the upper halves down is an address four bytes lower.
 *
 * One body in the compiler's vector types is compiled once per instruction set.
 * It adds, multiplies modulo 2^64 and shifts, all exact, so every set gives the
 * same sums.
 *
 * Source: J. Fletcher, "An Arithmetic Checksum for Serial Transmissions", IEEE
 * Transactions on Communications, 1982; the finish is the 64-bit mix of
 * S. Vigna's splitmix64 (2015).
 */
#include "core/format/checksum.h"

#include <stdbool.h>

#if WI_X86
#include <immintrin.h>
#endif

#include "core/base/cc.h"
#include "core/format/frame_table.h"

/* The words of a block in the machine's order. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "frames are little endian and are used in place"
#endif

#define FACTORS(i)                                                             \
    WI_SUM_FACTOR(i), WI_SUM_FACTOR((i) + 1), WI_SUM_FACTOR((i) + 2),          \
        WI_SUM_FACTOR((i) + 3), WI_SUM_FACTOR((i) + 4),                        \
        WI_SUM_FACTOR((i) + 5), WI_SUM_FACTOR((i) + 6), WI_SUM_FACTOR((i) + 7)

/* An odd constant for each lane of each sum: a, b, c, e. */
static const uint64_t factors[4][WI_SUM_LANES] = {
    {FACTORS(0)}, {FACTORS(8)}, {FACTORS(16)}, {FACTORS(24)}};

/* Blocks of one piece of what is summed. */
struct span {
    const uint8_t *bytes;
    uint32_t blocks;
};

/* Buffer i as the table has it now. The peer may have changed the table since
 * it was checked: the clamps keep the reads inside the frame. */
static inline struct wi_extent clamped(const uint8_t *mem, uint32_t bytes,
                                       uint32_t i)
{
    struct wi_extent e = wi_table_get(mem, i);
    e.off = wi_min_u32(e.off, bytes) & ~63u;
    e.len = wi_min_u32(e.len, bytes - e.off);
    return e;
}

static inline struct span buffer_span(const struct wi_sum *sum, uint32_t i)
{
    struct wi_extent e = clamped(sum->mem, sum->bytes, i);
    return (struct span){sum->mem + e.off, e.len / 64 + (e.len % 64 != 0)};
}

/* What is known of buffer i already. */
static inline const struct wi_sum_part *part_of(const struct wi_sum *sum,
                                                uint32_t i)
{
    return sum->parts != NULL && i < sum->n_buffers ? sum->parts[i] : NULL;
}

/* How far ahead of the sum memory is prefetched, and how much at a time. The
 * frame lies in another core's cache, and the processor's own prefetcher starts
 * again on each page. */
enum { AHEAD_BYTES = 1024, STEP_BYTES = 4 * WI_SUM_BLOCK_BYTES };

/* Steps begin before this address. Their prefetches end with the frame: what
 * follows belongs to whoever writes it. */
static inline const uint8_t *steps_end(const struct wi_sum *sum,
                                       const uint8_t *p, const uint8_t *end)
{
    uintptr_t stop = (uintptr_t)sum->mem + sum->bytes - AHEAD_BYTES;
    uintptr_t from = (uintptr_t)p;
    uint64_t room = wi_min_u64((uintptr_t)end - from, stop - from);
    if (sum->bytes < AHEAD_BYTES + STEP_BYTES || stop < from ||
        room < STEP_BYTES) {
        return p;
    }
    return p + (room - STEP_BYTES) + 1;
}

/* The lanes combined: the sums a and c, and the sums b and e. */
struct folded {
    uint64_t ac;
    uint64_t be;
};

/* Does nothing, but hides that from the compiler, which would turn the sums of
 * several blocks into trees that need more registers than there are. */
#if WI_X86
#define KEEP_ORDER(a, b, c, e) __asm__("" : "+x"(a), "+x"(b), "+x"(c), "+x"(e))
#else
#define KEEP_ORDER(a, b, c, e) (void)0
#endif

/* Vectors of which two are a line: of smaller ones a pass over the data has
 * parts of lines only. Written around the cache they cost as much as lines. */
enum { WHOLE_PASS = WI_SUM_BLOCK_BYTES / 2 };

/*
 * One function per vector size: `size` bytes hold size / 8 lanes. Each pass
 * over the data takes one or two vectors of a block's lanes, so that their four
 * sums stay in registers on every machine. Where they do not (address
 * sanitizer), GCC 12 takes them for aligned, so they are made so.
 */
#define DEFINE_SUM(name, size, target, stream)                                 \
    typedef uint64_t name##_lanes                                              \
        __attribute__((vector_size(size), aligned(1), may_alias));             \
    struct name##_sums {                                                       \
        name##_lanes a, b, c, e;                                               \
    };                                                                         \
    target static inline void name##_add(                                      \
        struct name##_sums *s, const uint8_t *words, name##_lanes upper)       \
    {                                                                          \
        s->a += *(const name##_lanes *)words;                                  \
        s->b += s->a;                                                          \
        s->c += upper;                                                         \
        s->e += s->c;                                                          \
        KEEP_ORDER(s->a, s->b, s->c, s->e);                                    \
    }                                                                          \
    target static inline void name##_first(struct name##_sums *s,              \
                                           const uint8_t *words)               \
    {                                                                          \
        name##_add(s, words, *(const name##_lanes *)words >> 32);              \
    }                                                                          \
    target static inline void name##_next(struct name##_sums *s,               \
                                          const uint8_t *words)                \
    {                                                                          \
        name##_add(s, words, *(const name##_lanes *)(words - 4));              \
    }                                                                          \
    target static inline void name##_last(struct name##_sums *s,               \
                                          name##_lanes upper)                  \
    {                                                                          \
        s->c += upper;                                                         \
        s->e += s->c;                                                          \
    }                                                                          \
    target static inline void name##_block(                                    \
        struct name##_sums *s0, struct name##_sums *s1, const uint8_t *words)  \
    {                                                                          \
        name##_next(s0, words);                                                \
        if ((size) < WI_SUM_BLOCK_BYTES) {                                     \
            name##_next(s1, words + (size));                                   \
        }                                                                      \
    }                                                                          \
    target static inline void name##_span(                                     \
        struct name##_sums *s0, struct name##_sums *s1, const uint8_t *p,      \
        const uint8_t *last, const uint8_t *end)                               \
    {                                                                          \
        name##_first(s0, p);                                                   \
        if ((size) < WI_SUM_BLOCK_BYTES) {                                     \
            name##_first(s1, p + (size));                                      \
        }                                                                      \
        p += WI_SUM_BLOCK_BYTES;                                               \
        for (; p < last; p += STEP_BYTES) {                                    \
            _Pragma("GCC unroll 4") for (uint32_t i = 0; i < STEP_BYTES;       \
                                         i += WI_SUM_BLOCK_BYTES)              \
            {                                                                  \
                __builtin_prefetch(p + AHEAD_BYTES + i);                       \
                name##_block(s0, s1, p + i);                                   \
            }                                                                  \
        }                                                                      \
        _Pragma("GCC unroll 2") for (; p != end; p += WI_SUM_BLOCK_BYTES)      \
        {                                                                      \
            name##_block(s0, s1, p);                                           \
        }                                                                      \
    }                                                                          \
    target static inline void name##_load(                                     \
        struct name##_sums *s, const struct wi_sum_part *part, uint32_t lane)  \
    {                                                                          \
        s->a = *(const name##_lanes *)&part->sums[0][lane];                    \
        s->b = *(const name##_lanes *)&part->sums[1][lane];                    \
        s->c = *(const name##_lanes *)&part->sums[2][lane];                    \
        s->e = *(const name##_lanes *)&part->sums[3][lane];                    \
    }                                                                          \
    target static inline void name##_store(                                    \
        const struct name##_sums *s, struct wi_sum_part *part, uint32_t lane)  \
    {                                                                          \
        *(name##_lanes *)&part->sums[0][lane] = s->a;                          \
        *(name##_lanes *)&part->sums[1][lane] = s->b;                          \
        *(name##_lanes *)&part->sums[2][lane] = s->c;                          \
        *(name##_lanes *)&part->sums[3][lane] = s->e;                          \
    }                                                                          \
    /* A whole piece after those before it. */                                 \
    target static inline void name##_join(                                     \
        struct name##_sums *s, const struct wi_sum_part *part, uint32_t lane)  \
    {                                                                          \
        const uint64_t n = part->blocks;                                       \
        alignas(size) struct name##_sums more;                                 \
        name##_load(&more, part, lane);                                        \
        s->b += s->a * n + more.b;                                             \
        s->a += more.a;                                                        \
        s->e += s->c * (n + (n > 1)) + more.e;                                 \
        s->c += more.c;                                                        \
    }                                                                          \
    target static inline void name##_move_block(                               \
        struct name##_sums *s, uint8_t *to, const uint8_t *p, bool first)      \
    {                                                                          \
        if (first) {                                                           \
            name##_first(s, p);                                                \
        } else {                                                               \
            name##_next(s, p);                                                 \
        }                                                                      \
        if ((size) >= WHOLE_PASS) {                                            \
            stream(to, *(const name##_lanes *)p);                              \
        }                                                                      \
    }                                                                          \
    target static inline void name##_move_lines(                               \
        uint8_t *to, const uint8_t *from, size_t bytes)                        \
    {                                                                          \
        for (size_t at = 0; at < bytes; at += (size)) {                        \
            stream(to + at, *(const name##_lanes *)(from + at));               \
        }                                                                      \
    }                                                                          \
    target static void name##_move(struct wi_sum_part *part, uint8_t *to,      \
                                   const uint8_t *from, uint32_t blocks)       \
    {                                                                          \
        const uint32_t half = (size) < WI_SUM_BLOCK_BYTES ? (size) / 8 : 0;    \
        const uint32_t step = half != 0 ? 2 * half : (size) / 8;               \
        for (uint32_t l = 0; l < WI_SUM_LANES; l += step) {                    \
            alignas(size) struct name##_sums s0;                               \
            alignas(size) struct name##_sums s1;                               \
            bool first = part->blocks == 0;                                    \
            name##_load(&s0, part, l);                                         \
            name##_load(&s1, part, l + half);                                  \
            for (size_t at = l * 8u; at < (size_t)blocks * 64; at += 64) {     \
                name##_move_block(&s0, to + at, from + at, first);             \
                if (half != 0) {                                               \
                    name##_move_block(&s1, to + at + (size),                   \
                                      from + at + (size), first);              \
                }                                                              \
                first = false;                                                 \
            }                                                                  \
            name##_store(&s0, part, l);                                        \
            if (half != 0) {                                                   \
                name##_store(&s1, part, l + half);                             \
            }                                                                  \
        }                                                                      \
        if ((size) < WHOLE_PASS) {                                             \
            name##_move_lines(to, from, (size_t)blocks * 64);                  \
        }                                                                      \
    }                                                                          \
    target static inline name##_lanes name##_fold(name##_lanes v,              \
                                                  uint32_t sum, uint32_t lane) \
    {                                                                          \
        name##_lanes x = v * *(const name##_lanes *)&factors[sum][lane];       \
        return x ^ (x >> 29);                                                  \
    }                                                                          \
    target static inline void name##_end(                                      \
        struct folded *f, const struct name##_sums *s, uint32_t lane)          \
    {                                                                          \
        name##_lanes ac =                                                      \
            name##_fold(s->a, 0, lane) + name##_fold(s->c, 2, lane);           \
        name##_lanes be =                                                      \
            name##_fold(s->b, 1, lane) + name##_fold(s->e, 3, lane);           \
        for (uint32_t l = 0; l < (size) / 8; l++) {                            \
            f->ac += ac[l];                                                    \
            f->be += be[l];                                                    \
        }                                                                      \
    }                                                                          \
    target static struct folded name(const struct wi_sum *sum)                 \
    {                                                                          \
        const bool two = (size) < WI_SUM_BLOCK_BYTES;                          \
        const uint32_t step = (two ? 2 : 1) * (size) / 8;                      \
        struct folded f = {0, 0};                                              \
        for (uint32_t l = 0; l < WI_SUM_LANES; l += step) {                    \
            alignas(size) struct name##_sums s0 = {{0}, {0}, {0}, {0}};        \
            alignas(size) struct name##_sums s1 = s0;                          \
            struct span s = {sum->lead, sum->lead_blocks};                     \
            for (uint32_t i = 0;; i++) {                                       \
                const uint8_t *p = s.bytes + l * 8;                            \
                const uint8_t *end =                                           \
                    p + (size_t)s.blocks * WI_SUM_BLOCK_BYTES;                 \
                if (s.blocks != 0) {                                           \
                    name##_span(&s0, &s1, p, steps_end(sum, p, end), end);     \
                }                                                              \
                if (s.blocks > 1) {                                            \
                    uint64_t last = l == 0 ? wi_load_u32(end - 4) : 0;         \
                    name##_last(&s0, (name##_lanes){last});                    \
                    name##_last(&s1, (name##_lanes){0});                       \
                }                                                              \
                for (; part_of(sum, i) != NULL; i++) {                         \
                    name##_join(&s0, part_of(sum, i), l);                      \
                    name##_join(&s1, part_of(sum, i),                          \
                                two ? l + (size) / 8 : l);                     \
                }                                                              \
                if (i == sum->n_buffers) {                                     \
                    break;                                                     \
                }                                                              \
                s = buffer_span(sum, i);                                       \
            }                                                                  \
            name##_end(&f, &s0, l);                                            \
            if (two) {                                                         \
                name##_end(&f, &s1, l + (size) / 8);                           \
            }                                                                  \
        }                                                                      \
        return f;                                                              \
    }

#if WI_X86
#define STREAM16(to, v) _mm_stream_si128((void *)(to), (__m128i)(v))
#define STREAM32(to, v) _mm256_stream_si256((void *)(to), (__m256i)(v))
#define STREAM64(to, v) _mm512_stream_si512((void *)(to), (__m512i)(v))
DEFINE_SUM(sum_portable, 16, , STREAM16)
DEFINE_SUM(sum_avx2, 32, WI_TARGET_AVX2, STREAM32)
DEFINE_SUM(sum_avx512, 64, WI_TARGET_AVX512, STREAM64)
#else
#define STORE16(to, v) (*(sum_portable_lanes *)(to) = (v))
DEFINE_SUM(sum_portable, 16, , STORE16)
#endif

static struct folded sum_isa(const struct wi_sum *sum, enum wi_isa isa)
{
    switch (isa) {
#if WI_X86
    case WI_ISA_GATHER:
    case WI_ISA_VBMI2:
    case WI_ISA_AVX512:
        return sum_avx512(sum);
    case WI_ISA_AVX2:
        return sum_avx2(sum);
#endif
    default:
        return sum_portable(sum);
    }
}

void wi_sum_move(struct wi_sum_part *part, uint8_t *to, const uint8_t *from,
                 uint32_t blocks, enum wi_isa isa)
{
    switch (isa) {
#if WI_X86
    case WI_ISA_GATHER:
    case WI_ISA_VBMI2:
    case WI_ISA_AVX512:
        sum_avx512_move(part, to, from, blocks);
        break;
    case WI_ISA_AVX2:
        sum_avx2_move(part, to, from, blocks);
        break;
#endif
    default:
        sum_portable_move(part, to, from, blocks);
        break;
    }
    part->blocks += blocks;
}

void wi_sum_part_end(struct wi_sum_part *part, uint32_t last)
{
    for (uint32_t l = 0; part->blocks > 1 && l < WI_SUM_LANES; l++) {
        part->sums[2][l] += l == 0 ? last : 0;
        part->sums[3][l] += part->sums[2][l];
    }
}

static inline uint64_t mix(uint64_t h)
{
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

static uint64_t finish(struct folded f, uint64_t salt)
{
    uint64_t h = mix(mix(f.ac + salt) + f.be);
    return h == 0 ? 1 : h; /* 0 means no checksum */
}

uint64_t wi_sum_get(const struct wi_sum *sum, enum wi_isa isa, uint64_t salt)
{
    return finish(sum_isa(sum, isa), salt);
}

/* ---- a row or two -------------------------------------------------------- */

/* Words of a span and buffers of a frame that are summed one by one. */
enum { NARROW = 4 };

static inline uint64_t fold_word(uint64_t v, uint32_t sum, uint32_t lane)
{
    uint64_t x = v * factors[sum][lane];
    return x ^ (x >> 29);
}

uint64_t wi_sum_narrow(const uint8_t *mem, uint32_t bytes, uint32_t n_buffers,
                       uint64_t salt)
{
    struct folded f = {0, 0};
    bool more = true;
    if (n_buffers - 1 >= NARROW) {
        return 0;
    }
    for (uint32_t l = 0; more; l++) {
        const uint8_t *lane = mem + (size_t)l * 8;
        uint64_t w = wi_load_u64(lane + WI_TABLE_OFF);
        uint64_t a = w;
        uint64_t b = w;
        uint64_t c = w >> 32;
        uint64_t e = c;
        more = l + 1 < n_buffers;
        for (uint32_t i = 0; i < n_buffers; i++) {
            struct wi_extent at = clamped(mem, bytes, i);
            if (wi_unlikely(at.len > NARROW * 8)) {
                return 0;
            }
            if (at.len != 0) {
                w = wi_load_u64(lane + at.off);
                a += w;
                b += a;
                c += w >> 32;
                e += c;
                more |= at.len > (l + 1) * 8;
            }
        }
        f.ac += fold_word(a, 0, l) + fold_word(c, 2, l);
        f.be += fold_word(b, 1, l) + fold_word(e, 3, l);
    }
    return finish(f, salt);
}
