/* SPDX-License-Identifier: Apache-2.0 */
/* Casts between exact numbers, and between dates and timestamps. Numbers that
 * lose digits are rounded half away from zero, times are rounded down. */
#include "operators/base/date.h"
#include "operators/base/number.h"
#include "operators/expr/check.h"
#include "operators/expr/kernel.h"
#include "operators/expr/value.h"

static uint32_t scale_of(const struct wi_type *type)
{
    return type->kind == WI_TYPE_DECIMAL ? type->scale : 0;
}

/* Does `to` hold every value of `from` multiplied by `factor`? */
static bool covers(const struct wi_type *from, wi_i128 factor,
                   const struct wi_type *to)
{
    struct wi_value_range x = wi_type_range(from);
    struct wi_value_range z = wi_type_range(to);
    wi_i128 least;
    wi_i128 most;
    return !wi_mul_i128(x.least, factor, &least) &&
           !wi_mul_i128(x.most, factor, &most) && least >= z.least &&
           most <= z.most;
}

static bool is_whole(const struct wi_type *type)
{
    return wi_type_is_number(type) && !wi_type_is_float(type);
}

bool wi_cast_is_free(const struct wi_type *from, const struct wi_type *to)
{
    if (wi_type_rep(from) != wi_type_rep(to)) {
        return false;
    }
    if (wi_type_rep(from) == WI_STR) {
        return to->kind == WI_TYPE_BINARY || from->kind == to->kind;
    }
    if (is_whole(from) && is_whole(to)) {
        return scale_of(from) == scale_of(to) && covers(from, 1, to);
    }
    return wi_type_same(from, to) ||
           (from->kind == WI_TYPE_FLOAT32 && to->kind == WI_TYPE_FLOAT64);
}

/* ---- numbers that are exact ---------------------------------------------- */

struct exact {
    wi_i128 factor; /* 10^n */
    struct wi_value_range range;
};

static inline uint64_t outside(wi_i128 v, const struct exact *e)
{
    return (v < e->range.least) | (v > e->range.most);
}

/* The same in 64 bits, where all of it fits. */
struct exact64 {
    int64_t factor;
    int64_t least;
    int64_t most;
};

static inline uint64_t up_64_64(int64_t x, const struct exact64 *e, int64_t *z)
{
    int64_t v;
    uint64_t bad = __builtin_mul_overflow(x, e->factor, &v);
    *z = v;
    return bad | (v < e->least) | (v > e->most);
}

static inline uint64_t down_64_64(int64_t x, const struct exact64 *e,
                                  int64_t *z)
{
    int64_t q = x / e->factor;
    uint64_t r = (uint64_t)(x % e->factor);
    r = x < 0 ? -r : r;
    q += r >= (uint64_t)e->factor - r ? (x < 0 ? -1 : 1) : 0;
    *z = q;
    return (q < e->least) | (q > e->most);
}

static inline uint64_t up_any(wi_i128 x, const struct exact *e, wi_i128 *v)
{
    bool wraps = wi_mul_i128(x, e->factor, v);
    return wraps || outside(*v, e);
}

static inline uint64_t down_any(wi_i128 x, const struct exact *e, wi_i128 *v)
{
    *v = wi_round_div_i128(x, e->factor);
    return outside(*v, e);
}

static inline uint64_t up_64_128(int64_t x, const struct exact *e, wi_i128 *z)
{
    return up_any(x, e, z);
}

static inline uint64_t down_64_128(int64_t x, const struct exact *e, wi_i128 *z)
{
    return down_any(x, e, z);
}

static inline uint64_t up_128_64(wi_i128 x, const struct exact *e, int64_t *z)
{
    wi_i128 v;
    uint64_t bad = up_any(x, e, &v);
    *z = (int64_t)v;
    return bad;
}

static inline uint64_t down_128_64(wi_i128 x, const struct exact *e, int64_t *z)
{
    wi_i128 v;
    uint64_t bad = down_any(x, e, &v);
    *z = (int64_t)v;
    return bad;
}

static inline uint64_t widen(int64_t x, wi_i128 *z)
{
    *z = x;
    return 0;
}

WI_KERNEL1(run_widen, int64_t, wi_i128, widen)
WI_KERNEL1_WITH(run_up_64_64, int64_t, int64_t, struct exact64, up_64_64)
WI_KERNEL1_WITH(run_down_64_64, int64_t, int64_t, struct exact64, down_64_64)
WI_KERNEL1_WITH(run_up_64_128, int64_t, wi_i128, struct exact, up_64_128)
WI_KERNEL1_WITH(run_down_64_128, int64_t, wi_i128, struct exact, down_64_128)
WI_KERNEL1_WITH(run_up_128_64, wi_i128, int64_t, struct exact, up_128_64)
WI_KERNEL1_WITH(run_down_128_64, wi_i128, int64_t, struct exact, down_128_64)
WI_KERNEL1_WITH(run_up_128_128, wi_i128, wi_i128, struct exact, up_any)
WI_KERNEL1_WITH(run_down_128_128, wi_i128, wi_i128, struct exact, down_any)

static weir_err cast_exact_64(struct wi_call *c, const struct exact *e, bool up)
{
    struct exact64 e64 = {(int64_t)e->factor, (int64_t)e->range.least,
                          (int64_t)e->range.most};
    return up ? run_up_64_64(c, &e64) : run_down_64_64(c, &e64);
}

static weir_err cast_exact(struct wi_call *c)
{
    const struct wi_type *from = &c->node->arg[0]->type;
    const struct wi_type *to = &c->node->type;
    uint32_t s = scale_of(from);
    uint32_t t = scale_of(to);
    bool up = t >= s;
    struct exact e = {.factor = wi_pow10(up ? t - s : s - t),
                      .range = wi_type_range(to)};
    bool wide_from = c->arg[0].rep == WI_I128;
    bool wide_to = c->out->rep == WI_I128;
    if (!wide_from && wide_to && e.factor == 1 && covers(from, 1, to)) {
        return run_widen(c);
    }
    if (!wide_from && !wide_to && wi_fits_i64(e.factor)) {
        return cast_exact_64(c, &e, up);
    }
    if (wide_from) {
        return wide_to ? (up ? run_up_128_128(c, &e) : run_down_128_128(c, &e))
                       : (up ? run_up_128_64(c, &e) : run_down_128_64(c, &e));
    }
    return up ? run_up_64_128(c, &e) : run_down_64_128(c, &e);
}

/* ---- dates and timestamps ------------------------------------------------ */

static inline uint64_t down_time(int64_t x, const struct exact64 *e, int64_t *z)
{
    int64_t v = wi_floor_div(x, e->factor);
    *z = v;
    return (v < e->least) | (v > e->most);
}

WI_KERNEL1_WITH(run_down_time, int64_t, int64_t, struct exact64, down_time)

/* Ticks per day. */
static int64_t ticks_of(const struct wi_type *type)
{
    return type->kind == WI_TYPE_DATE32
               ? 1
               : WI_DAY_SECONDS * wi_unit_ticks(type->unit);
}

static weir_err cast_time(struct wi_call *c)
{
    int64_t from = ticks_of(&c->node->arg[0]->type);
    int64_t to = ticks_of(&c->node->type);
    struct wi_value_range range = wi_type_range(&c->node->type);
    struct exact64 e = {to >= from ? to / from : from / to,
                        (int64_t)range.least, (int64_t)range.most};
    return to >= from ? run_up_64_64(c, &e) : run_down_time(c, &e);
}

weir_err wi_kernel_cast(struct wi_call *c)
{
    const struct wi_type *from = &c->node->arg[0]->type;
    const struct wi_type *to = &c->node->type;
    if (wi_type_is_float(from) || wi_type_is_float(to)) {
        return wi_kernel_cast_float(c);
    }
    /* Integers are cast to dates only to add days to a date. */
    return wi_type_is_time(from) && wi_type_is_time(to) ? cast_time(c)
                                                        : cast_exact(c);
}
