/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Templates of kernels: they make a loop of a function of one row.
 *
 *   static inline uint64_t add(int64_t x, int64_t y, int64_t *z)
 *   WI_KERNEL2(add_i64, int64_t, int64_t, add)
 *
 * The function returns 0, or not 0 if the row is an error. It must not trap,
 * whatever the values are: it gets those of null positions, too.
 */
#ifndef WI_OPERATORS_EXPR_KERNEL_H
#define WI_OPERATORS_EXPR_KERNEL_H

#include "operators/expr/eval.h"

/* Report the first bad position that is not null, if there is one. */
#define WI_KERNEL_END(c, bad, again)                                           \
    do {                                                                       \
        const uint8_t *kernel_null = (c)->out->null;                           \
        if ((bad) == 0) {                                                      \
            return WEIR_OK;                                                    \
        }                                                                      \
        WI_EACH((c)->rows, {                                                   \
            if (!wi_is_null(kernel_null, p) && (again) != 0) {                 \
                return wi_eval_blame(c, p);                                    \
            }                                                                  \
        });                                                                    \
        return WEIR_OK;                                                        \
    } while (0)

#define WI_KERNEL1(name, X, Z, f)                                              \
    static weir_err name(struct wi_call *c)                                    \
    {                                                                          \
        const X *x = c->arg[0].values;                                         \
        Z *restrict z = c->out->values;                                        \
        uint64_t bad = 0;                                                      \
        WI_EACH(c->rows, bad |= f(x[p], &z[p]););                              \
        Z any;                                                                 \
        WI_KERNEL_END(c, bad, f(x[p], &any));                                  \
    }

#define WI_KERNEL2(name, X, Z, f)                                              \
    static weir_err name(struct wi_call *c)                                    \
    {                                                                          \
        const X *x = c->arg[0].values;                                         \
        const X *y = c->arg[1].values;                                         \
        Z *restrict z = c->out->values;                                        \
        uint64_t bad = 0;                                                      \
        WI_EACH(c->rows, bad |= f(x[p], y[p], &z[p]););                        \
        Z any;                                                                 \
        WI_KERNEL_END(c, bad, f(x[p], y[p], &any));                            \
    }

/** With a parameter that is the same for all rows. */
#define WI_KERNEL1_WITH(name, X, Z, P, f)                                      \
    static weir_err name(struct wi_call *c, const P *par)                      \
    {                                                                          \
        const P with = *par;                                                   \
        const X *x = c->arg[0].values;                                         \
        Z *restrict z = c->out->values;                                        \
        uint64_t bad = 0;                                                      \
        WI_EACH(c->rows, bad |= f(x[p], &with, &z[p]););                       \
        Z any;                                                                 \
        WI_KERNEL_END(c, bad, f(x[p], &with, &any));                           \
    }

#endif /* WI_OPERATORS_EXPR_KERNEL_H */
