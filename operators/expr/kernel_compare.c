/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons: give bools, or the positions where they hold. > and >= are <
 * and <= with the sides exchanged. NaN equals NaN and is greater than all
 * numbers, as in sorting and grouping. */
#include <string.h>

#include "operators/base/words.h"
#include "operators/expr/eval.h"

static inline bool eq_f64(double x, double y)
{
    return (x == y) | ((x != x) & (y != y));
}

static inline bool lt_f64(double x, double y)
{
    return (x < y) | ((y != y) & (x == x));
}

static inline bool lt_str(struct wi_str x, struct wi_str y)
{
    uint32_t n = x.n_bytes < y.n_bytes ? x.n_bytes : y.n_bytes;
    int order = n == 0 ? 0 : memcmp(x.data, y.data, n);
    return order != 0 ? order < 0 : x.n_bytes < y.n_bytes;
}

#define EQ(x, y) ((x) == (y))
#define NE(x, y) ((x) != (y))
#define LT(x, y) ((x) < (y))
#define LE(x, y) ((x) <= (y))
#define NE_F64(x, y) (!eq_f64(x, y))
#define LE_F64(x, y) (!lt_f64(y, x))
#define NE_STR(x, y) (!wi_str_same(x, y))
#define LE_STR(x, y) (!lt_str(y, x))

struct sides {
    const void *x;
    const void *y;
    const uint8_t *null;
    struct wi_sel_rows rows;
};

#define KERNELS(name, T, test)                                                 \
    static void name(const struct sides *s, uint8_t *restrict out)             \
    {                                                                          \
        const T *x = s->x;                                                     \
        const T *y = s->y;                                                     \
        WI_EACH(s->rows, out[p] = test(x[p], y[p]););                          \
    }                                                                          \
    static uint32_t name##_select(const struct sides *s, uint32_t *to)         \
    {                                                                          \
        const T *x = s->x;                                                     \
        const T *y = s->y;                                                     \
        const uint8_t *null = s->null;                                         \
        uint32_t k = 0;                                                        \
        if (null == NULL) {                                                    \
            WI_EACH(s->rows, to[k] = p; k += test(x[p], y[p]););               \
        } else {                                                               \
            WI_EACH(s->rows, to[k] = p;                                        \
                    k += (uint32_t)test(x[p], y[p]) & (null[p] ^ 1u););        \
        }                                                                      \
        return k;                                                              \
    }

#define KERNELS_OF(rep, T, eq, ne, lt, le)                                     \
    KERNELS(eq_of_##rep, T, eq)                                                \
    KERNELS(ne_of_##rep, T, ne)                                                \
    KERNELS(lt_of_##rep, T, lt)                                                \
    KERNELS(le_of_##rep, T, le)

KERNELS_OF(bool, uint8_t, EQ, NE, LT, LE)
KERNELS_OF(i64, int64_t, EQ, NE, LT, LE)
KERNELS_OF(i128, wi_i128, EQ, NE, LT, LE)
KERNELS_OF(f64, double, eq_f64, NE_F64, lt_f64, LE_F64)
KERNELS_OF(str, struct wi_str, wi_str_same, NE_STR, lt_str, LE_STR)

typedef void (*value_fn)(const struct sides *s, uint8_t *restrict out);
typedef uint32_t (*select_fn)(const struct sides *s, uint32_t *to);

enum test { TEST_EQ, TEST_NE, TEST_LT, TEST_LE };

#define VALUES_OF(rep)                                                         \
    {                                                                          \
        eq_of_##rep, ne_of_##rep, lt_of_##rep, le_of_##rep                     \
    }
#define SELECTS_OF(rep)                                                        \
    {                                                                          \
        eq_of_##rep##_select, ne_of_##rep##_select, lt_of_##rep##_select,      \
            le_of_##rep##_select                                               \
    }

static const value_fn values[][4] = {
    [WI_BOOL] = VALUES_OF(bool), [WI_I64] = VALUES_OF(i64),
    [WI_I128] = VALUES_OF(i128), [WI_F64] = VALUES_OF(f64),
    [WI_STR] = VALUES_OF(str),
};
static const select_fn selects[][4] = {
    [WI_BOOL] = SELECTS_OF(bool), [WI_I64] = SELECTS_OF(i64),
    [WI_I128] = SELECTS_OF(i128), [WI_F64] = SELECTS_OF(f64),
    [WI_STR] = SELECTS_OF(str),
};

static enum test sides_of(const struct wi_call *c, struct sides *s)
{
    enum wi_expr_op op = c->node->op;
    bool turn = op == WI_OP_GT || op == WI_OP_GE;
    *s = (struct sides){.x = c->arg[turn ? 1 : 0].values,
                        .y = c->arg[turn ? 0 : 1].values,
                        .null = c->out->null,
                        .rows = c->rows};
    switch (op) {
    case WI_OP_EQ:
        return TEST_EQ;
    case WI_OP_NE:
        return TEST_NE;
    case WI_OP_LT:
    case WI_OP_GT:
        return TEST_LT;
    default:
        return TEST_LE;
    }
}

void wi_kernel_compare(struct wi_call *c)
{
    struct sides s;
    enum test test = sides_of(c, &s);
    values[c->arg[0].rep][test](&s, c->out->values);
}

uint32_t wi_kernel_compare_select(struct wi_call *c, uint32_t *to)
{
    struct sides s;
    enum test test = sides_of(c, &s);
    return selects[c->arg[0].rep][test](&s, to);
}
