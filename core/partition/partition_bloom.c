/* SPDX-License-Identifier: Apache-2.0 */
#include "core/partition/partition_bloom.h"

#include <stdlib.h>

#include "core/base/cc.h"

#if WI_X86
#include <immintrin.h>
#endif

#define BITS_PER_KEY 10u
#define LEAST_BITS_PER_KEY 4u
#define SPREAD 0x9e3779b97f4a7c15u

uint32_t wi_bloom_words(uint64_t n_keys, uint32_t most)
{
    if (n_keys > (uint64_t)most * 64 / LEAST_BITS_PER_KEY) {
        return 0;
    }
    return wi_min_u32(most, (uint32_t)(n_keys * BITS_PER_KEY / 64 + 1));
}

struct wi_bloom *wi_bloom_open(uint32_t n_words)
{
    struct wi_bloom *f = calloc(1, sizeof(*f) + n_words * sizeof(uint64_t));
    if (f != NULL) {
        f->n_words = n_words;
    }
    return f;
}

static inline uint32_t word_of(const struct wi_bloom *f, uint64_t hash)
{
    return (uint32_t)(((hash & 0xffffffffu) * f->n_words) >> 32);
}

static inline uint64_t bits_of(uint64_t hash)
{
    uint64_t spread = hash * SPREAD;
    return 1ull << (spread >> 58) | 1ull << (spread >> 52 & 63) |
           1ull << (spread >> 46 & 63) | 1ull << (spread >> 40 & 63);
}

void wi_bloom_add(struct wi_bloom *f, const uint64_t *hashes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        f->words[word_of(f, hashes[i])] |= bits_of(hashes[i]);
    }
}

static uint32_t keep_from(const struct wi_bloom *f,
                          const struct wi_bloom_list *list, uint32_t begin,
                          uint32_t *out)
{
    uint32_t kept = 0;
    for (uint32_t i = begin; i < list->n; i++) {
        uint32_t row = list->idx != NULL ? list->idx[i] : list->first + i;
        uint64_t hash = list->hashes[row - list->first];
        uint64_t bits = bits_of(hash);
        out[kept] = row;
        kept += (f->words[word_of(f, hash)] & bits) == bits;
    }
    return kept;
}

#if WI_X86

/* Lists to compress four rows by: the places of the ones of a mask. */
static const uint32_t places[16][4] = {
    {0, 1, 2, 3}, {0, 1, 2, 3}, {1, 0, 2, 3}, {0, 1, 2, 3},
    {2, 0, 1, 3}, {0, 2, 1, 3}, {1, 2, 0, 3}, {0, 1, 2, 3},
    {3, 0, 1, 2}, {0, 3, 1, 2}, {1, 3, 0, 2}, {0, 1, 3, 2},
    {2, 3, 0, 1}, {0, 2, 3, 1}, {1, 2, 3, 0}, {0, 1, 2, 3},
};

/* The low 64 bits of each product with SPREAD. */
WI_TARGET_AVX2 static inline __m256i spread_of(__m256i hash)
{
    const __m256i low = _mm256_set1_epi64x((long long)(SPREAD & 0xffffffffu));
    const __m256i high = _mm256_set1_epi64x((long long)(SPREAD >> 32));
    __m256i cross =
        _mm256_add_epi64(_mm256_mul_epu32(hash, high),
                         _mm256_mul_epu32(_mm256_srli_epi64(hash, 32), low));
    return _mm256_add_epi64(_mm256_mul_epu32(hash, low),
                            _mm256_slli_epi64(cross, 32));
}

WI_TARGET_AVX2 static inline __m256i bit_at(__m256i spread, int shift)
{
    const __m256i one = _mm256_set1_epi64x(1);
    const __m256i six = _mm256_set1_epi64x(63);
    return _mm256_sllv_epi64(
        one, _mm256_and_si256(_mm256_srli_epi64(spread, shift), six));
}

/* Which of four hashes are in the filter: a bit each. */
WI_TARGET_AVX2 static inline uint32_t look_avx2(const struct wi_bloom *f,
                                                __m256i hash)
{
    const __m256i n_words = _mm256_set1_epi64x(f->n_words);
    __m256i at = _mm256_srli_epi64(_mm256_mul_epu32(hash, n_words), 32);
    __m256i word = _mm256_i64gather_epi64((const long long *)f->words, at, 8);
    __m256i spread = spread_of(hash);
    __m256i bits = _mm256_or_si256(
        _mm256_or_si256(bit_at(spread, 58), bit_at(spread, 52)),
        _mm256_or_si256(bit_at(spread, 46), bit_at(spread, 40)));
    __m256i all = _mm256_cmpeq_epi64(_mm256_and_si256(word, bits), bits);
    return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(all));
}

/* Four rows at a time; fewer are left over. */
WI_TARGET_AVX2 static uint32_t keep_avx2(const struct wi_bloom *f,
                                         const struct wi_bloom_list *list,
                                         uint32_t *out)
{
    const __m128i first = _mm_set1_epi32((int)list->first);
    uint32_t kept = 0;
    uint32_t i = 0;
    for (; i + 4 <= list->n; i += 4) {
        __m128i row =
            _mm_add_epi32(_mm_set1_epi32((int)i), _mm_setr_epi32(0, 1, 2, 3));
        row = list->idx != NULL ? _mm_loadu_si128((const void *)(list->idx + i))
                                : _mm_add_epi32(row, first);
        __m256i hash = _mm256_i32gather_epi64((const long long *)list->hashes,
                                              _mm_sub_epi32(row, first), 8);
        uint32_t mask = look_avx2(f, hash);
        __m128i order = _mm_loadu_si128((const void *)places[mask]);
        __m128 packed = _mm_permutevar_ps(_mm_castsi128_ps(row), order);
        _mm_storeu_si128((void *)(out + kept), _mm_castps_si128(packed));
        kept += (uint32_t)__builtin_popcount(mask);
    }
    return kept + keep_from(f, list, i, out + kept);
}

#endif

uint32_t wi_bloom_keep(const struct wi_bloom *f,
                       const struct wi_bloom_list *list, enum wi_isa isa,
                       uint32_t *idx_out)
{
#if WI_X86
    if (isa >= WI_ISA_AVX2) {
        return keep_avx2(f, list, idx_out);
    }
#endif
    (void)isa;
    return keep_from(f, list, 0, idx_out);
}
