/* SPDX-License-Identifier: Apache-2.0 */
/* Order of rows. In prefixes the sign bit of numbers is inverted, so that
 * negative ones come first. The prefix of a wide number is its upper half, that
 * of a string its first eight bytes. */
#include "operators/op/order.h"

#include <string.h>

#include "operators/base/hash.h"

static const uint64_t SIGN = UINT64_C(1) << 63;

static int order_key(const struct wi_sort_key *key, const struct wi_vec *a,
                     uint32_t pos_a, const struct wi_vec *b, uint32_t pos_b)
{
    int null_a = a->null != NULL && a->null[pos_a];
    int null_b = b->null != NULL && b->null[pos_b];
    if (null_a || null_b) {
        return key->nulls_first ? null_b - null_a : null_a - null_b;
    }
    int order = wi_value_compare(a, pos_a, b, pos_b);
    return key->descending ? -order : order;
}

int wi_order_rows(const struct wi_sort_key *keys, uint32_t n_keys,
                  const struct wi_vec *a, uint32_t pos_a,
                  const struct wi_vec *b, uint32_t pos_b)
{
    for (uint32_t k = 0; k < n_keys; k++) {
        uint32_t col = keys[k].col;
        int order = order_key(&keys[k], &a[col], pos_a, &b[col], pos_b);
        if (order != 0) {
            return order;
        }
    }
    return 0;
}

/* ---- prefixes ------------------------------------------------------------ */

static inline uint64_t prefix_bool(uint8_t v)
{
    return v;
}

static inline uint64_t prefix_i64(int64_t v)
{
    return (uint64_t)v ^ SIGN;
}

static inline uint64_t prefix_i128(wi_i128 v)
{
    return (uint64_t)((wi_u128)v >> 64) ^ SIGN;
}

static inline uint64_t prefix_f64(double v)
{
    uint64_t bits = 0;
    if (v != v) {
        return UINT64_MAX;
    }
    v += 0.0; /* -0.0 becomes 0.0 */
    memcpy(&bits, &v, sizeof(bits));
    return bits & SIGN ? ~bits : bits | SIGN;
}

static inline uint64_t prefix_str(struct wi_str s)
{
    unsigned char first[sizeof(uint64_t)] = {0};
    uint64_t prefix = 0;
    size_t n = s.n_bytes < sizeof(first) ? s.n_bytes : sizeof(first);
    if (n > 0) {
        memcpy(first, s.data, n);
    }
    for (size_t i = 0; i < sizeof(first); i++) {
        prefix = prefix << 8 | first[i];
    }
    return prefix;
}

#define EACH_ROW(get, prefix_of)                                               \
    for (uint32_t i = 0; i < chunk->n; i++) {                                  \
        prefix_out[i] = prefix_of(get(vec)[wi_chunk_pos(chunk, i)]);           \
    }

static void prefix_values(const struct wi_vec *vec,
                          const struct wi_chunk *chunk, uint64_t *prefix_out)
{
    switch (vec->rep) {
    case WI_BOOL:
        EACH_ROW(wi_vec_bool, prefix_bool)
        break;
    case WI_I64:
        EACH_ROW(wi_vec_i64, prefix_i64)
        break;
    case WI_I128:
        EACH_ROW(wi_vec_i128, prefix_i128)
        break;
    case WI_F64:
        EACH_ROW(wi_vec_f64, prefix_f64)
        break;
    case WI_STR:
        EACH_ROW(wi_vec_str, prefix_str)
        break;
    }
}

void wi_order_prefix(const struct wi_sort_key *key,
                     const struct wi_chunk *chunk, uint64_t *prefix_out)
{
    const struct wi_vec *vec = &chunk->col[key->col];
    uint64_t turn = key->descending ? UINT64_MAX : 0;
    uint64_t null_prefix = key->nulls_first ? 0 : UINT64_MAX;
    prefix_values(vec, chunk, prefix_out);
    for (uint32_t i = 0; i < chunk->n; i++) {
        prefix_out[i] ^= turn;
    }
    for (uint32_t i = 0; vec->null != NULL && i < chunk->n; i++) {
        if (vec->null[wi_chunk_pos(chunk, i)]) {
            prefix_out[i] = null_prefix;
        }
    }
}

bool wi_order_prefix_is_all(const struct wi_vec *vec)
{
    return vec->null == NULL &&
           (vec->rep == WI_BOOL || vec->rep == WI_I64 || vec->rep == WI_F64);
}
