/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes and comparisons of rows: one loop per column and representation.
 *
 * Each column's value is added to the hash by xor. The hash is then multiplied
 * by an odd constant (the golden ratio of 2^64), and its upper half, which now
 * depends on all bits, is folded onto the lower. Source of
 * multiplicative hashing: Knuth, The Art of Computer Programming, volume 3,
 * 6.4. */
#include "operators/base/hash.h"

#include <string.h>

#include "operators/base/words.h"

static const uint64_t SEED = 0x243f6a8885a308d3;   /* digits of pi */
static const uint64_t FACTOR = 0x9e3779b97f4a7c15; /* 2^64 / golden ratio */
static const uint64_t NULL_CODE = 0x13198a2e03707344;

static inline uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * FACTOR;
    return h ^ h >> 32;
}

static inline uint64_t mix_i64(uint64_t h, int64_t v)
{
    return mix(h, (uint64_t)v);
}

static inline uint64_t mix_bool(uint64_t h, uint8_t v)
{
    return mix(h, v);
}

static inline uint64_t mix_i128(uint64_t h, wi_i128 v)
{
    return mix(mix(h, (uint64_t)v), (uint64_t)((wi_u128)v >> 64));
}

static inline uint64_t mix_f64(uint64_t h, double v)
{
    uint64_t bits = 0;
    v += 0.0; /* -0.0 becomes 0.0 */
    memcpy(&bits, &v, sizeof(bits));
    return mix(h, v != v ? NULL_CODE + 1 : bits);
}

static inline uint64_t mix_str(uint64_t h, struct wi_str s)
{
    h = mix(h, s.n_bytes);
    while (s.n_bytes > WI_WORDS_BYTES) {
        h = mix(h, wi_load8(s.data));
        s.data += sizeof(uint64_t);
        s.n_bytes -= (uint32_t)sizeof(uint64_t);
    }
    struct wi_words rest = wi_words_of(s);
    h = mix(h, rest.head);
    return rest.tail == 0 ? h : mix(h, rest.tail);
}

#define HASH_COLUMN(name, type, mix_value)                                     \
    static void name(const struct wi_vec *vec, const struct wi_chunk *chunk,   \
                     uint64_t *h)                                              \
    {                                                                          \
        const type *v = vec->values;                                           \
        const uint32_t *sel = chunk->sel;                                      \
        if (vec->null == NULL && sel == NULL) {                                \
            for (uint32_t i = 0; i < chunk->n; i++) {                          \
                h[i] = mix_value(h[i], v[i]);                                  \
            }                                                                  \
        } else if (vec->null == NULL) {                                        \
            for (uint32_t i = 0; i < chunk->n; i++) {                          \
                h[i] = mix_value(h[i], v[sel[i]]);                             \
            }                                                                  \
        } else {                                                               \
            for (uint32_t i = 0; i < chunk->n; i++) {                          \
                uint32_t pos = wi_chunk_pos(chunk, i);                         \
                h[i] = vec->null[pos] ? mix(h[i], NULL_CODE)                   \
                                      : mix_value(h[i], v[pos]);               \
            }                                                                  \
        }                                                                      \
    }

HASH_COLUMN(hash_bool, uint8_t, mix_bool)
HASH_COLUMN(hash_i64, int64_t, mix_i64)
HASH_COLUMN(hash_i128, wi_i128, mix_i128)
HASH_COLUMN(hash_f64, double, mix_f64)
HASH_COLUMN(hash_str, struct wi_str, mix_str)

void wi_hash_rows(const struct wi_chunk *chunk, const uint32_t *cols,
                  uint32_t n_cols, uint64_t *hash_out)
{
    for (uint32_t i = 0; i < chunk->n; i++) {
        hash_out[i] = SEED;
    }
    for (uint32_t k = 0; k < n_cols; k++) {
        const struct wi_vec *vec = &chunk->col[cols[k]];
        switch (vec->rep) {
        case WI_BOOL:
            hash_bool(vec, chunk, hash_out);
            break;
        case WI_I64:
            hash_i64(vec, chunk, hash_out);
            break;
        case WI_I128:
            hash_i128(vec, chunk, hash_out);
            break;
        case WI_F64:
            hash_f64(vec, chunk, hash_out);
            break;
        case WI_STR:
            hash_str(vec, chunk, hash_out);
            break;
        }
    }
}

/* ---- pairs --------------------------------------------------------------- */

static inline bool same_bool(uint8_t a, uint8_t b)
{
    return a == b;
}

static inline bool same_i64(int64_t a, int64_t b)
{
    return a == b;
}

static inline bool same_i128(wi_i128 a, wi_i128 b)
{
    return a == b;
}

static inline bool same_f64(double a, double b)
{
    return a == b || (a != a && b != b);
}

struct pairs {
    const struct wi_chunk *chunk;
    uint32_t *row;
    uint32_t *store;
    uint32_t n;
    bool nulls_equal;
};

/* 1: neither of the two is null, their values decide. Else the verdict: 0 if
 * they differ, 2 for two nulls that count as equal. */
static inline unsigned look_at_nulls(const uint8_t *a, uint32_t pos_a,
                                     const uint8_t *b, uint32_t pos_b,
                                     bool nulls_equal)
{
    bool null_a = a != NULL && a[pos_a];
    bool null_b = b != NULL && b[pos_b];
    if (!null_a && !null_b) {
        return 1;
    }
    return null_a && null_b && nulls_equal ? 2 : 0;
}

#define MATCH_COLUMN(name, type, same)                                         \
    static uint32_t name(const struct pairs *p, const struct wi_vec *a,        \
                         const struct wi_vec *b)                               \
    {                                                                          \
        const type *va = a->values;                                            \
        const type *vb = b->values;                                            \
        bool nulls = a->null != NULL || b->null != NULL;                       \
        uint32_t kept = 0;                                                     \
        for (uint32_t i = 0; i < p->n; i++) {                                  \
            uint32_t row = p->row[i];                                          \
            uint32_t at = p->store[i];                                         \
            uint32_t pos = wi_chunk_pos(p->chunk, row);                        \
            bool keep = false;                                                 \
            if (!nulls) {                                                      \
                keep = same(va[pos], vb[at]);                                  \
            } else {                                                           \
                unsigned state =                                               \
                    look_at_nulls(a->null, pos, b->null, at, p->nulls_equal);  \
                keep = state == 1 ? same(va[pos], vb[at]) : state == 2;        \
            }                                                                  \
            p->row[kept] = row;                                                \
            p->store[kept] = at;                                               \
            kept += keep;                                                      \
        }                                                                      \
        return kept;                                                           \
    }

MATCH_COLUMN(match_bool, uint8_t, same_bool)
MATCH_COLUMN(match_i64, int64_t, same_i64)
MATCH_COLUMN(match_i128, wi_i128, same_i128)
MATCH_COLUMN(match_f64, double, same_f64)
MATCH_COLUMN(match_str, struct wi_str, wi_str_same)

static uint32_t match_column(const struct pairs *p, const struct wi_vec *a,
                             const struct wi_vec *b)
{
    switch (a->rep) {
    case WI_BOOL:
        return match_bool(p, a, b);
    case WI_I64:
        return match_i64(p, a, b);
    case WI_I128:
        return match_i128(p, a, b);
    case WI_F64:
        return match_f64(p, a, b);
    case WI_STR:
        return match_str(p, a, b);
    }
    return 0;
}

uint32_t wi_match_pairs(const struct wi_match *match, uint32_t *pair_row,
                        uint32_t *pair_store, uint32_t n)
{
    struct pairs p = {match->chunk, pair_row, pair_store, n,
                      match->nulls_equal};
    for (uint32_t k = 0; k < match->n_cols && p.n > 0; k++) {
        p.n = match_column(&p, &match->chunk->col[match->chunk_cols[k]],
                           &match->store->col[match->store_cols[k]]);
    }
    return p.n;
}

/* ---- runs ---------------------------------------------------------------- */

#define RUNS_COLUMN(name, type, same)                                          \
    static void name(const struct wi_vec *vec, const struct wi_chunk *chunk,   \
                     uint8_t *differs)                                         \
    {                                                                          \
        const type *v = vec->values;                                           \
        const uint8_t *null = vec->null;                                       \
        uint32_t n = chunk->n; /* a byte that is stored might be in *chunk */  \
        uint32_t last = wi_chunk_pos(chunk, 0);                                \
        if (null == NULL && chunk->sel == NULL) {                              \
            for (uint32_t i = 1; i < n; i++) {                                 \
                differs[i] |= !same(v[i - 1], v[i]);                           \
            }                                                                  \
            return;                                                            \
        }                                                                      \
        for (uint32_t i = 1; i < n; i++) {                                     \
            uint32_t pos = wi_chunk_pos(chunk, i);                             \
            unsigned state = look_at_nulls(null, last, null, pos, true);       \
            differs[i] |= state == 1 ? !same(v[last], v[pos]) : state == 0;    \
            last = pos;                                                        \
        }                                                                      \
    }

RUNS_COLUMN(runs_bool, uint8_t, same_bool)
RUNS_COLUMN(runs_i64, int64_t, same_i64)
RUNS_COLUMN(runs_i128, wi_i128, same_i128)
RUNS_COLUMN(runs_f64, double, same_f64)
RUNS_COLUMN(runs_str, struct wi_str, wi_str_same)

static void runs_column(const struct wi_vec *vec, const struct wi_chunk *chunk,
                        uint8_t *differs)
{
    switch (vec->rep) {
    case WI_BOOL:
        runs_bool(vec, chunk, differs);
        break;
    case WI_I64:
        runs_i64(vec, chunk, differs);
        break;
    case WI_I128:
        runs_i128(vec, chunk, differs);
        break;
    case WI_F64:
        runs_f64(vec, chunk, differs);
        break;
    case WI_STR:
        runs_str(vec, chunk, differs);
        break;
    }
}

uint32_t wi_find_runs(const struct wi_chunk *chunk, const uint32_t *cols,
                      uint32_t n_cols, uint8_t *differs_out)
{
    uint32_t n = 0;
    memset(differs_out, 0, chunk->n);
    differs_out[0] = 1;
    for (uint32_t k = 0; k < n_cols; k++) {
        runs_column(&chunk->col[cols[k]], chunk, differs_out);
    }
    for (uint32_t i = 0; i < chunk->n; i++) {
        n += differs_out[i];
    }
    return n;
}

/* ---- order --------------------------------------------------------------- */

static int compare_str(struct wi_str a, struct wi_str b)
{
    uint32_t n = a.n_bytes < b.n_bytes ? a.n_bytes : b.n_bytes;
    int order = n == 0 ? 0 : memcmp(a.data, b.data, n);
    return order != 0 ? order
                      : (a.n_bytes > b.n_bytes) - (a.n_bytes < b.n_bytes);
}

static int compare_f64(double a, double b)
{
    if (a != a || b != b) {
        return (a != a) - (b != b);
    }
    return (a > b) - (a < b);
}

#define COMPARE(get, a, pos_a, b, pos_b)                                       \
    ((get(a)[pos_a] > get(b)[pos_b]) - (get(a)[pos_a] < get(b)[pos_b]))

int wi_value_compare(const struct wi_vec *a, uint32_t pos_a,
                     const struct wi_vec *b, uint32_t pos_b)
{
    switch (a->rep) {
    case WI_BOOL:
        return COMPARE(wi_vec_bool, a, pos_a, b, pos_b);
    case WI_I64:
        return COMPARE(wi_vec_i64, a, pos_a, b, pos_b);
    case WI_I128:
        return COMPARE(wi_vec_i128, a, pos_a, b, pos_b);
    case WI_F64:
        return compare_f64(wi_vec_f64(a)[pos_a], wi_vec_f64(b)[pos_b]);
    case WI_STR:
        return compare_str(wi_vec_str(a)[pos_a], wi_vec_str(b)[pos_b]);
    }
    return 0;
}
