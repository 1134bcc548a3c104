/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frame checksums: four sums per 64-bit lane, eight lanes.
 *
 * One body in the compiler's vector types, compiled once per instruction set;
 * additions and products modulo 2^64 and shifts are exact, so all give the same
 * sums.
 *
 * Source: J. Fletcher, "An Arithmetic Checksum for Serial Transmissions", IEEE
 * Transactions on Communications, 1982; the finish is the 64-bit mix of
 * S. Vigna's splitmix64 (2015).
 */
#include "core/checksum.h"

#include "core/base/cc.h"
#include "core/frame_table.h"

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

/* Buffer i as the table has it now. A one-sided writer may have changed it
 * since it was checked: the clamps keep the reads inside the frame. */
static inline struct span buffer_span(const struct wi_sum *sum, uint32_t i)
{
    struct wi_extent e = wi_table_get(sum->mem, i);
    uint32_t off = wi_min_u32(e.off, sum->bytes) & ~63u;
    uint32_t len = wi_min_u32(e.len, sum->bytes - off);
    return (struct span){sum->mem + off, len / 64 + (len % 64 != 0)};
}

/* What the lanes come to: the sums a and c, and the sums b and e. */
struct folded {
    uint64_t ac;
    uint64_t be;
};

/*
 * One function per vector size: `size` bytes hold size / 8 lanes, and all is
 * walked once for each such group of lanes, so that its four sums stay in
 * registers whatever the machine.
 */
#define DEFINE_SUM(name, size, target)                                         \
    typedef uint64_t name##_lanes                                              \
        __attribute__((vector_size(size), aligned(1), may_alias));             \
    target static inline name##_lanes name##_fold(name##_lanes v,              \
                                                  const uint64_t *factor)      \
    {                                                                          \
        name##_lanes x = v * *(const name##_lanes *)factor;                    \
        return x ^ (x >> 29);                                                  \
    }                                                                          \
    target static struct folded name(const struct wi_sum *sum)                 \
    {                                                                          \
        name##_lanes ac = {0};                                                 \
        name##_lanes be = {0};                                                 \
        for (uint32_t l = 0; l < WI_SUM_LANES; l += (size) / 8) {              \
            name##_lanes a = {0};                                              \
            name##_lanes b = {0};                                              \
            name##_lanes c = {0};                                              \
            name##_lanes e = {0};                                              \
            struct span s = {sum->lead, sum->lead_blocks};                     \
            for (uint32_t i = 0;; i++) {                                       \
                const uint8_t *p = s.bytes + l * 8;                            \
                for (uint32_t k = 0; k < s.blocks; k++) {                      \
                    name##_lanes w = *(const name##_lanes *)p;                 \
                    a += w;                                                    \
                    c += w >> 32;                                              \
                    b += a;                                                    \
                    e += c;                                                    \
                    p += WI_SUM_BLOCK_BYTES;                                   \
                }                                                              \
                if (i == sum->n_buffers) {                                     \
                    break;                                                     \
                }                                                              \
                s = buffer_span(sum, i);                                       \
            }                                                                  \
            ac += name##_fold(a, &factors[0][l]) +                             \
                  name##_fold(c, &factors[2][l]);                              \
            be += name##_fold(b, &factors[1][l]) +                             \
                  name##_fold(e, &factors[3][l]);                              \
        }                                                                      \
        struct folded f = {0, 0};                                              \
        for (uint32_t l = 0; l < (size) / 8; l++) {                            \
            f.ac += ac[l];                                                     \
            f.be += be[l];                                                     \
        }                                                                      \
        return f;                                                              \
    }

DEFINE_SUM(sum_scalar, 16, )
#if WI_X86
DEFINE_SUM(sum_avx2, 32, WI_TARGET_AVX2)
DEFINE_SUM(sum_avx512, 64, WI_TARGET_AVX512)
#endif

static struct folded sum_isa(const struct wi_sum *sum, enum wi_isa isa)
{
    switch (isa) {
#if WI_X86
    case WI_ISA_VBMI2:
    case WI_ISA_AVX512:
        return sum_avx512(sum);
    case WI_ISA_AVX2:
        return sum_avx2(sum);
#endif
    default:
        return sum_scalar(sum);
    }
}

static inline uint64_t mix(uint64_t h)
{
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

uint64_t wi_sum_get(const struct wi_sum *sum, enum wi_isa isa, uint64_t salt)
{
    struct folded f = sum_isa(sum, isa);
    uint64_t h = mix(mix(f.ac + salt) + f.be);
    return h == 0 ? 1 : h; /* 0 says that there is no checksum */
}
