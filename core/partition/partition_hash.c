/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash partitioning: key columns become words, words become hashes, hashes
 * become destinations; a block at a time, a column at a time.
 *
 * Two multiplications per word are the fewest that spread all of these:
 * sequential keys, multiples of powers of two, and keys that another seed sent
 * to one destination. The shift before the first one is for words with zeros
 * below, such as whole numbers as doubles. partition_test.c checks all that.
 * XXH3 for bytes is Y. Collet's xxHash library.
 */
#include "core/partition/partition_hash.h"

#include <assert.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/bytes.h"
#include "core/base/cc.h"
#include "core/format/text.h"
#include "core/partition/partition_avx2.h"
#include "core/partition/partition_avx512.h"
#include "core/partition/partition_lists.h"
#include "core/partition/partition_vec128.h"

/* ---- words --------------------------------------------------------------- */

#define DEFINE_WORDS(name, type, wide)                                         \
    static void name(const uint8_t *values, uint32_t n, uint64_t *out)         \
    {                                                                          \
        for (uint32_t i = 0; i < n; i++) {                                     \
            type value;                                                        \
            memcpy(&value, values + i * sizeof(value), sizeof(value));         \
            out[i] = (uint64_t)(wide)value;                                    \
        }                                                                      \
    }

DEFINE_WORDS(words_i8, int8_t, int64_t)
DEFINE_WORDS(words_i16, int16_t, int64_t)
DEFINE_WORDS(words_i32, int32_t, int64_t)
DEFINE_WORDS(words_u8, uint8_t, uint64_t)
DEFINE_WORDS(words_u16, uint16_t, uint64_t)
DEFINE_WORDS(words_u32, uint32_t, uint64_t)

static inline uint64_t double_word(double value)
{
    uint64_t bits;
    double canonical = value + 0.0; /* -0.0 + 0.0 is 0.0 */
    memcpy(&bits, &canonical, sizeof(bits));
    return value == value ? bits : WI_NAN_BITS;
}

static void words_f32(const uint8_t *values, uint32_t n, uint64_t *out)
{
    for (uint32_t i = 0; i < n; i++) {
        float value;
        memcpy(&value, values + i * sizeof(value), sizeof(value));
        out[i] = double_word((double)value);
    }
}

static void words_f64(const uint8_t *values, uint32_t n, uint64_t *out)
{
    for (uint32_t i = 0; i < n; i++) {
        double value;
        memcpy(&value, values + i * sizeof(value), sizeof(value));
        out[i] = double_word(value);
    }
}

static void words_bits(const uint8_t *bits, uint64_t first, uint32_t n,
                       uint64_t *out)
{
    for (uint32_t i = 0; i < n; i++) {
        out[i] = wi_bit(bits, first + i);
    }
}

static void words_var(const struct wi_view *v, uint64_t first, uint32_t n,
                      uint64_t seed, uint64_t *out)
{
    const uint8_t *offsets = (const uint8_t *)v->values + first * 4;
    int32_t begin;
    memcpy(&begin, offsets, 4);
    for (uint32_t i = 0; i < n; i++) {
        int32_t end;
        memcpy(&end, offsets + 4 + i * 4u, 4);
        out[i] =
            XXH3_64bits_withSeed(v->bytes + begin, (size_t)(end - begin), seed);
        begin = end;
    }
}

static void words_texts(const struct wi_text *texts, uint32_t n, uint64_t seed,
                        uint64_t *out)
{
    for (uint32_t i = 0; i < n; i++) {
        out[i] = XXH3_64bits_withSeed(texts[i].at, texts[i].len, seed);
    }
}

static void words_bytes(const uint8_t *values, uint32_t width, uint32_t n,
                        uint64_t seed, uint64_t *out)
{
    for (uint32_t i = 0; i < n; i++) {
        out[i] = XXH3_64bits_withSeed(values + (size_t)i * width, width, seed);
    }
}

static void words_integer(const struct wi_column *c, const uint8_t *values,
                          uint32_t n, uint64_t *out)
{
    bool is_signed = c->order == WI_ORDER_SIGNED;
    switch (c->width) {
    case 1:
        (is_signed ? words_i8 : words_u8)(values, n, out);
        break;
    case 2:
        (is_signed ? words_i16 : words_u16)(values, n, out);
        break;
    case 4:
        (is_signed ? words_i32 : words_u32)(values, n, out);
        break;
    default:
        memcpy(out, values, (size_t)n * 8);
        break;
    }
}

static void words_fixed(const struct wi_column *c, const uint8_t *values,
                        uint32_t n, uint64_t seed, uint64_t *out)
{
    if (c->order == WI_ORDER_BYTES || c->width > 8) {
        words_bytes(values, c->width, n, seed, out);
    } else if (c->order == WI_ORDER_FLOAT) {
        (c->width == 4 ? words_f32 : words_f64)(values, n, out);
    } else {
        words_integer(c, values, n, out);
    }
}

static void words_null(const uint8_t *validity, uint64_t first, uint32_t n,
                       uint64_t *out)
{
    for (uint32_t i = 0; i < n; i++) {
        out[i] = wi_bit(validity, first + i) ? out[i] : WI_HASH_NULL;
    }
}

void wi_key_words(const struct wi_column *c, const struct wi_view *v,
                  uint64_t first, uint32_t n, uint64_t seed,
                  uint64_t *words_out)
{
    uint64_t at = v->offset + first;
    const uint8_t *values = v->values;

    switch (c->kind) {
    case WI_KIND_FIXED:
        words_fixed(c, values + at * c->width, n, seed, words_out);
        break;
    case WI_KIND_BITS:
        words_bits(values, at, n, words_out);
        break;
    case WI_KIND_VAR:
        if (v->texts != NULL) {
            words_texts(v->texts + first, n, seed, words_out);
        } else {
            words_var(v, at, n, seed, words_out);
        }
        break;
    case WI_KIND_STRUCT: /* is no key */
        assert(false);
        break;
    }
    if (v->validity != NULL) {
        words_null(v->validity, at, n, words_out);
    }
}

/* ---- hashes and destinations --------------------------------------------- */

/* Compilers make vectors of it: three products of 32 bits for one of 64. */
#define DEFINE_HASH_WORDS(name, target)                                        \
    static target void name(const uint64_t *words, uint64_t *hashes,           \
                            uint32_t n, uint64_t k0, uint64_t k1)              \
    {                                                                          \
        for (uint32_t i = 0; i < n; i++) {                                     \
            hashes[i] = wi_hash_word(words[i] ^ hashes[i], k0, k1);            \
        }                                                                      \
    }

DEFINE_HASH_WORDS(hash_words_plain, )
#if WI_X86
DEFINE_HASH_WORDS(hash_words_avx2, WI_TARGET_AVX2)
#endif

static void hash_words(const struct wi_partition *p, const uint64_t *words,
                       uint64_t *hashes, uint32_t n)
{
#if WI_X86
    if (p->isa >= WI_ISA_AVX512) {
        wi_hash_words_avx512(words, hashes, n, p->k0, p->k1);
        return;
    }
    if (p->isa >= WI_ISA_AVX2) {
        hash_words_avx2(words, hashes, n, p->k0, p->k1);
        return;
    }
#endif
    hash_words_plain(words, hashes, n, p->k0, p->k1);
}

void wi_hash_reduce(const struct wi_partition *p, const uint64_t *hashes,
                    uint32_t n, uint16_t *dest_out)
{
#if WI_X86
    if (p->isa >= WI_ISA_AVX512) {
        wi_hash_reduce_avx512(hashes, n, p->n_dest, dest_out);
        return;
    }
#endif
#if WI_VEC128_HASH
    wi_hash_reduce_vec128(hashes, n, p->n_dest, dest_out);
#else
    for (uint32_t i = 0; i < n; i++) {
        dest_out[i] = wi_hash_dest(hashes[i], p->n_dest);
    }
#endif
}

/* The common plan: one integer key of 8 bytes without nulls. */
static void hash_keys(struct wi_partition *p, const struct wi_view *v,
                      uint32_t first, uint32_t n)
{
    const uint8_t *keys = (const uint8_t *)v->values + (v->offset + first) * 8;
#if WI_X86
    if (p->isa >= WI_ISA_AVX512) {
        wi_hash_keys_avx512(keys, n, p->k0, p->k1, p->n_dest, p->dest);
        return;
    }
    if (p->isa >= WI_ISA_AVX2) {
        wi_hash_keys_avx2(keys, n, p->k0, p->k1, p->n_dest, p->dest);
        return;
    }
#endif
#if WI_VEC128_HASH
    wi_hash_keys_vec128(keys, n, p->k0, p->k1, p->n_dest, p->dest);
#else
    for (uint32_t i = 0; i < n; i++) {
        uint64_t key;
        memcpy(&key, keys + i * 8u, 8);
        p->dest[i] = wi_hash_dest(wi_hash_word(key, p->k0, p->k1), p->n_dest);
    }
#endif
}

/* Hashes of at most WI_KEY_BLOCK rows. */
static void hash_block(struct wi_partition *p, const struct wi_view *views,
                       uint64_t first, uint32_t n, uint64_t *hashes)
{
    memset(hashes, 0, n * sizeof(hashes[0]));
    for (uint32_t k = 0; k < p->n_keys; k++) {
        uint32_t column = p->key_columns[k];
        wi_key_words(&p->schema->columns[column], &views[column], first, n,
                     p->seed, p->words);
        hash_words(p, p->words, hashes, n);
    }
}

void wi_partition_hashes(struct wi_partition *p, const struct wi_view *views,
                         uint64_t first, uint32_t n, uint64_t *hashes_out)
{
    for (uint32_t i = 0; i < n; i += WI_KEY_BLOCK) {
        hash_block(p, views, first + i, wi_min_u32(n - i, WI_KEY_BLOCK),
                   hashes_out + i);
    }
}

static bool is_common(const struct wi_partition *p, const struct wi_view *v)
{
    const struct wi_column *c = &p->schema->columns[p->key_columns[0]];
    return p->n_keys == 1 && v->validity == NULL && c->kind == WI_KIND_FIXED &&
           c->width == 8 && c->order <= WI_ORDER_UNSIGNED;
}

bool wi_hash_lists(struct wi_partition *p, const struct wi_view *views,
                   uint32_t first, uint32_t n)
{
    const struct wi_view *v = &views[p->key_columns[0]];
    if (p->way->of_keys == NULL || !is_common(p, v)) {
        return false;
    }
    const struct wi_hash_lists in = {p->k0, p->k1, p->n_dest, first, n};
    p->way->of_keys((const uint8_t *)v->values + (v->offset + first) * 8, &in,
                    p->idx, p->count);
    return true;
}

void wi_hash_split(struct wi_partition *p, const struct wi_view *views,
                   uint32_t first, uint32_t n)
{
    const struct wi_view *v = &views[p->key_columns[0]];

    if (is_common(p, v)) {
        hash_keys(p, v, first, n);
        return;
    }
    for (uint32_t i = 0; i < n; i += WI_KEY_BLOCK) {
        uint32_t rows = wi_min_u32(n - i, WI_KEY_BLOCK);
        hash_block(p, views, (uint64_t)first + i, rows, p->hashes);
        wi_hash_reduce(p, p->hashes, rows, p->dest + i);
    }
}
