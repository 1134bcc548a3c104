/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX2 forms of the partitioner's hashes and lists; see partition_impl.h for
 * what they compute. Results equal the scalar forms bit for bit.
 *
 * AVX2 multiplies 32 bits at a time. For x = 2^32 xh + xl and a constant k,
 *
 *   x * k = xl * kl + 2^32 (xh * kl + xl * kh)   modulo 2^64
 *
 * one product of 64 bits and two of 32. Of eight words the upper and the lower
 * halves lie in a vector each, so that one instruction makes eight products of
 * 32. With whole words in lanes of 64 bits a hash took 1.25 times as long (AMD
 * EPYC, Zen 5).
 */
#include "core/partition/partition_avx2.h"

#if WI_X86

#include <immintrin.h>

#include "core/base/bytes.h"
#include "core/partition/partition_vec128.h"

/* Constants, in each 32 bits; of k0 in each 64. */
struct keys8 {
    __m256i k0;
    __m256i n_dest;
    __m256i odd_low;
    __m256i odd_high;
    __m256i k1_low;
    __m256i k1_high;
};

static inline WI_TARGET_AVX2 struct keys8 keys_of(uint64_t k0, uint64_t k1,
                                                  uint32_t n_dest)
{
    return (struct keys8){
        .k0 = _mm256_set1_epi64x((long long)k0),
        .n_dest = _mm256_set1_epi32((int)n_dest),
        .odd_low = _mm256_set1_epi32((int)(uint32_t)WI_HASH_ODD),
        .odd_high = _mm256_set1_epi32((int)(WI_HASH_ODD >> 32)),
        .k1_low = _mm256_set1_epi32((int)(uint32_t)k1),
        .k1_high = _mm256_set1_epi32((int)(k1 >> 32))};
}

/* The upper halves of both: 0 1 4 5 | 2 3 6 7. */
static inline WI_TARGET_AVX2 __m256i uppers8(__m256i a, __m256i b)
{
    return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a),
                                                 _mm256_castsi256_ps(b), 0xdd));
}

/* The lower halves, in the same order. */
static inline WI_TARGET_AVX2 __m256i lowers8(__m256i a, __m256i b)
{
    return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a),
                                                 _mm256_castsi256_ps(b), 0x88));
}

/* The upper halves of the products of 32 bits. */
static inline WI_TARGET_AVX2 __m256i mulhi8(__m256i a, __m256i b)
{
    __m256i even = _mm256_mul_epu32(a, b);
    __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), b);
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
}

/* What the upper half of a product has from the halves across. */
static inline WI_TARGET_AVX2 __m256i cross8(__m256i low, __m256i high,
                                            __m256i k_low, __m256i k_high)
{
    return _mm256_add_epi32(_mm256_mullo_epi32(high, k_low),
                            _mm256_mullo_epi32(low, k_high));
}

/* y ^ (y >> 29) of four keys. */
static inline WI_TARGET_AVX2 __m256i fold4(const uint64_t *keys, __m256i k0)
{
    __m256i y = _mm256_xor_si256(_mm256_loadu_si256((const void *)keys), k0);
    return _mm256_xor_si256(y, _mm256_srli_epi64(y, 29));
}

/* Destinations of eight keys, in the order of uppers8(). Of the second product
 * only the upper half is needed. */
static inline WI_TARGET_AVX2 __m256i dest8(const uint64_t *keys,
                                           const struct keys8 *c)
{
    __m256i a = fold4(keys, c->k0);
    __m256i b = fold4(keys + 4, c->k0);
    __m256i product_a = _mm256_mul_epu32(a, c->odd_low);
    __m256i product_b = _mm256_mul_epu32(b, c->odd_low);
    __m256i high = _mm256_add_epi32(
        uppers8(product_a, product_b),
        cross8(lowers8(a, b), uppers8(a, b), c->odd_low, c->odd_high));
    __m256i low = _mm256_xor_si256(lowers8(product_a, product_b), high);
    __m256i hash = _mm256_add_epi32(mulhi8(low, c->k1_low),
                                    cross8(low, high, c->k1_low, c->k1_high));
    return mulhi8(hash, c->n_dest);
}

/* Sixteen destinations: pairs in the order 0 2 4 6 | 1 3 5 7. */
static inline WI_TARGET_AVX2 __m256i dest16(const uint64_t *keys,
                                            const struct keys8 *c)
{
    return _mm256_packus_epi32(dest8(keys, c), dest8(keys + 8, c));
}

WI_TARGET_AVX2
void wi_hash_keys_avx2(const void *keys, uint32_t n, uint64_t k0, uint64_t k1,
                       uint32_t n_dest, uint16_t *dest_out)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const struct keys8 c = keys_of(k0, k1, n_dest);
    const uint64_t *key = keys;
    uint32_t i = 0;

    for (; i + 16 <= n; i += 16) {
        __m256i dest = _mm256_permutevar8x32_epi32(dest16(key + i, &c), order);
        _mm256_storeu_si256((void *)(dest_out + i), dest);
    }
    for (; i < n; i++) {
        uint64_t h = wi_load_u64((const uint8_t *)keys + (size_t)i * 8);
        dest_out[i] = wi_hash_dest(wi_hash_word(h, k0, k1), n_dest);
    }
}

/* ---- lists --------------------------------------------------------------- */

enum { LIST_BLOCK = 32, NO_DEST = 0xff };

/* Destinations as bytes, NO_DEST up to a whole block. */
static WI_TARGET_AVX2 void narrow(const uint16_t *dest, uint32_t n,
                                  uint8_t *bytes_out)
{
    uint32_t i = 0;
    for (; i + LIST_BLOCK <= n; i += LIST_BLOCK) {
        __m256i a = _mm256_loadu_si256((const void *)(dest + i));
        __m256i b = _mm256_loadu_si256((const void *)(dest + i + 16));
        __m256i both = _mm256_packus_epi16(a, b);
        _mm256_storeu_si256((void *)(bytes_out + i),
                            _mm256_permute4x64_epi64(both, 0xd8));
    }
    for (; i < n; i++) {
        bytes_out[i] = (uint8_t)dest[i];
    }
    for (; i % LIST_BLOCK != 0; i++) {
        bytes_out[i] = NO_DEST;
    }
}

/* Numbers of the rows under a mask of eight. All eight places are written: what
 * is too many is overwritten by the next or lies in the list's spare end. */
static inline WI_TARGET_AVX2 void append8(uint32_t *list, uint32_t mask,
                                          __m256i base)
{
    __m128i some = _mm_loadl_epi64((const void *)&wi_bit_numbers[mask]);
    __m256i rows = _mm256_add_epi32(base, _mm256_cvtepu8_epi32(some));
    _mm256_storeu_si256((void *)list, rows);
}

/* Rows whose byte is d, to list; its end. Where each eight go is counted from
 * the same mask, so that no store waits for the one before it. */
static WI_TARGET_AVX2 uint32_t *list_of(const uint8_t *bytes, uint32_t n,
                                        uint32_t d, uint32_t first,
                                        uint32_t *list)
{
    const __m256i want = _mm256_set1_epi8((char)d);
    const __m256i eight = _mm256_set1_epi32(8);
    __m256i base0 = _mm256_set1_epi32((int)first);
    for (uint32_t i = 0; i < n; i += LIST_BLOCK) {
        __m256i base1 = _mm256_add_epi32(base0, eight);
        __m256i base2 = _mm256_add_epi32(base1, eight);
        __m256i base3 = _mm256_add_epi32(base2, eight);
        __m256i block = _mm256_loadu_si256((const void *)(bytes + i));
        uint32_t m =
            (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(block, want));
        append8(list, m & 0xff, base0);
        append8(list + __builtin_popcount(m & 0xff), m >> 8 & 0xff, base1);
        append8(list + __builtin_popcount(m & 0xffff), m >> 16 & 0xff, base2);
        append8(list + __builtin_popcount(m & 0xffffff), m >> 24, base3);
        list += __builtin_popcount(m);
        base0 = _mm256_add_epi32(base3, eight);
    }
    return list;
}

static WI_TARGET_AVX2 void lists_of(const uint8_t *bytes, uint32_t first,
                                    uint32_t n, uint32_t n_dest,
                                    uint32_t *idx_out, uint32_t *count_out)
{
    for (uint32_t d = 0; d < n_dest; d++) {
        uint32_t *list = idx_out + d * WI_LIST_STRIDE;
        uint32_t *end = list_of(bytes, n, d, first, list);
        count_out[d] = (uint32_t)(end - list);
    }
}

WI_TARGET_AVX2
void wi_lists_avx2(struct wi_partition *p, uint32_t first, uint32_t n)
{
    const uint16_t *dest = p->dest;
    uint8_t bytes[WI_SPLIT_ROWS];
    narrow(dest, n, bytes);
    lists_of(bytes, first, n, p->n_dest, p->idx, p->count);
}

WI_TARGET_AVX2
void wi_hash_lists_avx2(const void *keys, const struct wi_hash_lists *in,
                        uint32_t *idx_out, uint32_t *count_out)
{
    /* Pairs of 16 destinations as packing leaves them, in order. */
    const __m256i order =
        _mm256_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15,
                         0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
    const struct keys8 c = keys_of(in->k0, in->k1, in->n_dest);
    const uint64_t *key = keys;
    uint8_t bytes[WI_SPLIT_ROWS];
    uint32_t i = 0;
    for (; i + LIST_BLOCK <= in->n; i += LIST_BLOCK) {
        __m256i all =
            _mm256_packus_epi16(dest16(key + i, &c), dest16(key + i + 16, &c));
        all = _mm256_shuffle_epi8(_mm256_permute4x64_epi64(all, 0xd8), order);
        _mm256_storeu_si256((void *)(bytes + i), all);
    }
    for (; i < in->n; i++) {
        uint64_t h = wi_load_u64((const uint8_t *)keys + (size_t)i * 8);
        h = wi_hash_word(h, in->k0, in->k1);
        bytes[i] = (uint8_t)wi_hash_dest(h, in->n_dest);
    }
    for (; i % LIST_BLOCK != 0; i++) {
        bytes[i] = NO_DEST;
    }
    lists_of(bytes, in->first, in->n, in->n_dest, idx_out, count_out);
}

#endif /* WI_X86 */
