/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of aggregates: a loop per representation, without a branch on the data
 * but for nulls. */
#include "operators/op/cells.h"

#include <string.h>

#include "operators/base/hash.h"

enum { FIRST_GROUPS = 64, TEXT_SLACK = 1 << 16, TEXT_ROOM = 16 };

static uint32_t value_bytes(const struct wi_cell *cell)
{
    switch (cell->kind) {
    case WI_CELL_SUM:
        return cell->rep == WI_F64 ? 8 : 16;
    case WI_CELL_LEAST:
    case WI_CELL_MOST:
        return wi_rep_bytes(cell->rep);
    default:
        return 8;
    }
}

static bool needs_has(const struct wi_cell *cell)
{
    return cell->kind >= WI_CELL_SUM;
}

static bool needs_high(const struct wi_cell *cell)
{
    return cell->kind == WI_CELL_SUM && cell->rep == WI_I128;
}

/* The arrays of a cell. */
struct array {
    void *at;
    size_t bytes; /* of a group; 0: the cell has no such array */
};
enum { VALUES, HAS, HIGH, N_ARRAYS };

static void list_arrays(const struct wi_cell *cell,
                        struct array out[static N_ARRAYS])
{
    out[VALUES] = (struct array){cell->values, value_bytes(cell)};
    out[HAS] = (struct array){cell->has, needs_has(cell) ? 1 : 0};
    out[HIGH] =
        (struct array){cell->high, needs_high(cell) ? sizeof(*cell->high) : 0};
}

static void set_arrays(struct wi_cell *cell,
                       const struct array arrays[static N_ARRAYS],
                       uint64_t room)
{
    cell->values = arrays[VALUES].at;
    cell->has = arrays[HAS].at;
    cell->high = arrays[HIGH].at;
    cell->room = room;
}

/* Give back the first n arrays. */
static void put_arrays(struct wi_cell *cell, const struct array *arrays,
                       uint32_t n, uint64_t room)
{
    for (uint32_t i = 0; i < n; i++) {
        if (arrays[i].bytes > 0) {
            wi_mem_put(cell->mem, arrays[i].at, room * arrays[i].bytes);
        }
    }
}

static void put_memory(struct wi_cell *cell)
{
    static const struct array none[N_ARRAYS];
    struct array arrays[N_ARRAYS];
    list_arrays(cell, arrays);
    put_arrays(cell, arrays, cell->room > 0 ? N_ARRAYS : 0, cell->room);
    set_arrays(cell, none, 0);
}

void wi_cell_fini(struct wi_cell *cell)
{
    put_memory(cell);
    wi_text_fini(&cell->text);
}

void wi_cell_clear(struct wi_cell *cell, bool free_memory)
{
    wi_text_fini(&cell->text);
    cell->text_live = 0;
    cell->n = 0;
    if (free_memory) {
        put_memory(cell);
    }
}

/* All arrays or none: put_memory knows one size. */
static weir_err grow(struct wi_cell *cell, uint64_t room,
                     struct weir_error *err)
{
    struct array old[N_ARRAYS];
    struct array arrays[N_ARRAYS];
    list_arrays(cell, old);
    for (uint32_t i = 0; i < N_ARRAYS; i++) {
        arrays[i] = (struct array){NULL, old[i].bytes};
        if (old[i].bytes == 0) {
            continue;
        }
        weir_err code =
            wi_mem_take(cell->mem, room * old[i].bytes, &arrays[i].at, err);
        if (code != WEIR_OK) {
            put_arrays(cell, arrays, i, room);
            return code;
        }
        if (cell->n > 0) {
            memcpy(arrays[i].at, old[i].at, cell->n * old[i].bytes);
        }
    }
    put_memory(cell);
    set_arrays(cell, arrays, room);
    return WEIR_OK;
}

weir_err wi_cell_reserve(struct wi_cell *cell, uint64_t n,
                         struct weir_error *err)
{
    uint64_t room = cell->room == 0 ? FIRST_GROUPS : cell->room;
    while (room < n) {
        room *= 2;
    }
    if (room > cell->room) {
        weir_err code = grow(cell, room, err);
        if (code != WEIR_OK) {
            return code;
        }
    }
    struct array arrays[N_ARRAYS];
    list_arrays(cell, arrays);
    for (uint32_t i = 0; i < N_ARRAYS && n > cell->n; i++) {
        if (arrays[i].bytes > 0) {
            memset((char *)arrays[i].at + cell->n * arrays[i].bytes, 0,
                   (n - cell->n) * arrays[i].bytes);
        }
    }
    cell->n = n > cell->n ? n : cell->n;
    return WEIR_OK;
}

/* ---- counts and sums ----------------------------------------------------- */

/* What a loop over a chunk's argument needs. */
struct input {
    const void *values;
    const uint8_t *null;
    const uint32_t *sel;
    const uint32_t *group;
    uint32_t n;
};

static void count_rows(struct wi_cell *cell, const struct input *in)
{
    int64_t *count = cell->values;
    for (uint32_t i = 0; i < in->n; i++) {
        count[in->group[i]]++;
    }
}

static void count_values(struct wi_cell *cell, const struct input *in)
{
    int64_t *count = cell->values;
    for (uint32_t i = 0; i < in->n; i++) {
        count[in->group[i]] += !in->null[in->sel == NULL ? i : in->sel[i]];
    }
}

/* One loop for dense chunks without nulls and one for others. `take` is a
 * statement on group g and value v. */
#define EACH_VALUE(type, take)                                                 \
    do {                                                                       \
        const type *values = in->values;                                       \
        if (in->sel == NULL && in->null == NULL) {                             \
            for (uint32_t i = 0; i < in->n; i++) {                             \
                uint32_t g = in->group[i];                                     \
                type v = values[i];                                            \
                take;                                                          \
            }                                                                  \
            break;                                                             \
        }                                                                      \
        for (uint32_t i = 0; i < in->n; i++) {                                 \
            uint32_t pos = in->sel == NULL ? i : in->sel[i];                   \
            if (in->null == NULL || !in->null[pos]) {                          \
                uint32_t g = in->group[i];                                     \
                type v = values[pos];                                          \
                take;                                                          \
            }                                                                  \
        }                                                                      \
    } while (0)

static void add_counts(struct wi_cell *cell, const struct input *in)
{
    int64_t *count = cell->values;
    EACH_VALUE(int64_t, count[g] += v);
}

/* The sum of 2^64 values of 64 bits fits in 128 bits. */
static void sum_i64(struct wi_cell *cell, const struct input *in)
{
    wi_i128 *sum = cell->values;
    uint8_t *has = cell->has;
    EACH_VALUE(int64_t, sum[g] += v; has[g] = 1);
}

/* *low has lost 2^128 = 3 * 10^38 + the rest, by adding a positive number or a
 * negative one. It has the other sign now, so that the rest fits. */
static __attribute__((cold)) void carry(wi_i128 *low, int64_t *high,
                                        bool positive)
{
    const wi_u128 unit = (wi_u128)wi_pow10(WI_DECIMAL_MOST);
    const wi_i128 rest = (wi_i128)(-unit - unit - unit);
    *low += positive ? rest : -rest;
    *high += positive ? 3 : -3;
}

static void sum_i128(struct wi_cell *cell, const struct input *in)
{
    wi_i128 *sum = cell->values;
    int64_t *high = cell->high;
    uint8_t *has = cell->has;
    EACH_VALUE(
        wi_i128, if (__builtin_add_overflow(sum[g], v, &sum[g])) {
            carry(&sum[g], &high[g], v > 0);
        } has[g] = 1);
}

static void add_high(struct wi_cell *cell, const struct wi_chunk *chunk,
                     const uint32_t *group)
{
    const int64_t *high = wi_vec_i64(&chunk->col[cell->col + 1]);
    for (uint32_t i = 0; i < chunk->n; i++) {
        cell->high[group[i]] += high[wi_chunk_pos(chunk, i)];
    }
}

static void sum_f64(struct wi_cell *cell, const struct input *in)
{
    double *sum = cell->values;
    uint8_t *has = cell->has;
    EACH_VALUE(double, sum[g] += v; has[g] = 1);
}

static void sum(struct wi_cell *cell, const struct input *in)
{
    switch (cell->rep) {
    case WI_F64:
        sum_f64(cell, in);
        break;
    case WI_I128:
        sum_i128(cell, in);
        break;
    default:
        sum_i64(cell, in);
    }
}

/* ---- least and most ------------------------------------------------------ */

/* NaN is above all numbers, as in sorts. */
static inline bool below_f64(double a, double b)
{
    return a < b || (b != b && a == a);
}

#define BELOW(a, b) ((a) < (b))
#define KEEP_IF(condition)                                                     \
    bool better = !has[g] || (condition);                                      \
    best[g] = better ? v : best[g];                                            \
    has[g] = 1

#define EXTREME(name, type, below)                                             \
    static void name(struct wi_cell *cell, const struct input *in)             \
    {                                                                          \
        type *best = cell->values;                                             \
        uint8_t *has = cell->has;                                              \
        if (cell->kind == WI_CELL_LEAST) {                                     \
            EACH_VALUE(type, KEEP_IF(below(v, best[g])));                      \
        } else {                                                               \
            EACH_VALUE(type, KEEP_IF(below(best[g], v)));                      \
        }                                                                      \
    }

EXTREME(extreme_bool, uint8_t, BELOW)
EXTREME(extreme_i64, int64_t, BELOW)
EXTREME(extreme_i128, wi_i128, BELOW)
EXTREME(extreme_f64, double, below_f64)

/* Move all strings in use to new blocks; replaced ones are given back. */
static weir_err pack_text(struct wi_cell *cell, struct weir_error *err)
{
    struct wi_text packed = {.mem = cell->mem};
    struct wi_kept_text *kept = cell->values;
    weir_err code = WEIR_OK;
    char *at = NULL;
    if (cell->text_live > 0) {
        code = wi_text_take(&packed, cell->text_live, &at, err);
    }
    if (code != WEIR_OK) {
        return code;
    }
    for (uint64_t g = 0; g < cell->n; g++) {
        if (kept[g].room > 0) {
            memcpy(at, kept[g].data, kept[g].n_bytes);
            kept[g].data = at;
            at += kept[g].room;
        }
    }
    wi_text_fini(&cell->text);
    cell->text = packed;
    return WEIR_OK;
}

static weir_err replace(struct wi_cell *cell, struct wi_kept_text *kept,
                        const struct wi_str *s, struct weir_error *err)
{
    if (s->n_bytes > kept->room) {
        uint32_t room = s->n_bytes < TEXT_ROOM ? TEXT_ROOM : s->n_bytes;
        char *at = NULL;
        weir_err code = wi_text_take(&cell->text, room, &at, err);
        if (code != WEIR_OK) {
            return code;
        }
        cell->text_live += room - kept->room;
        kept->data = at;
        kept->room = room;
    }
    if (s->n_bytes > 0) {
        memcpy(kept->data, s->data, s->n_bytes);
    }
    kept->n_bytes = s->n_bytes;
    return WEIR_OK;
}

static int compare_kept(const struct wi_str *s, const struct wi_kept_text *kept)
{
    struct wi_str other = {kept->data, kept->n_bytes};
    const struct wi_vec a = {WI_STR, (void *)(uintptr_t)s, NULL};
    const struct wi_vec b = {WI_STR, &other, NULL};
    return wi_value_compare(&a, 0, &b, 0);
}

static weir_err extreme_str(struct wi_cell *cell, const struct input *in,
                            struct weir_error *err)
{
    const struct wi_str *values = in->values;
    struct wi_kept_text *kept = cell->values;
    int wanted = cell->kind == WI_CELL_LEAST ? -1 : 1;
    for (uint32_t i = 0; i < in->n; i++) {
        uint32_t pos = in->sel == NULL ? i : in->sel[i];
        uint32_t g = in->group[i];
        if (in->null != NULL && in->null[pos]) {
            continue;
        }
        int order =
            cell->has[g] ? compare_kept(&values[pos], &kept[g]) : wanted;
        if ((wanted < 0 && order < 0) || (wanted > 0 && order > 0)) {
            weir_err code = replace(cell, &kept[g], &values[pos], err);
            if (code != WEIR_OK) {
                return code;
            }
        }
        cell->has[g] = 1;
    }
    if (cell->text.n_bytes > 2 * cell->text_live + TEXT_SLACK) {
        return pack_text(cell, err);
    }
    return WEIR_OK;
}

static weir_err extreme(struct wi_cell *cell, const struct input *in,
                        struct weir_error *err)
{
    switch (cell->rep) {
    case WI_BOOL:
        extreme_bool(cell, in);
        break;
    case WI_I64:
        extreme_i64(cell, in);
        break;
    case WI_I128:
        extreme_i128(cell, in);
        break;
    case WI_F64:
        extreme_f64(cell, in);
        break;
    case WI_STR:
        return extreme_str(cell, in, err);
    }
    return WEIR_OK;
}

weir_err wi_cell_update(struct wi_cell *cell, const struct wi_chunk *chunk,
                        const uint32_t *group, struct weir_error *err)
{
    struct input in = {.sel = chunk->sel, .group = group, .n = chunk->n};
    if (cell->kind != WI_CELL_ROWS) {
        in.values = chunk->col[cell->col].values;
        in.null = chunk->col[cell->col].null;
    }
    switch (cell->kind) {
    case WI_CELL_ROWS:
        count_rows(cell, &in);
        break;
    case WI_CELL_COUNT:
        if (in.null == NULL) {
            count_rows(cell, &in);
        } else {
            count_values(cell, &in);
        }
        break;
    case WI_CELL_ADD:
        add_counts(cell, &in);
        break;
    case WI_CELL_SUM:
        sum(cell, &in);
        if (cell->has_high) {
            add_high(cell, chunk, group);
        }
        break;
    case WI_CELL_LEAST:
    case WI_CELL_MOST:
        return extreme(cell, &in, err);
    }
    return WEIR_OK;
}
