/* SPDX-License-Identifier: Apache-2.0 */
/* Casts from and to floats, rounded once: to the nearest float, half way to the
 * even one, and from a float half away from zero. Numbers of few digits are
 * divided by the processor, as they and the power of ten are exact. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "operators/base/ratio.h"
#include "operators/expr/check.h"
#include "operators/expr/kernel.h"

/* Powers of ten that are exact as float64: 5^22 is below 2^53. */
enum { EXACT_SCALE = 22 };

struct scaled {
    wi_u128 power; /* 10^scale of the decimal */
    double factor;
    bool exact; /* is factor the power? */
    struct wi_value_range range;
};

static struct scaled scaled_by(const struct wi_type *decimal)
{
    const uint32_t scale =
        decimal->kind == WI_TYPE_DECIMAL ? decimal->scale : 0;
    const wi_i128 power = wi_pow10(scale);
    return (struct scaled){.power = (wi_u128)power,
                           .factor = (double)power,
                           .exact = scale <= EXACT_SCALE,
                           .range = wi_type_range(decimal)};
}

/* ---- to floats ----------------------------------------------------------- */

static inline uint64_t f64_of_i64(int64_t x, double *z)
{
    *z = (double)x;
    return 0;
}

static inline uint64_t f64_of_i128(wi_i128 x, double *z)
{
    *z = (double)x;
    return 0;
}

static inline uint64_t f32_of_i64(int64_t x, double *z)
{
    *z = (double)(float)x;
    return 0;
}

static inline uint64_t f32_of_i128(wi_i128 x, double *z)
{
    *z = (double)(float)x;
    return 0;
}

static inline double divided(wi_i128 x, const struct scaled *s)
{
    return s->exact && x <= WI_RATIO_EXACT && x >= -WI_RATIO_EXACT
               ? (double)(int64_t)x / s->factor
               : wi_ratio_f64_any(x, s->power);
}

static inline uint64_t f64_scaled(wi_i128 x, const struct scaled *s, double *z)
{
    *z = divided(x, s);
    return 0;
}

static inline uint64_t f64_scaled_64(int64_t x, const struct scaled *s,
                                     double *z)
{
    *z = divided(x, s);
    return 0;
}

/* Can the float32 that is nearest to v be another than that of what v was
 * rounded from? Only half way between two of them. */
static inline bool is_half_way(double v)
{
    const uint64_t rest = (UINT64_C(1) << (DBL_MANT_DIG - FLT_MANT_DIG)) - 1;
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return (bits & rest) == (rest + 1) / 2 || fabs(v) < (double)FLT_MIN;
}

static inline uint64_t f32_scaled(wi_i128 x, const struct scaled *s, double *z)
{
    const double v = divided(x, s);
    *z = is_half_way(v) ? wi_ratio_f32_any(x, s->power) : (double)(float)v;
    return 0;
}

static inline uint64_t f32_scaled_64(int64_t x, const struct scaled *s,
                                     double *z)
{
    return f32_scaled(x, s, z);
}

static inline uint64_t f32_of_f64(double x, double *z)
{
    *z = (double)(float)x;
    return isinf(*z) && !isinf(x);
}

WI_KERNEL1(run_f64_of_i64, int64_t, double, f64_of_i64)
WI_KERNEL1(run_f64_of_i128, wi_i128, double, f64_of_i128)
WI_KERNEL1(run_f32_of_i64, int64_t, double, f32_of_i64)
WI_KERNEL1(run_f32_of_i128, wi_i128, double, f32_of_i128)
WI_KERNEL1(run_f32_of_f64, double, double, f32_of_f64)
WI_KERNEL1_WITH(run_f64_64, int64_t, double, struct scaled, f64_scaled_64)
WI_KERNEL1_WITH(run_f64_128, wi_i128, double, struct scaled, f64_scaled)
WI_KERNEL1_WITH(run_f32_64, int64_t, double, struct scaled, f32_scaled_64)
WI_KERNEL1_WITH(run_f32_128, wi_i128, double, struct scaled, f32_scaled)

static weir_err to_float(struct wi_call *c)
{
    const struct scaled s = scaled_by(&c->node->arg[0]->type);
    const bool single = c->node->type.kind == WI_TYPE_FLOAT32;
    const bool narrow = c->arg[0].rep == WI_I64;
    if (s.power == 1) {
        return narrow ? (single ? run_f32_of_i64(c) : run_f64_of_i64(c))
                      : (single ? run_f32_of_i128(c) : run_f64_of_i128(c));
    }
    return narrow ? (single ? run_f32_64(c, &s) : run_f64_64(c, &s))
                  : (single ? run_f32_128(c, &s) : run_f64_128(c, &s));
}

/* ---- from floats --------------------------------------------------------- */

/* high * 2^64 + low, shifted to the right by n, or to the left. false: the
 * result has more than 128 bits. */
static inline bool shift(wi_u128 high, uint64_t low, int n, wi_u128 *out)
{
    if (n >= 64) {
        *out = n - 64 < 128 ? high >> (n - 64) : 0;
        return true;
    }
    if (n >= 0) {
        *out = high << (64 - n) | low >> n;
        return high >> (64 + n) == 0;
    }
    const wi_u128 v = high << 64 | low;
    *out = -n < 128 ? v << -n : 0;
    return v == 0 || (high >> 64 == 0 && -n < 128 && v >> (128 + n) == 0);
}

/* x is m * 2^e: its product with the power has 180 bits at most. Of those
 * behind the point the first one decides, and the others are not looked at. */
static inline uint64_t i128_of_f64(double x, const struct scaled *s, wi_i128 *z)
{
    enum { BITS = 52, BIAS = 1075, SPECIAL = 0x7ff };
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    const int raised = (int)(bits >> BITS) & SPECIAL;
    const uint64_t m =
        (bits & ((UINT64_C(1) << BITS) - 1)) | (uint64_t)(raised != 0) << BITS;
    const int e = (raised == 0 ? 1 : raised) - BIAS;
    const wi_u128 low = (wi_u128)m * (uint64_t)s->power;
    const wi_u128 high = (wi_u128)m * (uint64_t)(s->power >> 64) + (low >> 64);
    wi_u128 twice;
    const bool fits = shift(high, (uint64_t)low, -e - 1, &twice);
    const wi_u128 size = (twice >> 1) + (twice & 1);
    *z = bits >> 63 != 0 ? (wi_i128)-size : (wi_i128)size;
    return raised == SPECIAL || !fits || size >> 127 != 0 ||
           *z < s->range.least || *z > s->range.most;
}

static inline uint64_t i64_of_f64(double x, const struct scaled *s, int64_t *z)
{
    wi_i128 v;
    uint64_t bad = i128_of_f64(x, s, &v);
    *z = (int64_t)v;
    return bad;
}

WI_KERNEL1_WITH(run_i64_of_f64, double, int64_t, struct scaled, i64_of_f64)
WI_KERNEL1_WITH(run_i128_of_f64, double, wi_i128, struct scaled, i128_of_f64)

weir_err wi_kernel_cast_float(struct wi_call *c)
{
    if (!wi_type_is_float(&c->node->arg[0]->type)) {
        return to_float(c);
    }
    if (wi_type_is_float(&c->node->type)) {
        return run_f32_of_f64(c);
    }
    const struct scaled s = scaled_by(&c->node->type);
    return c->out->rep == WI_I64 ? run_i64_of_f64(c, &s)
                                 : run_i128_of_f64(c, &s);
}
