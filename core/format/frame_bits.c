/* SPDX-License-Identifier: Apache-2.0 */
#include "core/format/frame_bits.h"

#include <stdalign.h>
#include <stdbool.h>
#include <string.h>

#if WI_X86
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "core/base/bytes.h"
#include "core/base/cc.h"

enum {
    WINDOW_BITS = 2048,
    WINDOW_WORDS = WINDOW_BITS / 64,
    WINDOW_LEAST = 32, /* rows: for fewer a window costs more than it saves */
};

/* Bits of rows [base, base + WINDOW_BITS), up to the last row of the list. */
struct window {
    uint32_t base; /* multiple of 64 */
    alignas(64) uint64_t words[WINDOW_WORDS];
};

/* k bits (1..64) from bit `pos` on; reads no byte that holds none of them. */
static uint64_t load_bits(const uint8_t *bits, uint64_t pos, uint32_t k)
{
    const uint8_t *p = bits + (pos >> 3);
    uint32_t shift = (uint32_t)(pos & 7);
    uint32_t n_bytes = (shift + k + 7) >> 3;
    uint64_t word = 0;

    if (n_bytes >= 8) {
        word = wi_load_u64(p) >> shift;
        if (n_bytes == 9) {
            word |= (uint64_t)p[8] << (64 - shift);
        }
    } else {
        for (uint32_t i = 0; i < n_bytes; i++) {
            word |= (uint64_t)p[i] << (8 * i);
        }
        word >>= shift;
    }
    return k == 64 ? word : word & (((uint64_t)1 << k) - 1);
}

/* ---- writing ------------------------------------------------------------- */

/* Where the next bit goes. */
struct bits_out {
    uint8_t *to;   /* of the word */
    uint64_t word; /* what it has so far, then zeros */
    uint32_t fill; /* bits that it has */
};

static struct bits_out bits_at(uint8_t *dst, uint32_t at)
{
    uint8_t *to = dst + (at >> 6) * 8u;
    uint32_t fill = at & 63;
    return (struct bits_out){to, fill == 0 ? 0 : wi_load_u64(to), fill};
}

/* k bits (1..64), zeros above. */
static inline void put_bits(struct bits_out *o, uint64_t bits, uint32_t k)
{
    wi_store_u64(o->to, o->word | bits << o->fill);
    if (o->fill + k < 64) {
        o->word |= bits << o->fill;
        o->fill += k;
        return;
    }
    o->to += 8;
    o->word = o->fill == 0 ? 0 : bits >> (64 - o->fill);
    o->fill = o->fill + k - 64;
}

static inline void end_bits(const struct bits_out *o)
{
    if (o->fill != 0) {
        wi_store_u64(o->to, o->word);
    }
}

void wi_set_bits(uint8_t *dst, uint32_t at, uint32_t n)
{
    struct bits_out out = bits_at(dst, at);
    for (uint32_t done = 0; done < n; done += 64) {
        uint32_t k = wi_min_u32(64, n - done);
        put_bits(&out, UINT64_MAX >> (64 - k), k);
    }
    end_bits(&out);
}

/* ---- a window ------------------------------------------------------------ */

typedef uint32_t u32x4 __attribute__((vector_size(16), aligned(4), may_alias));

/* Are all of idx[0..n) in [base, last], which are less than a window apart? */
static bool fits_window(const uint32_t *idx, uint32_t n, uint32_t base,
                        uint32_t last)
{
    u32x4 all = {0};
    uint32_t any = last - base;
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        u32x4 rows = *(const u32x4 *)(idx + i);
        all |= (rows - base) | (last - rows);
    }
    for (; i < n; i++) {
        any |= (idx[i] - base) | (last - idx[i]);
    }
    return (any | all[0] | all[1] | all[2] | all[3]) < WINDOW_BITS;
}

/* False: these rows have none. */
static bool make_window(struct window *w, const uint8_t *bits, uint64_t offset,
                        const uint32_t *idx, uint32_t n)
{
    uint32_t last = idx[n - 1];
    w->base = idx[0] & ~63u;
    if (n < WINDOW_LEAST || !fits_window(idx, n, w->base, last)) {
        return false;
    }
    uint64_t pos = offset + w->base;
    uint32_t left = last - w->base + 1;
    uint32_t whole = left / 64;
    if (pos % 8 == 0) {
        memcpy(w->words, bits + pos / 8, whole * sizeof(w->words[0]));
    } else {
        for (uint32_t i = 0; i < whole; i++) {
            w->words[i] = load_bits(bits, pos + (uint64_t)i * 64, 64);
        }
    }
    if (left % 64 != 0) {
        pos += (uint64_t)whole * 64;
        w->words[whole] = load_bits(bits, pos, left % 64);
    }
    return true;
}

/* The last row's bit first: each step is a shift and a bit below it. */
static inline uint64_t look_up(const struct window *w, const uint32_t *idx,
                               uint32_t k)
{
    uint64_t word = 0;
    for (uint32_t i = k; i-- > 0;) {
        uint32_t row = idx[i] - w->base;
        word = word * 2 + (w->words[row / 64] >> row % 64 & 1);
    }
    return word;
}

#if defined(__aarch64__)

/* Eight rows, counted from the window's first, as words of 16 bits. */
static inline uint16x8_t load_rows8(const uint32_t *idx, uint32x4_t base)
{
    uint16x4_t low = vmovn_u32(vsubq_u32(vld1q_u32(idx), base));
    return vmovn_high_u32(low, vsubq_u32(vld1q_u32(idx + 4), base));
}

/* Of 16 rows the bytes of the window, all ones where the bit is set. The table
 * of 256 bytes is four of 64; a number beyond one of those finds zero. */
static inline uint8x16_t look_up16(const struct window *w, const uint32_t *idx)
{
    const uint32x4_t base = vdupq_n_u32(w->base);
    const uint8_t *bytes = (const void *)w->words;
    uint16x8_t a = load_rows8(idx, base);
    uint16x8_t b = load_rows8(idx + 8, base);
    uint8x16_t at = vshrn_high_n_u16(vshrn_n_u16(a, 3), b, 3);
    uint8x16_t bit =
        vuzp1q_u8(vreinterpretq_u8_u16(a), vreinterpretq_u8_u16(b));
    uint8x16_t got = vdupq_n_u8(0);
    _Pragma("GCC unroll 4") for (uint32_t q = 0; q < 4; q++)
    {
        uint8x16_t here = vsubq_u8(at, vdupq_n_u8((uint8_t)(q * 64)));
        got = vqtbx4q_u8(got, vld1q_u8_x4(bytes + q * 64), here);
    }
    bit = vandq_u8(bit, vdupq_n_u8(7));
    return vtstq_u8(got, vshlq_u8(vdupq_n_u8(1), vreinterpretq_s8_u8(bit)));
}

/* Bits of four times 16 bytes that are all ones or zeros, in order. */
static inline uint64_t bits_of(const uint8x16_t v[4])
{
    const uint8x16_t own =
        vreinterpretq_u8_u64(vdupq_n_u64(UINT64_C(0x8040201008040201)));
    uint8x16_t low = vpaddq_u8(vandq_u8(v[0], own), vandq_u8(v[1], own));
    uint8x16_t high = vpaddq_u8(vandq_u8(v[2], own), vandq_u8(v[3], own));
    low = vpaddq_u8(low, high);
    low = vpaddq_u8(low, low);
    return vgetq_lane_u64(vreinterpretq_u64_u8(low), 0);
}

/* As many rows as make whole words. Returns how many. */
static uint32_t look_up_neon(struct bits_out *out, const struct window *w,
                             const uint32_t *idx, uint32_t n)
{
    uint32_t i = 0;
    for (; i + 64 <= n; i += 64) {
        const uint8x16_t v[4] = {
            look_up16(w, idx + i), look_up16(w, idx + i + 16),
            look_up16(w, idx + i + 32), look_up16(w, idx + i + 48)};
        put_bits(out, bits_of(v), 64);
    }
    return i;
}

#endif /* __aarch64__ */

static void look_up_all(struct bits_out *out, const struct window *w,
                        const uint32_t *idx, uint32_t n)
{
    uint32_t i = 0;
#if defined(__aarch64__)
    i = look_up_neon(out, w, idx, n);
#endif
    for (; i + 64 <= n; i += 64) {
        put_bits(out, look_up(w, idx + i, 64), 64);
    }
    if (i < n) {
        put_bits(out, look_up(w, idx + i, n - i), n - i);
    }
}

#if WI_X86

/* The window as 128 words of 16 bits. */
struct table {
    __m512i base;
    __m512i quarter[4];
};

/* Those of 16 rows that the mask has, counted from the window's first; of the
 * others, its first. */
static inline WI_TARGET_AVX512 __m512i load_rows(const struct table *t,
                                                 const uint32_t *idx,
                                                 uint64_t mask)
{
    __m512i rows =
        _mm512_mask_loadu_epi32(t->base, (__mmask16)(mask & 0xffff), idx);
    return _mm512_sub_epi32(rows, t->base);
}

/* The bits of 32 rows. */
static inline WI_TARGET_AVX512 uint64_t look_up32(const struct table *t,
                                                  const uint32_t *idx,
                                                  uint64_t mask)
{
    __m512i low = load_rows(t, idx, mask);
    __m512i high = load_rows(t, idx + 16, mask >> 16);
    /* rows are below 2^11: as words of 16 bits, in order */
    __m512i rows =
        _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7),
                                 _mm512_packus_epi32(low, high));
    __m512i at = _mm512_srli_epi16(rows, 4);
    __m512i a = _mm512_permutex2var_epi16(t->quarter[0], at, t->quarter[1]);
    __m512i b = _mm512_permutex2var_epi16(t->quarter[2], at, t->quarter[3]);
    __m512i word = _mm512_mask_blend_epi16(
        _mm512_movepi16_mask(_mm512_slli_epi16(rows, 5)), a, b);
    __m512i bit = _mm512_sllv_epi16(
        _mm512_set1_epi16(1), _mm512_and_si512(rows, _mm512_set1_epi16(15)));
    return _mm512_test_epi16_mask(word, bit);
}

static inline WI_TARGET_AVX512 uint64_t look_up64(const struct table *t,
                                                  const uint32_t *idx,
                                                  uint64_t mask)
{
    return (look_up32(t, idx, mask) | look_up32(t, idx + 32, mask >> 32) << 32);
}

static WI_TARGET_AVX512 void look_up_avx512(struct bits_out *out,
                                            const struct window *w,
                                            const uint32_t *idx, uint32_t n)
{
    struct table t = {.base = _mm512_set1_epi32((int)w->base)};
    uint32_t i = 0;
    for (uint32_t q = 0; q < 4; q++) {
        t.quarter[q] = _mm512_load_si512(w->words + q * 8);
    }
    for (; i + 64 <= n; i += 64) {
        put_bits(out, look_up64(&t, idx + i, UINT64_MAX), 64);
    }
    if (i < n) {
        uint64_t mask = UINT64_MAX >> (64 - (n - i));
        put_bits(out, look_up64(&t, idx + i, mask) & mask, n - i);
    }
}

#endif /* WI_X86 */

/* ---- copying ------------------------------------------------------------- */

/* Eight at a time: the shifts are constants then. */
static uint64_t gather_bits(const uint8_t *bits, uint64_t offset,
                            const uint32_t *idx, uint32_t k)
{
    uint64_t word = 0;
    uint32_t i = 0;
    for (; i + 8 <= k; i += 8) {
        uint64_t byte = 0;
        _Pragma("GCC unroll 8") for (uint32_t j = 0; j < 8; j++)
        {
            byte |= (uint64_t)wi_bit(bits, offset + idx[i + j]) << j;
        }
        word |= byte << i;
    }
    for (; i < k; i++) {
        word |= (uint64_t)wi_bit(bits, offset + idx[i]) << i;
    }
    return word;
}

static void copy_list(struct bits_out *out, const uint8_t *bits,
                      uint64_t offset, const struct wi_rows *rows,
                      enum wi_isa isa)
{
    struct window w;
    if (!make_window(&w, bits, offset, rows->idx, rows->n)) {
        for (uint32_t i = 0; i < rows->n; i += 64) {
            uint32_t k = wi_min_u32(64, rows->n - i);
            put_bits(out, gather_bits(bits, offset, rows->idx + i, k), k);
        }
        return;
    }
#if WI_X86
    if (isa >= WI_ISA_AVX512) {
        look_up_avx512(out, &w, rows->idx, rows->n);
        return;
    }
#endif
    (void)isa;
    look_up_all(out, &w, rows->idx, rows->n);
}

void wi_copy_bits(uint8_t *dst, uint32_t at, const uint8_t *bits,
                  uint64_t offset, const struct wi_rows *rows, enum wi_isa isa)
{
    struct bits_out out = bits_at(dst, at);
    if (rows->n == 0) {
        return;
    }
    if (rows->idx != NULL) {
        copy_list(&out, bits, offset, rows, isa);
    } else {
        for (uint32_t i = 0; i < rows->n; i += 64) {
            uint32_t k = wi_min_u32(64, rows->n - i);
            put_bits(&out, load_bits(bits, offset + rows->first + i, k), k);
        }
    }
    end_bits(&out);
}
