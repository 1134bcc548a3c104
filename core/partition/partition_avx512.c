/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX-512 forms of the partitioner's loops; see partition_impl.h for what they
 * compute. Results equal the scalar forms bit for bit.
 */
#include "core/partition/partition_avx512.h"

#if WI_X86

#include "core/base/bytes.h"
#include "core/partition/partition_lanes.h"

/* Eight destinations as u16. */
static inline WI_TARGET_AVX512 __m128i dest8(__m512i h, __m512i n_dest)
{
    __m512i scaled = wi_scale8(h, n_dest);
    return _mm512_cvtepi64_epi16(_mm512_srli_epi64(scaled, 32));
}

/* Sixteen destinations as u32: upper halves of both, in order. */
static inline WI_TARGET_AVX512 __m512i join16(__m512i h0, __m512i h1,
                                              __m512i n_dest)
{
    const __m512i odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13,
                                         11, 9, 7, 5, 3, 1);
    return _mm512_permutex2var_epi32(wi_scale8(h0, n_dest), odd,
                                     wi_scale8(h1, n_dest));
}

WI_TARGET_AVX512
void wi_hash_keys_avx512(const void *keys, uint32_t n, uint64_t k0, uint64_t k1,
                         uint32_t n_dest, uint16_t *dest_out)
{
    const uint64_t *key = keys;
    __m512i key0 = _mm512_set1_epi64((long long)k0);
    __m512i key1 = _mm512_set1_epi64((long long)k1);
    __m512i dests = _mm512_set1_epi64((long long)n_dest);
    uint32_t i = 0;

    for (; i + 16 <= n; i += 16) {
        __m512i a = wi_hash8(_mm512_loadu_si512(key + i), key0, key1);
        __m512i b = wi_hash8(_mm512_loadu_si512(key + i + 8), key0, key1);
        _mm256_storeu_si256((void *)(dest_out + i),
                            _mm512_cvtepi32_epi16(join16(a, b, dests)));
    }
    for (; i < n; i += 8) {
        uint32_t left = n - i;
        __mmask8 m = (__mmask8)(left >= 8 ? 0xff : (1u << left) - 1);
        __m512i a = wi_hash8(_mm512_maskz_loadu_epi64(m, key + i), key0, key1);
        _mm_mask_storeu_epi16(dest_out + i, m, dest8(a, dests));
    }
}

WI_TARGET_AVX512
void wi_hash_words_avx512(const uint64_t *words, uint64_t *hashes, uint32_t n,
                          uint64_t k0, uint64_t k1)
{
    __m512i key0 = _mm512_set1_epi64((long long)k0);
    __m512i key1 = _mm512_set1_epi64((long long)k1);

    for (uint32_t i = 0; i < n; i += 8) {
        uint32_t left = n - i;
        __mmask8 m = (__mmask8)(left >= 8 ? 0xff : (1u << left) - 1);
        __m512i w = _mm512_maskz_loadu_epi64(m, words + i);
        __m512i h = _mm512_maskz_loadu_epi64(m, hashes + i);
        h = wi_hash8(_mm512_xor_si512(w, h), key0, key1);
        _mm512_mask_storeu_epi64(hashes + i, m, h);
    }
}

WI_TARGET_AVX512
void wi_hash_reduce_avx512(const uint64_t *hashes, uint32_t n, uint32_t n_dest,
                           uint16_t *dest_out)
{
    __m512i dests = _mm512_set1_epi64((long long)n_dest);

    for (uint32_t i = 0; i < n; i += 8) {
        uint32_t left = n - i;
        __mmask8 m = (__mmask8)(left >= 8 ? 0xff : (1u << left) - 1);
        __m512i h = _mm512_maskz_loadu_epi64(m, hashes + i);
        _mm_mask_storeu_epi16(dest_out + i, m, dest8(h, dests));
    }
}

/* Row numbers of a block of 32 and their destinations, as two vectors each. */
struct block32 {
    __m512i rows[2];
    __m512i dest[2];
};

static const uint32_t dest_numbers[WI_LISTS_WORDS] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* Append the row numbers under mask. 16 are written; the surplus is overwritten
 * by the next call or lies in the list's spare end. */
static inline WI_TARGET_AVX512 uint32_t *
compress16(uint32_t *list, __mmask16 mask, __m512i rows)
{
    _mm512_storeu_si512(list, _mm512_maskz_compress_epi32(mask, rows));
    return list + __builtin_popcount((uint32_t)mask);
}

static inline WI_TARGET_AVX512 void append32(const struct block32 *b,
                                             __mmask16 in0, __mmask16 in1,
                                             uint32_t n_dest, uint32_t **list)
{
    for (uint32_t d = 0; d < n_dest; d++) {
        __m512i want = _mm512_set1_epi32((int)dest_numbers[d]);
        __mmask16 m0 = _mm512_mask_cmpeq_epi32_mask(in0, b->dest[0], want);
        __mmask16 m1 = _mm512_mask_cmpeq_epi32_mask(in1, b->dest[1], want);
        uint32_t *at = compress16(list[d], m0, b->rows[0]);
        list[d] = compress16(at, m1, b->rows[1]);
    }
}

static inline WI_TARGET_AVX512 void number_rows(struct block32 *b,
                                                uint32_t first)
{
    const __m512i iota =
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    b->rows[0] = _mm512_add_epi32(iota, _mm512_set1_epi32((int)first));
    b->rows[1] = _mm512_add_epi32(b->rows[0], _mm512_set1_epi32(16));
}

static inline __mmask16 low16(uint32_t n)
{
    return (__mmask16)(n >= 16 ? 0xffff : (1u << n) - 1);
}

WI_TARGET_AVX512
void wi_lists_avx512(struct wi_partition *p, uint32_t first, uint32_t n)
{
    const uint16_t *dest = p->dest;
    uint32_t *list[WI_LISTS_WORDS];
    struct block32 b;

    wi_lists_begin(p->idx, p->n_dest, list);
    for (uint32_t i = 0; i < n; i += 32) {
        __mmask16 in0 = low16(n - i);
        __mmask16 in1 = n - i > 16 ? low16(n - i - 16) : 0;
        number_rows(&b, first + i);
        b.dest[0] =
            _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(in0, dest + i));
        b.dest[1] =
            _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(in1, dest + i + 16));
        append32(&b, in0, in1, p->n_dest, list);
    }
    wi_lists_end(p->idx, p->n_dest, list, p->count);
}

/* Sixteen destinations from keys. */
static inline WI_TARGET_AVX512 __m512i hash16(const uint64_t *keys, __m512i k0,
                                              __m512i k1, __m512i n_dest)
{
    __m512i a = wi_hash8(_mm512_loadu_si512(keys), k0, k1);
    __m512i b = wi_hash8(_mm512_loadu_si512(keys + 8), k0, k1);
    return join16(a, b, n_dest);
}

WI_TARGET_AVX512
void wi_hash_lists_avx512(const void *keys, const struct wi_hash_lists *in,
                          uint32_t *idx_out, uint32_t *count_out)
{
    const uint64_t *key = keys;
    __m512i k0 = _mm512_set1_epi64((long long)in->k0);
    __m512i k1 = _mm512_set1_epi64((long long)in->k1);
    __m512i dests = _mm512_set1_epi64((long long)in->n_dest);
    uint32_t *list[WI_LISTS_WORDS];
    struct block32 b;
    uint32_t i = 0;

    wi_lists_begin(idx_out, in->n_dest, list);
    for (; i + 32 <= in->n; i += 32) {
        number_rows(&b, in->first + i);
        b.dest[0] = hash16(key + i, k0, k1, dests);
        b.dest[1] = hash16(key + i + 16, k0, k1, dests);
        append32(&b, 0xffff, 0xffff, in->n_dest, list);
    }
    for (; i < in->n; i++) {
        uint64_t h = wi_load_u64((const uint8_t *)keys + (size_t)i * 8);
        h = wi_hash_word(h, in->k0, in->k1);
        *list[wi_hash_dest(h, in->n_dest)]++ = in->first + i;
    }
    wi_lists_end(idx_out, in->n_dest, list, count_out);
}

#endif /* WI_X86 */
