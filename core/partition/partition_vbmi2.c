/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The partitioner's lists with byte instructions (VBMI2). 64 destinations are
 * one vector of bytes: one compare and one compress per destination serve 64
 * rows, where partition_avx512.c needs four of each.
 */
#include "core/partition/partition_vbmi2.h"

#if WI_X86

#include <string.h>

#include "core/base/cc.h"
#include "core/partition/partition_lanes.h"

enum { BLOCK = 64 };

/* d in each byte, by d: a broadcast of four bytes comes with the load. */
#define BYTES(d) ((d)*0x01010101u)
#define BYTES4(d) BYTES(d), BYTES((d) + 1), BYTES((d) + 2), BYTES((d) + 3)
static const uint32_t dest_bytes[WI_LISTS_DIRECT] = {
    BYTES4(0),  BYTES4(4),  BYTES4(8),  BYTES4(12),
    BYTES4(16), BYTES4(20), BYTES4(24), BYTES4(28)};

static const uint8_t iota[BLOCK] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
    32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
    48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

/* Byte 8 * q + j to byte 8 * j + q. */
static const uint8_t transpose[BLOCK] = {
    0, 8,  16, 24, 32, 40, 48, 56, 1, 9,  17, 25, 33, 41, 49, 57,
    2, 10, 18, 26, 34, 42, 50, 58, 3, 11, 19, 27, 35, 43, 51, 59,
    4, 12, 20, 28, 36, 44, 52, 60, 5, 13, 21, 29, 37, 45, 53, 61,
    6, 14, 22, 30, 38, 46, 54, 62, 7, 15, 23, 31, 39, 47, 55, 63};

/* Append a list's new rows after the first 16. Rare with more than a few
 * destinations. */
static WI_TARGET_VBMI2 void append_rest(uint32_t *list, __m512i rows,
                                        uint32_t n, __m512i base)
{
    uint8_t bytes[BLOCK];
    _mm512_storeu_si512(bytes, rows);
    for (uint32_t k = 16; k < n; k += 16) {
        __m128i some = _mm_loadu_si128((const void *)(bytes + k));
        _mm512_storeu_si512(list + k,
                            _mm512_add_epi32(_mm512_cvtepu8_epi32(some), base));
    }
}

/* Append those of rows first .. first + 63 that are under `in` to their lists.
 * 16 numbers are written at a time; the surplus is overwritten by the next or
 * lies in the list's spare end. */
static inline WI_TARGET_VBMI2 void append64(__m512i dest, __mmask64 in,
                                            uint32_t first, uint32_t n_dest,
                                            uint32_t **list)
{
    const __m512i numbers = _mm512_loadu_si512(iota);
    __m512i base = _mm512_set1_epi32((int)first);
    for (uint32_t d = 0; d < n_dest; d++) {
        __m512i want = _mm512_set1_epi32((int)dest_bytes[d]);
        __mmask64 m = _mm512_mask_cmpeq_epi8_mask(in, dest, want);
        __m512i rows = _mm512_maskz_compress_epi8(m, numbers);
        uint32_t n = (uint32_t)__builtin_popcountll(m);
        __m128i some = _mm512_castsi512_si128(rows);
        _mm512_storeu_si512(list[d],
                            _mm512_add_epi32(_mm512_cvtepu8_epi32(some), base));
        if (wi_unlikely(n > 16)) {
            append_rest(list[d], rows, n, base);
        }
        list[d] += n;
    }
}

static inline __mmask64 low64(uint32_t n)
{
    return n >= BLOCK ? UINT64_MAX : (1ull << n) - 1;
}

struct keys {
    __m512i k0;
    __m512i k1;
    __m512i n_dest;
};

/* Destinations of eight keys, moved to byte j of each lane of *all. The upper
 * half of a scaled hash is the destination. */
#define ADD_DESTS(all, key, j, k)                                              \
    do {                                                                       \
        __m512i h =                                                            \
            wi_hash8(_mm512_loadu_si512((key) + 8 * (j)), (k)->k0, (k)->k1);   \
        __m512i s = wi_scale8(h, (k)->n_dest);                                 \
        __m512i moved = _mm512_ror_epi64(s, (96 - 8 * (j)) % 64);              \
        __m512i byte = _mm512_set1_epi64((long long)(0xffull << 8 * (j)));     \
        *(all) = _mm512_ternarylogic_epi64(*(all), moved, byte, 0xf8);         \
    } while (0)

/* Destinations of 64 keys as bytes, in order. */
static inline WI_TARGET_VBMI2 __m512i hash64(const uint64_t *key,
                                             const struct keys *k)
{
    __m512i all = _mm512_setzero_si512();
    ADD_DESTS(&all, key, 0, k);
    ADD_DESTS(&all, key, 1, k);
    ADD_DESTS(&all, key, 2, k);
    ADD_DESTS(&all, key, 3, k);
    ADD_DESTS(&all, key, 4, k);
    ADD_DESTS(&all, key, 5, k);
    ADD_DESTS(&all, key, 6, k);
    ADD_DESTS(&all, key, 7, k);
    return _mm512_permutexvar_epi8(_mm512_loadu_si512(transpose), all);
}

WI_TARGET_VBMI2
void wi_hash_lists_vbmi2(const void *keys, const struct wi_hash_lists *in,
                         uint32_t *idx_out, uint32_t *count_out)
{
    const uint64_t *key = keys;
    const struct keys k = {_mm512_set1_epi64((long long)in->k0),
                           _mm512_set1_epi64((long long)in->k1),
                           _mm512_set1_epi64((long long)in->n_dest)};
    uint32_t *list[WI_LISTS_DIRECT];
    uint32_t i = 0;

    wi_lists_begin(idx_out, in->n_dest, list);
    for (; i + BLOCK <= in->n; i += BLOCK) {
        append64(hash64(key + i, &k), UINT64_MAX, in->first + i, in->n_dest,
                 list);
    }
    if (i < in->n) {
        uint64_t last[BLOCK] = {0};
        memcpy(last, key + i, (in->n - i) * sizeof(last[0]));
        append64(hash64(last, &k), low64(in->n - i), in->first + i, in->n_dest,
                 list);
    }
    wi_lists_end(idx_out, in->n_dest, list, count_out);
}

/* 32 destinations as bytes. */
static inline WI_TARGET_VBMI2 __m256i narrow32(const uint16_t *dest,
                                               __mmask32 in)
{
    return _mm512_cvtepi16_epi8(_mm512_maskz_loadu_epi16(in, dest));
}

WI_TARGET_VBMI2
void wi_lists_vbmi2(struct wi_partition *p, uint32_t first, uint32_t n)
{
    const uint16_t *dest = p->dest;
    uint32_t *list[WI_LISTS_DIRECT];

    wi_lists_begin(p->idx, p->n_dest, list);
    for (uint32_t i = 0; i < n; i += BLOCK) {
        __mmask64 in = low64(n - i);
        __m256i low = narrow32(dest + i, (__mmask32)in);
        __m256i high = _mm256_setzero_si256();
        if (n - i > 32) {
            high = narrow32(dest + i + 32, (__mmask32)(in >> 32));
        }
        __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
        append64(both, in, first + i, p->n_dest, list);
    }
    wi_lists_end(p->idx, p->n_dest, list, p->count);
}

#endif /* WI_X86 */
