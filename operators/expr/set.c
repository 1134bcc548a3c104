/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of an IN: few are compared one by one, many by binary search. Texts
 * are compared by length and words, so that hardly any needs its bytes; that is
 * also their order here. */
#include "operators/expr/set.h"

#include <stdlib.h>
#include <string.h>

#include "operators/base/words.h"

enum { FEW = 6 };

struct wi_set {
    enum wi_rep rep;
    bool has_null;
    uint32_t n;
    void *values;
};

struct wi_set *wi_set_make(struct wi_expr_build *b, const struct wi_type *type,
                           uint32_t n)
{
    struct wi_set *set = wi_build_take(b, sizeof(*set));
    if (set == NULL) {
        return NULL;
    }
    set->rep = wi_type_rep(type);
    set->values = wi_build_take(b, (size_t)n * wi_rep_bytes(set->rep));
    return set->values == NULL ? NULL : set;
}

void wi_set_add(struct wi_set *set, const struct wi_value *value)
{
    size_t bytes = wi_rep_bytes(set->rep);
    if (value->null) {
        set->has_null = true;
        return;
    }
    memcpy((char *)set->values + set->n * bytes, value, bytes);
    set->n++;
}

bool wi_set_has_null(const struct wi_set *set)
{
    return set->has_null;
}

#define ORDER(x, y) (((x) > (y)) - ((x) < (y)))

static inline int order_str(struct wi_str x, struct wi_str y)
{
    struct wi_words a = wi_words_of(x);
    struct wi_words b = wi_words_of(y);
    int order = ORDER(x.n_bytes, y.n_bytes);
    order = order != 0 ? order : ORDER(a.head, b.head);
    order = order != 0 ? order : ORDER(a.tail, b.tail);
    return order != 0 || x.n_bytes <= WI_WORDS_BYTES
               ? order
               : memcmp(x.data, y.data, x.n_bytes);
}

/* NaN equals NaN and is greater than all numbers. */
static inline int order_f64(double x, double y)
{
    int nans = (x != x) - (y != y);
    return nans != 0 ? nans : (x > y) - (x < y);
}

static inline bool same_f64(double x, double y)
{
    return order_f64(x, y) == 0;
}

#define SAME(x, y) ((x) == (y))

#define SET_OF(T, rep_name, order, same)                                       \
    static int sort_##rep_name(const void *x, const void *y)                   \
    {                                                                          \
        return order(*(const T *)x, *(const T *)y);                            \
    }                                                                          \
    static inline bool find_##rep_name(const struct wi_set *set, T x)          \
    {                                                                          \
        const T *values = set->values;                                         \
        uint32_t low = 0;                                                      \
        uint32_t high = set->n;                                                \
        while (low < high) {                                                   \
            uint32_t middle = low + (high - low) / 2;                          \
            int o = order(values[middle], x);                                  \
            if (o == 0) {                                                      \
                return true;                                                   \
            }                                                                  \
            low = o < 0 ? middle + 1 : low;                                    \
            high = o < 0 ? high : middle;                                      \
        }                                                                      \
        return false;                                                          \
    }                                                                          \
    static void look_up_##rep_name(const struct wi_set *set, const T *x,       \
                                   struct wi_sel_rows rows,                    \
                                   uint8_t *restrict out)                      \
    {                                                                          \
        const T *values = set->values;                                         \
        if (set->n > FEW) {                                                    \
            WI_EACH(rows, out[p] = find_##rep_name(set, x[p]););               \
            return;                                                            \
        }                                                                      \
        WI_EACH(rows, out[p] = 0;);                                            \
        for (uint32_t i = 0; i < set->n; i++) {                                \
            T value = values[i];                                               \
            WI_EACH(rows, out[p] |= same(x[p], value););                       \
        }                                                                      \
    }

SET_OF(uint8_t, bool, ORDER, SAME)
SET_OF(int64_t, i64, ORDER, SAME)
SET_OF(wi_i128, i128, ORDER, SAME)
SET_OF(double, f64, order_f64, same_f64)
SET_OF(struct wi_str, str, order_str, wi_str_same)

void wi_set_sort(struct wi_set *set)
{
    static int (*const sorts[])(const void *, const void *) = {
        [WI_BOOL] = sort_bool, [WI_I64] = sort_i64, [WI_I128] = sort_i128,
        [WI_F64] = sort_f64,   [WI_STR] = sort_str,
    };
    qsort(set->values, set->n, wi_rep_bytes(set->rep), sorts[set->rep]);
}

void wi_set_look_up(const struct wi_set *set, const struct wi_vec *x,
                    struct wi_sel_rows rows, uint8_t *out)
{
    switch (set->rep) {
    case WI_BOOL:
        look_up_bool(set, wi_vec_bool(x), rows, out);
        break;
    case WI_I64:
        look_up_i64(set, wi_vec_i64(x), rows, out);
        break;
    case WI_I128:
        look_up_i128(set, wi_vec_i128(x), rows, out);
        break;
    case WI_F64:
        look_up_f64(set, wi_vec_f64(x), rows, out);
        break;
    case WI_STR:
        look_up_str(set, wi_vec_str(x), rows, out);
        break;
    }
}
