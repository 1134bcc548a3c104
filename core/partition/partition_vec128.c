/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The partitioner's hashes and lists in vectors of 128 bits; see
 * partition_impl.h for what they compute. Results equal the scalar forms bit
 * for bit.
 *
 * For x = 2^32 xh + xl and a constant k,
 *
 *   x * k = xl * kl + 2^32 (xh * kl + xl * kh)   modulo 2^64
 *
 * SSE2 has products of 64 bits from the lower halves of two words, and none of
 * 32, so words stay whole. NEON has products of 32 bits of four lanes at a
 * time, too, and loads that take halves apart.
 */
#include "core/partition/partition_vec128.h"

#if WI_X86
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "core/base/bytes.h"

typedef uint8_t u8x16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint16_t u16x8 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint32_t u32x4 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t u64x2 __attribute__((vector_size(16), aligned(1), may_alias));

/* ---- hashes -------------------------------------------------------------- */

#if WI_X86

/* Halves of constants, in each 64 bits; k0 is whole. */
struct keys {
    u64x2 k0;
    u64x2 odd_low;
    u64x2 odd_high;
    u64x2 k1_low;
    u64x2 k1_high;
    u64x2 n_dest;
};

static inline struct keys keys_of(uint64_t k0, uint64_t k1, uint32_t n_dest)
{
    const u64x2 ones = {1, 1};
    return (struct keys){.k0 = ones * k0,
                         .odd_low = ones * (uint32_t)WI_HASH_ODD,
                         .odd_high = ones * (WI_HASH_ODD >> 32),
                         .k1_low = ones * (uint32_t)k1,
                         .k1_high = ones * (k1 >> 32),
                         .n_dest = ones * n_dest};
}

/* Products of the lower halves. */
static inline u64x2 product(u64x2 a, u64x2 b)
{
    return (u64x2)_mm_mul_epu32((__m128i)a, (__m128i)b);
}

/* Destinations of two keys, in the upper halves. Of the second product only the
 * upper half is needed. */
static inline u64x2 dest2(const uint8_t *keys, const struct keys *c)
{
    u64x2 y = *(const u64x2 *)keys ^ c->k0;
    y ^= y >> 29;
    u64x2 cross = product(y >> 32, c->odd_low) + product(y, c->odd_high);
    u64x2 x = product(y, c->odd_low) + (cross << 32);
    u64x2 high = x >> 32;
    u64x2 low = x ^ high;
    cross = product(high, c->k1_low) + product(low, c->k1_high);
    return product((product(low, c->k1_low) >> 32) + cross, c->n_dest);
}

/* Destinations of four hashes. */
static inline u32x4 reduce4(const uint8_t *hashes, uint32_t n_dest)
{
    const u64x2 n = (u64x2){1, 1} * n_dest;
    u64x2 a = product(*(const u64x2 *)hashes >> 32, n);
    u64x2 b = product(*(const u64x2 *)(hashes + 16) >> 32, n);
    return __builtin_shufflevector((u32x4)a, (u32x4)b, 1, 3, 5, 7);
}

static inline u32x4 dest4(const uint8_t *keys, const struct keys *c)
{
    return __builtin_shufflevector((u32x4)dest2(keys, c),
                                   (u32x4)dest2(keys + 16, c), 1, 3, 5, 7);
}

#elif defined(__aarch64__)

/* Halves of constants, in each 32 bits. */
struct keys {
    u32x4 k0_low;
    u32x4 k0_high;
    u32x4 odd_low;
    u32x4 odd_high;
    u32x4 k1_low;
    u32x4 k1_high;
    u32x4 n_dest;
};

static inline struct keys keys_of(uint64_t k0, uint64_t k1, uint32_t n_dest)
{
    const u32x4 ones = {1, 1, 1, 1};
    return (struct keys){.k0_low = ones * (uint32_t)k0,
                         .k0_high = ones * (uint32_t)(k0 >> 32),
                         .odd_low = ones * (uint32_t)WI_HASH_ODD,
                         .odd_high = ones * (uint32_t)(WI_HASH_ODD >> 32),
                         .k1_low = ones * (uint32_t)k1,
                         .k1_high = ones * (uint32_t)(k1 >> 32),
                         .n_dest = ones * n_dest};
}

/* Products of 64 bits: their lower halves, and their upper ones. */
static inline uint32x4x2_t products(u32x4 a, u32x4 b)
{
    uint64x2_t lower =
        vmull_u32(vget_low_u32((uint32x4_t)a), vget_low_u32((uint32x4_t)b));
    uint64x2_t upper = vmull_high_u32((uint32x4_t)a, (uint32x4_t)b);
    return vuzpq_u32(vreinterpretq_u32_u64(lower),
                     vreinterpretq_u32_u64(upper));
}

/* Destinations of four hashes. */
static inline u32x4 reduce4(const uint8_t *hashes, uint32_t n_dest)
{
    const u32x4 n = (u32x4){1, 1, 1, 1} * n_dest;
    uint32x4x2_t hash = vld2q_u32((const void *)hashes);
    return (u32x4)products((u32x4)hash.val[1], n).val[1];
}

/* Destinations of four keys. Of the second product only the upper half is
 * needed. */
static inline u32x4 dest4(const uint8_t *keys, const struct keys *c)
{
    uint32x4x2_t key = vld2q_u32((const void *)keys);
    u32x4 low = (u32x4)key.val[0] ^ c->k0_low;
    u32x4 high = (u32x4)key.val[1] ^ c->k0_high;
    low ^= low >> 29 | high << 3;
    high ^= high >> 29;
    uint32x4x2_t x = products(low, c->odd_low);
    high = (u32x4)x.val[1] + high * c->odd_low + low * c->odd_high;
    low = (u32x4)x.val[0] ^ high;
    u32x4 hash = (u32x4)products(low, c->k1_low).val[1] + high * c->k1_low +
                 low * c->k1_high;
    return (u32x4)products(hash, c->n_dest).val[1];
}

#endif

#if WI_VEC128_HASH

static inline void store8(uint16_t *dest, u32x4 a, u32x4 b)
{
    *(u16x8 *)dest =
        __builtin_shufflevector((u16x8)a, (u16x8)b, 0, 2, 4, 6, 8, 10, 12, 14);
}

void wi_hash_reduce_vec128(const uint64_t *hashes, uint32_t n, uint32_t n_dest,
                           uint16_t *dest_out)
{
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const uint8_t *eight = (const void *)(hashes + i);
        store8(dest_out + i, reduce4(eight, n_dest),
               reduce4(eight + 32, n_dest));
    }
    for (; i < n; i++) {
        dest_out[i] = wi_hash_dest(hashes[i], n_dest);
    }
}

void wi_hash_keys_vec128(const void *keys, uint32_t n, uint64_t k0, uint64_t k1,
                         uint32_t n_dest, uint16_t *dest_out)
{
    const struct keys c = keys_of(k0, k1, n_dest);
    const uint8_t *key = keys;
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8, key += 64) {
        store8(dest_out + i, dest4(key, &c), dest4(key + 32, &c));
    }
    for (; i < n; i++, key += 8) {
        uint64_t h = wi_hash_word(wi_load_u64(key), k0, k1);
        dest_out[i] = wi_hash_dest(h, n_dest);
    }
}

#endif

/* ---- lists --------------------------------------------------------------- */

#define BIT_NUMBER(m, below, b)                                                \
    ((uint64_t)((m) >> (b)&1) * (b) << (8 * __builtin_popcount((m) & (below))))
#define BITS1(m)                                                               \
    (BIT_NUMBER(m, 1, 1) | BIT_NUMBER(m, 3, 2) | BIT_NUMBER(m, 7, 3) |         \
     BIT_NUMBER(m, 15, 4) | BIT_NUMBER(m, 31, 5) | BIT_NUMBER(m, 63, 6) |      \
     BIT_NUMBER(m, 127, 7))
#define COUNT1(m) __builtin_popcount(m)
#define OF4(f, m) f(m), f((m) + 1), f((m) + 2), f((m) + 3)
#define OF16(f, m) OF4(f, m), OF4(f, (m) + 4), OF4(f, (m) + 8), OF4(f, (m) + 12)
#define OF64(f, m)                                                             \
    OF16(f, m), OF16(f, (m) + 16), OF16(f, (m) + 32), OF16(f, (m) + 48)
#define OF256(f) OF64(f, 0), OF64(f, 64), OF64(f, 128), OF64(f, 192)

const uint64_t wi_bit_numbers[256] = {OF256(BITS1)};
static const uint8_t bit_counts[256] = {OF256(COUNT1)};

enum { LIST_BLOCK = 16, NO_DEST = 0xff };

/* Destinations as bytes, NO_DEST up to a whole block. */
static void narrow(const uint16_t *dest, uint32_t n, uint8_t *bytes_out)
{
    uint32_t i = 0;
    for (; i + LIST_BLOCK <= n; i += LIST_BLOCK) {
        u8x16 a = *(const u8x16 *)(dest + i);
        u8x16 b = *(const u8x16 *)(dest + i + 8);
        *(u8x16 *)(bytes_out + i) = __builtin_shufflevector(
            a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    }
    for (; i < n; i++) {
        bytes_out[i] = (uint8_t)dest[i];
    }
    for (; i % LIST_BLOCK != 0; i++) {
        bytes_out[i] = NO_DEST;
    }
}

/* A bit for each byte, which is all ones or zeros. */
static inline uint32_t mask_of(u8x16 bytes)
{
#if WI_X86
    return (uint32_t)_mm_movemask_epi8((__m128i)bytes);
#else
    /* A bit of each byte, another one in each; their sum is the upper byte. */
    u64x2 bits = (u64x2)bytes & (uint64_t)0x8040201008040201u;
    uint64_t low = bits[0] * 0x0101010101010101u >> 56;
    uint64_t high = bits[1] * 0x0101010101010101u >> 56;
    return (uint32_t)(low | high << 8);
#endif
}

/* The rows of a mask of eight, counted from the split's first. All eight places
 * are written; the surplus is overwritten by the next. */
static inline uint16_t *append8(uint16_t *list, uint32_t mask, u16x8 base)
{
    const u8x16 zeros = {0};
    u8x16 some = (u8x16)(u64x2){wi_bit_numbers[mask]};
    u16x8 rows = (u16x8)__builtin_shufflevector(
        some, zeros, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    *(u16x8 *)list = rows + base;
    return list + bit_counts[mask];
}

/* Rows whose byte is d. Returns how many. */
static uint32_t rows_of(const uint8_t *bytes, uint32_t n, uint32_t d,
                        uint16_t *rows_out)
{
    const u8x16 want = (u8x16){0} + (uint8_t)d;
    const u16x8 eight = (u16x8){0} + (uint16_t)8;
    uint16_t *list = rows_out;
    u16x8 base = {0};
    for (uint32_t i = 0; i < n; i += LIST_BLOCK) {
        u8x16 block = *(const u8x16 *)(bytes + i);
        uint32_t mask = mask_of((u8x16)(block == want));
        list = append8(list, mask & 0xff, base);
        base += eight;
        list = append8(list, mask >> 8, base);
        base += eight;
    }
    return (uint32_t)(list - rows_out);
}

/* Row numbers of 32 bits; up to seven more are written. */
static void widen(const uint16_t *rows, uint32_t n, uint32_t first,
                  uint32_t *idx_out)
{
    const u16x8 zeros = {0};
    for (uint32_t i = 0; i < n; i += 8) {
        u16x8 some = *(const u16x8 *)(rows + i);
        u32x4 a = (u32x4)__builtin_shufflevector(some, zeros, 0, 8, 1, 9, 2, 10,
                                                 3, 11);
        u32x4 b = (u32x4)__builtin_shufflevector(some, zeros, 4, 12, 5, 13, 6,
                                                 14, 7, 15);
        *(u32x4 *)(idx_out + i) = a + first;
        *(u32x4 *)(idx_out + i + 4) = b + first;
    }
}

/* Without an instruction that counts bits or shuffles bytes, half the work of a
 * mask is to put the rows' numbers in their places: of 16 bits it is less. */
void wi_lists_vec128(struct wi_partition *p, uint32_t first, uint32_t n)
{
    uint8_t bytes[WI_SPLIT_ROWS];
    uint16_t rows[WI_SPLIT_ROWS + 8];
    narrow(p->dest, n, bytes);
    for (uint32_t d = 0; d < p->n_dest; d++) {
        p->count[d] = rows_of(bytes, n, d, rows);
        widen(rows, p->count[d], first, p->idx + d * WI_LIST_STRIDE);
    }
}
