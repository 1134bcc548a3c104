/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frame checksums: four sums per 64-bit lane, eight lanes.
 *
 * One body in the compiler's vector types, compiled once per instruction set;
 * additions modulo 2^64 and shifts are exact, so all give the same sums.
 *
 * Source: J. Fletcher, "An Arithmetic Checksum for Serial Transmissions", IEEE
 * Transactions on Communications, 1982; the finish is the 64-bit mix of
 * S. Vigna's splitmix64 (2015).
 */
#include "core/checksum.h"

#include <string.h>

/* The words of a block in the machine's order. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "frames are little endian and are used in place"
#endif

/*
 * One function per vector size: `size` bytes hold size / 8 lanes, and the
 * blocks are walked once for each such group of lanes, so that its four sums
 * stay in registers whatever the machine.
 */
#define DEFINE_ADD_BLOCKS(name, size, target)                                  \
    typedef uint64_t name##_lanes                                              \
        __attribute__((vector_size(size), aligned(1), may_alias));             \
    target static void name(struct wi_sum *sum, const uint8_t *bytes,          \
                            size_t n_blocks)                                   \
    {                                                                          \
        for (size_t l = 0; l < WI_SUM_LANES; l += (size) / 8) {                \
            name##_lanes a = *(name##_lanes *)&sum->a[l];                      \
            name##_lanes b = *(name##_lanes *)&sum->b[l];                      \
            name##_lanes c = *(name##_lanes *)&sum->c[l];                      \
            name##_lanes e = *(name##_lanes *)&sum->e[l];                      \
            const uint8_t *p = bytes + l * 8;                                  \
            for (size_t i = 0; i < n_blocks; i++) {                            \
                name##_lanes w = *(const name##_lanes *)p;                     \
                a += w;                                                        \
                c += w >> 32;                                                  \
                b += a;                                                        \
                e += c;                                                        \
                p += WI_SUM_BLOCK_BYTES;                                       \
            }                                                                  \
            *(name##_lanes *)&sum->a[l] = a;                                   \
            *(name##_lanes *)&sum->b[l] = b;                                   \
            *(name##_lanes *)&sum->c[l] = c;                                   \
            *(name##_lanes *)&sum->e[l] = e;                                   \
        }                                                                      \
    }

DEFINE_ADD_BLOCKS(add_blocks_scalar, 16, )
#if WI_X86
DEFINE_ADD_BLOCKS(add_blocks_avx2, 32, WI_TARGET_AVX2)
DEFINE_ADD_BLOCKS(add_blocks_avx512, 64, WI_TARGET_AVX512)
#endif

static void add_blocks_isa(struct wi_sum *sum, const uint8_t *bytes,
                           size_t n_blocks)
{
    switch (sum->isa) {
#if WI_X86
    case WI_ISA_AVX512:
        add_blocks_avx512(sum, bytes, n_blocks);
        break;
    case WI_ISA_AVX2:
        add_blocks_avx2(sum, bytes, n_blocks);
        break;
#endif
    default:
        add_blocks_scalar(sum, bytes, n_blocks);
        break;
    }
}

void wi_sum_init(struct wi_sum *sum, enum wi_isa isa)
{
    memset(sum, 0, sizeof(*sum));
    sum->isa = isa;
}

void wi_sum_add(struct wi_sum *sum, const void *bytes, size_t n)
{
    size_t whole = n / WI_SUM_BLOCK_BYTES;
    size_t rest = n % WI_SUM_BLOCK_BYTES;
    const uint8_t *p = bytes;

    if (whole > 0) {
        add_blocks_isa(sum, p, whole);
    }
    if (rest > 0) {
        uint8_t last[WI_SUM_BLOCK_BYTES] = {0};
        memcpy(last, p + whole * WI_SUM_BLOCK_BYTES, rest);
        add_blocks_isa(sum, last, 1);
    }
}

static inline uint64_t mix(uint64_t h)
{
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

/* Each sum times an odd constant of its own, so that lanes cannot change places;
 * none waits for another. `first` numbers the lanes over all four sums. */
static inline uint64_t fold(const uint64_t *sums, uint64_t first)
{
    uint64_t h = 0;
    for (uint64_t l = 0; l < WI_SUM_LANES; l++) {
        uint64_t x = sums[l] * (0x9e3779b97f4a7c15u * (2 * (first + l) + 1));
        h += x ^ (x >> 29);
    }
    return h;
}

uint64_t wi_sum_get(const struct wi_sum *sum, uint64_t salt)
{
    uint64_t a = fold(sum->a, 0);
    uint64_t b = fold(sum->b, WI_SUM_LANES);
    uint64_t c = fold(sum->c, 2 * WI_SUM_LANES);
    uint64_t e = fold(sum->e, 3 * WI_SUM_LANES);
    uint64_t h = mix(mix(a + c + salt) + b + e);
    return h == 0 ? 1 : h; /* 0 says that there is no checksum */
}
