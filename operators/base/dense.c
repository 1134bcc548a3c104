/* SPDX-License-Identifier: Apache-2.0 */
/* Dense keys. Arithmetic is unsigned, so that ranges over the whole of int64 do
 * not overflow. */
#include "operators/base/dense.h"

#include <string.h>

bool wi_dense_suits(const struct wi_columns *columns, const uint32_t *cols,
                    uint32_t n_cols)
{
    for (uint32_t k = 0; k < n_cols; k++) {
        if (wi_type_rep(&columns->at[cols[k]].type) != WI_I64) {
            return false;
        }
    }
    return n_cols > 0 && n_cols <= WI_DENSE_KEYS;
}

static void widen(struct wi_key_range *range, int64_t least, int64_t most)
{
    if (range->n_values > 0) {
        int64_t old_most =
            (int64_t)((uint64_t)range->least + range->n_values - 1);
        least = least < range->least ? least : range->least;
        most = most > old_most ? most : old_most;
    }
    uint64_t span = (uint64_t)most - (uint64_t)least;
    range->least = least;
    range->n_values = span == UINT64_MAX ? span : span + 1;
}

void wi_dense_widen(struct wi_key_range *ranges, const struct wi_chunk *chunk,
                    const uint32_t *cols, uint32_t n_cols)
{
    for (uint32_t k = 0; k < n_cols; k++) {
        const struct wi_vec *vec = &chunk->col[cols[k]];
        const int64_t *v = wi_vec_i64(vec);
        int64_t least = INT64_MAX;
        int64_t most = INT64_MIN;
        for (uint32_t i = 0; i < chunk->n; i++) {
            uint32_t pos = wi_chunk_pos(chunk, i);
            if (vec->null == NULL || !vec->null[pos]) {
                least = v[pos] < least ? v[pos] : least;
                most = v[pos] > most ? v[pos] : most;
            }
        }
        if (least <= most) {
            widen(&ranges[k], least, most);
        }
    }
}

bool wi_dense_init(struct wi_dense *dense, const struct wi_key_range *ranges,
                   uint32_t n_keys, uint64_t most)
{
    uint64_t n_codes = 1;
    for (uint32_t k = 0; k < n_keys; k++) {
        if (ranges[k].n_values >= most) {
            return false;
        }
        n_codes *= ranges[k].n_values + 1; /* and null */
        if (n_codes > most) {
            return false;
        }
    }
    dense->n_keys = n_keys;
    dense->n_codes = n_codes;
    memcpy(dense->range, ranges, n_keys * sizeof(*ranges));
    return true;
}

/* One column of one chunk. */
struct place {
    const struct wi_vec *vec;
    const uint32_t *sel;
    uint32_t n;
    struct wi_key_range range;
    bool nulls;
};

/* Append each row's digit to its code; outside[i] is 1 if it has no digit. */
static void add_digit(const struct place *p, uint32_t *code, uint8_t *outside)
{
    const int64_t *v = wi_vec_i64(p->vec);
    const uint8_t *null = p->vec->null;
    uint64_t least = (uint64_t)p->range.least;
    uint64_t n_values = p->range.n_values;
    uint32_t base = (uint32_t)n_values + 1;
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t pos = p->sel == NULL ? i : p->sel[i];
        uint64_t digit = (uint64_t)v[pos] - least;
        bool out = digit >= n_values;
        if (null != NULL && null[pos]) {
            digit = n_values;
            out = !p->nulls;
        }
        code[i] = code[i] * base + (uint32_t)digit;
        outside[i] |= out;
    }
}

/* The same if all rows lie inside and none can be null; else false. */
static bool add_digit_inside(const struct place *p, uint32_t *code)
{
    const int64_t *v = wi_vec_i64(p->vec);
    uint64_t least = (uint64_t)p->range.least;
    uint64_t n_values = p->range.n_values;
    uint32_t base = (uint32_t)n_values + 1;
    bool outside = false;
    if (p->vec->null != NULL) {
        return false;
    }
    for (uint32_t i = 0; i < p->n; i++) {
        uint64_t digit = (uint64_t)v[p->sel == NULL ? i : p->sel[i]] - least;
        outside |= digit >= n_values;
        code[i] = code[i] * base + (uint32_t)digit;
    }
    return !outside;
}

static bool codes_inside(const struct wi_dense *dense,
                         const struct wi_chunk *chunk, const uint32_t *cols,
                         uint32_t *code_out)
{
    memset(code_out, 0, chunk->n * sizeof(*code_out));
    for (uint32_t k = 0; k < dense->n_keys; k++) {
        const struct place p = {&chunk->col[cols[k]], chunk->sel, chunk->n,
                                dense->range[k], false};
        if (!add_digit_inside(&p, code_out)) {
            return false;
        }
    }
    return true;
}

bool wi_dense_codes(const struct wi_dense *dense, const struct wi_chunk *chunk,
                    const uint32_t *cols, bool nulls, uint32_t *code_out)
{
    uint8_t outside[WI_CHUNK_ROWS];
    uint8_t any = 0;
    /* Tried for groups, which nearly always lie inside; of the left rows of
     * a join some nearly always lie outside. */
    if (nulls && codes_inside(dense, chunk, cols, code_out)) {
        return true;
    }
    memset(outside, 0, chunk->n);
    memset(code_out, 0, chunk->n * sizeof(*code_out));
    for (uint32_t k = 0; k < dense->n_keys; k++) {
        const struct place p = {&chunk->col[cols[k]], chunk->sel, chunk->n,
                                dense->range[k], nulls};
        add_digit(&p, code_out, outside);
    }
    for (uint32_t i = 0; i < chunk->n; i++) {
        code_out[i] = outside[i] ? (uint32_t)dense->n_codes : code_out[i];
        any |= outside[i];
    }
    return any == 0;
}
