/* SPDX-License-Identifier: Apache-2.0 */
/* + - * / % and signs. A sum overflows if its sign differs from the signs of
 * both operands (Warren, Hacker's Delight, 2-13): a test without a branch, so
 * that the loop can be vectorised. */
#include <math.h>
#include <string.h>

#include "operators/base/number.h"
#include "operators/base/ratio.h"
#include "operators/expr/kernel.h"
#include "operators/expr/value.h"

/* ---- int64, and decimals of up to 18 digits ------------------------------ */

static inline uint64_t add_i64(int64_t x, int64_t y, int64_t *z)
{
    int64_t sum = (int64_t)((uint64_t)x + (uint64_t)y);
    *z = sum;
    return (uint64_t)((x ^ sum) & (y ^ sum)) >> 63;
}

static inline uint64_t sub_i64(int64_t x, int64_t y, int64_t *z)
{
    int64_t rest = (int64_t)((uint64_t)x - (uint64_t)y);
    *z = rest;
    return (uint64_t)((x ^ y) & (x ^ rest)) >> 63;
}

static inline uint64_t mul_i64(int64_t x, int64_t y, int64_t *z)
{
    return __builtin_mul_overflow(x, y, z);
}

static inline uint64_t mod_i64(int64_t x, int64_t y, int64_t *z)
{
    *z = y == 0 || y == -1 ? 0 : x % y;
    return y == 0;
}

static inline uint64_t neg_i64(int64_t x, int64_t *z)
{
    return sub_i64(0, x, z);
}

static inline uint64_t abs_i64(int64_t x, int64_t *z)
{
    *z = x < 0 ? (int64_t) - (uint64_t)x : x;
    return x == INT64_MIN;
}

static inline uint64_t mul_wide(int64_t x, int64_t y, wi_i128 *z)
{
    *z = (wi_i128)x * y;
    return 0;
}

WI_KERNEL2(run_add_i64, int64_t, int64_t, add_i64)
WI_KERNEL2(run_sub_i64, int64_t, int64_t, sub_i64)
WI_KERNEL2(run_mul_i64, int64_t, int64_t, mul_i64)
WI_KERNEL2(run_mod_i64, int64_t, int64_t, mod_i64)
WI_KERNEL1(run_neg_i64, int64_t, int64_t, neg_i64)
WI_KERNEL1(run_abs_i64, int64_t, int64_t, abs_i64)
WI_KERNEL2(run_mul_wide, int64_t, wi_i128, mul_wide)

/* ---- decimals of up to 38 digits ----------------------------------------- */

/* 10^38, a product because C has no literals of 128 bits. */
static const wi_i128 decimal_end =
    (wi_i128)10000000000000000000u * 10000000000000000000u;

static inline bool beyond(wi_i128 v)
{
    return v >= decimal_end || v <= -decimal_end;
}

static inline uint64_t add_i128(wi_i128 x, wi_i128 y, wi_i128 *z)
{
    bool wraps = __builtin_add_overflow(x, y, z);
    return wraps | beyond(*z);
}

static inline uint64_t sub_i128(wi_i128 x, wi_i128 y, wi_i128 *z)
{
    bool wraps = __builtin_sub_overflow(x, y, z);
    return wraps | beyond(*z);
}

static inline uint64_t mul_i128(wi_i128 x, wi_i128 y, wi_i128 *z)
{
    bool wraps = wi_mul_i128(x, y, z);
    return wraps || beyond(*z);
}

static inline uint64_t mod_i128(wi_i128 x, wi_i128 y, wi_i128 *z)
{
    *z = y == 0 || y == -1 ? 0 : x % y;
    return y == 0;
}

static inline uint64_t neg_i128(wi_i128 x, wi_i128 *z)
{
    return sub_i128(0, x, z);
}

static inline uint64_t abs_i128(wi_i128 x, wi_i128 *z)
{
    return x < 0 ? sub_i128(0, x, z) : add_i128(x, 0, z);
}

WI_KERNEL2(run_add_i128, wi_i128, wi_i128, add_i128)
WI_KERNEL2(run_sub_i128, wi_i128, wi_i128, sub_i128)
WI_KERNEL2(run_mul_i128, wi_i128, wi_i128, mul_i128)
WI_KERNEL2(run_mod_i128, wi_i128, wi_i128, mod_i128)
WI_KERNEL1(run_neg_i128, wi_i128, wi_i128, neg_i128)
WI_KERNEL1(run_abs_i128, wi_i128, wi_i128, abs_i128)

/* The next digit of a quotient: *rest * 10 / y, for *rest < y. The product may
 * not fit 128 bits, so *rest is added ten times. */
static uint32_t next_digit(wi_u128 *rest, wi_u128 y)
{
    uint32_t digit = 0;
    wi_u128 once = *rest;
    wi_u128 sum = 0;
    for (uint32_t i = 0; i < 10; i++) {
        if (sum >= y - once) {
            sum -= y - once;
            digit++;
        } else {
            sum += once;
        }
    }
    *rest = sum;
    return digit;
}

/* x * 10^shift / y, digit by digit. true: more than 38 digits. */
static bool long_division(wi_u128 x, wi_u128 y, uint32_t shift, wi_u128 *q,
                          wi_u128 *rest)
{
    *q = x / y;
    *rest = x % y;
    for (; shift > 0; shift--) {
        if (*q >= (wi_u128)decimal_end / 10) {
            return true;
        }
        *q = *q * 10 + next_digit(rest, y);
    }
    return false;
}

/* x * 10^shift / y, rounded half away from zero. */
static inline uint64_t div_i128(wi_i128 x, wi_i128 y, uint32_t shift,
                                wi_i128 factor, wi_i128 *z)
{
    wi_u128 a = wi_abs_i128(x);
    wi_u128 b = wi_abs_i128(y);
    wi_u128 q;
    wi_u128 rest;
    *z = 0;
    if (b == 0) {
        return 1;
    }
    wi_i128 scaled;
    if (factor != 0 && !wi_mul_i128((wi_i128)a, factor, &scaled)) {
        q = (wi_u128)scaled / b;
        rest = (wi_u128)scaled % b;
    } else if (long_division(a, b, shift, &q, &rest)) {
        return 1;
    }
    q += rest >= b - rest;
    *z = (x < 0) != (y < 0) ? -(wi_i128)q : (wi_i128)q;
    return beyond(*z);
}

static weir_err run_div_i128(struct wi_call *c)
{
    const wi_i128 *x = c->arg[0].values;
    const wi_i128 *y = c->arg[1].values;
    wi_i128 *z = c->out->values;
    uint32_t shift =
        (uint32_t)(c->node->type.scale - c->node->arg[0]->type.scale +
                   c->node->arg[1]->type.scale);
    wi_i128 factor = shift <= WI_DECIMAL_MOST ? wi_pow10(shift) : 0;
    uint64_t bad = 0;
    WI_EACH(c->rows, bad |= div_i128(x[p], y[p], shift, factor, &z[p]););
    wi_i128 any;
    WI_KERNEL_END(c, bad, div_i128(x[p], y[p], shift, factor, &any));
}

/* ---- float64 ------------------------------------------------------------- */

/* 1 if infinite or NaN: all bits of the exponent are set, so that adding 1 to
 * it carries into the sign bit. */
static inline uint64_t is_special(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return ((bits & INT64_MAX) + (UINT64_C(1) << 52)) >> 63;
}

/* Is the result infinite or NaN though both operands are finite? */
static inline uint64_t lost(double x, double y, double z)
{
    return is_special(z) & ~(is_special(x) | is_special(y));
}

static inline uint64_t add_f64(double x, double y, double *z)
{
    double v = x + y;
    *z = v;
    return lost(x, y, v);
}

static inline uint64_t sub_f64(double x, double y, double *z)
{
    double v = x - y;
    *z = v;
    return lost(x, y, v);
}

static inline uint64_t mul_f64(double x, double y, double *z)
{
    double v = x * y;
    *z = v;
    return lost(x, y, v);
}

static inline uint64_t div_f64(double x, double y, double *z)
{
    double v = x / (y == 0.0 ? 1.0 : y);
    *z = v;
    return (y == 0.0) | lost(x, y, v);
}

static inline uint64_t mod_f64(double x, double y, double *z)
{
    *z = fmod(x, y == 0.0 ? 1.0 : y);
    return y == 0.0;
}

static inline uint64_t neg_f64(double x, double *z)
{
    *z = -x;
    return 0;
}

static inline uint64_t abs_f64(double x, double *z)
{
    *z = fabs(x);
    return 0;
}

WI_KERNEL2(run_add_f64, double, double, add_f64)
WI_KERNEL2(run_sub_f64, double, double, sub_f64)
WI_KERNEL2(run_mul_f64, double, double, mul_f64)
WI_KERNEL2(run_div_f64, double, double, div_f64)
WI_KERNEL2(run_mod_f64, double, double, mod_f64)
WI_KERNEL1(run_neg_f64, double, double, neg_f64)
WI_KERNEL1(run_abs_f64, double, double, abs_f64)

/* ---- quotients of integers ----------------------------------------------- */

static inline uint64_t ratio_i128(wi_i128 x, wi_i128 y, double *z)
{
    *z = wi_ratio_f64(y < 0 ? -x : x, y == 0 ? 1 : wi_abs_i128(y));
    return y == 0;
}

static inline uint64_t ratio_i64(int64_t x, int64_t y, double *z)
{
    return ratio_i128(x, y, z);
}

WI_KERNEL2(run_ratio_i64, int64_t, double, ratio_i64)
WI_KERNEL2(run_ratio_i128, wi_i128, double, ratio_i128)

static weir_err run_div_float(struct wi_call *c)
{
    switch (c->arg[0].rep) {
    case WI_I64:
        return run_ratio_i64(c);
    case WI_I128:
        return run_ratio_i128(c);
    default:
        return run_div_f64(c);
    }
}

/* ---- by representation --------------------------------------------------- */

static weir_err arith_i64(struct wi_call *c)
{
    switch (c->node->op) {
    case WI_OP_ADD:
        return run_add_i64(c);
    case WI_OP_SUB:
        return run_sub_i64(c);
    case WI_OP_MUL:
        return run_mul_i64(c);
    default:
        return run_mod_i64(c);
    }
}

static weir_err arith_i128(struct wi_call *c)
{
    switch (c->node->op) {
    case WI_OP_ADD:
        return run_add_i128(c);
    case WI_OP_SUB:
        return run_sub_i128(c);
    case WI_OP_MUL:
        return c->arg[0].rep == WI_I64 ? run_mul_wide(c) : run_mul_i128(c);
    case WI_OP_DIV:
        return run_div_i128(c);
    default:
        return run_mod_i128(c);
    }
}

static weir_err arith_f64(struct wi_call *c)
{
    switch (c->node->op) {
    case WI_OP_ADD:
        return run_add_f64(c);
    case WI_OP_SUB:
        return run_sub_f64(c);
    case WI_OP_MUL:
        return run_mul_f64(c);
    case WI_OP_DIV:
        return run_div_float(c);
    default:
        return run_mod_f64(c);
    }
}

weir_err wi_kernel_arith(struct wi_call *c)
{
    switch (c->out->rep) {
    case WI_I64:
        return arith_i64(c);
    case WI_I128:
        return arith_i128(c);
    default:
        return arith_f64(c);
    }
}

weir_err wi_kernel_sign(struct wi_call *c)
{
    bool neg = c->node->op == WI_OP_NEG;
    switch (c->out->rep) {
    case WI_I64:
        return neg ? run_neg_i64(c) : run_abs_i64(c);
    case WI_I128:
        return neg ? run_neg_i128(c) : run_abs_i128(c);
    default:
        return neg ? run_neg_f64(c) : run_abs_f64(c);
    }
}
