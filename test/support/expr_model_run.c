/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the model. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/exact_ratio.h"
#include "test/support/exact_text.h"
#include "test/support/expr_model.h"

static struct wt_model_value failure(void)
{
    return (struct wt_model_value){.error = true};
}

static wi_i128 power(int n)
{
    wi_i128 v = 1;
    while (n-- > 0) {
        v *= 10;
    }
    return v;
}

/* a * b, false if that is beyond 128 bits. */
static bool times(wi_i128 a, wi_i128 b, wi_i128 *out)
{
    *out = (wi_i128)((wi_u128)a * (wi_u128)b);
    return a == 0 || (*out / a == b && (*out < 0) == ((a < 0) != (b < 0))) ||
           b == 0;
}

static bool fits(wi_i128 w, const struct wi_type *t)
{
    switch (t->kind) {
    case WI_TYPE_INT32:
        return w >= INT32_MIN && w <= INT32_MAX;
    case WI_TYPE_INT64:
        return w >= INT64_MIN && w <= INT64_MAX;
    default:
        return w > -power(t->precision) && w < power(t->precision);
    }
}

static struct wt_model_value convert(struct wt_model_value v,
                                     const struct wi_type *from,
                                     const struct wi_type *to)
{
    if (v.null || v.error || wi_type_same(from, to) || !wi_type_is_number(to)) {
        return v;
    }
    int s = from->kind == WI_TYPE_DECIMAL ? from->scale : 0;
    int t = to->kind == WI_TYPE_DECIMAL ? to->scale : 0;
    if (to->kind == WI_TYPE_FLOAT64) {
        char text[WT_EXACT_BYTES];
        wt_exact_decimal(v.w, (uint32_t)s, text);
        v.f = strtod(text, NULL);
        return v;
    }
    if (t >= s && !times(v.w, power(t - s), &v.w)) {
        return failure();
    }
    if (t < s) {
        wi_i128 half = power(s - t) / 2;
        v.w = (v.w + (v.w < 0 ? -half : half)) / power(s - t);
    }
    return fits(v.w, to) ? v : failure();
}

static int compare(const struct wt_model_value *x,
                   const struct wt_model_value *y, const struct wi_type *t)
{
    if (t->kind == WI_TYPE_UTF8) {
        int order = memcmp(x->s, y->s, x->n < y->n ? x->n : y->n);
        return order != 0 ? order : (int)x->n - (int)y->n;
    }
    if (t->kind == WI_TYPE_FLOAT64) {
        return (x->f > y->f) - (x->f < y->f);
    }
    return (x->w > y->w) - (x->w < y->w);
}

static struct wt_model_value truth(bool value)
{
    return (struct wt_model_value){.w = value};
}

static struct wt_model_value test(enum wt_model_op op, const struct wt_model *x,
                                  struct wt_model_value v,
                                  const struct wt_model *y,
                                  const struct wt_model_value *row)
{
    struct wi_type type;
    struct wt_model_value w = wt_model_run(y, row);
    (void)wt_model_common(x, y, &type);
    v = convert(v, &x->type, &type);
    w = convert(w, &y->type, &type);
    if (v.error || w.error) {
        return failure();
    }
    if (v.null || w.null) {
        return (struct wt_model_value){.null = true};
    }
    int order = compare(&v, &w, &type);
    switch (op) {
    case WT_EQ:
        return truth(order == 0);
    case WT_NE:
        return truth(order != 0);
    case WT_LT:
        return truth(order < 0);
    case WT_LE:
        return truth(order <= 0);
    case WT_GT:
        return truth(order > 0);
    default:
        return truth(order >= 0);
    }
}

static struct wt_model_value run_float(enum wt_model_op op, double x, double y)
{
    struct wt_model_value v = {.null = false};
    bool by_zero = (op == WT_DIV || op == WT_MOD) && y == 0.0;
    switch (op) {
    case WT_ADD:
        v.f = x + y;
        break;
    case WT_SUB:
        v.f = x - y;
        break;
    case WT_MUL:
        v.f = x * y;
        break;
    case WT_DIV:
        v.f = x / y;
        break;
    default:
        v.f = fmod(x, y);
        break;
    }
    return by_zero || !isfinite(v.f) ? failure() : v;
}

/* Rounded once. */
static struct wt_model_value divide_integers(wi_i128 x, wi_i128 y)
{
    const struct wt_exact_sum sum = {.low = y < 0 ? -x : x};
    return y == 0
               ? failure()
               : (struct wt_model_value){
                     .f = wt_exact_float64(&sum, (uint64_t)(y < 0 ? -y : y))};
}

static struct wt_model_value divide(const struct wt_model *m, wi_i128 x,
                                    wi_i128 y)
{
    int s[2];
    int before;
    wt_model_digits(m->arg[0], &before, &s[0]);
    wt_model_digits(m->arg[1], &before, &s[1]);
    if (y == 0) {
        return failure();
    }
    x *= power(m->type.scale - s[0] + s[1]) * 10;
    wi_i128 q = x / y; /* with one digit more */
    return (struct wt_model_value){.w = (q + (q < 0 ? -5 : 5)) / 10};
}

static struct wt_model_value arithmetic(const struct wt_model *m,
                                        const struct wt_model_value *row)
{
    struct wt_model_value v = {.null = false};
    struct wt_model_value x = wt_model_run(m->arg[0], row);
    struct wt_model_value y = wt_model_run(m->arg[1], row);
    bool exact = m->op == WT_MUL || m->op == WT_DIV;
    bool quotient = m->op == WT_DIV && wi_type_is_integer(&m->arg[0]->type) &&
                    wi_type_is_integer(&m->arg[1]->type);
    if (!quotient && (m->type.kind != WI_TYPE_DECIMAL || !exact)) {
        x = convert(x, &m->arg[0]->type, &m->type);
        y = convert(y, &m->arg[1]->type, &m->type);
    }
    if (x.error || y.error) {
        return failure();
    }
    if (x.null || y.null) {
        return (struct wt_model_value){.null = true};
    }
    if (quotient) {
        return divide_integers(x.w, y.w);
    }
    if (m->type.kind == WI_TYPE_FLOAT64) {
        return run_float(m->op, x.f, y.f);
    }
    switch (m->op) {
    case WT_ADD:
        v.w = x.w + y.w;
        break;
    case WT_SUB:
        v.w = x.w - y.w;
        break;
    case WT_MUL:
        v.error = !times(x.w, y.w, &v.w);
        break;
    case WT_DIV:
        return divide(m, x.w, y.w);
    default:
        if (y.w == 0) {
            return failure();
        }
        v.w = x.w % y.w;
        break;
    }
    return !v.error && fits(v.w, &m->type) ? v : failure();
}

static struct wt_model_value run_cast(const struct wt_model *m,
                                      const struct wt_model_value *row)
{
    struct wt_model_value v = wt_model_run(m->arg[0], row);
    if (m->type.kind != WI_TYPE_UTF8) {
        return convert(v, &m->arg[0]->type, &m->type);
    }
    if (!v.null && !v.error) {
        v.n = (uint32_t)snprintf(v.s, sizeof(v.s), "%lld", (long long)v.w);
    }
    return v;
}

/* end: the value that decides. */
static struct wt_model_value junction(const struct wt_model *m, bool end,
                                      const struct wt_model_value *row)
{
    struct wt_model_value all = truth(!end);
    for (uint32_t i = 0; i < m->n; i++) {
        struct wt_model_value v = wt_model_run(m->arg[i], row);
        if (v.error || (!v.null && v.w == end)) {
            return v;
        }
        all.null = all.null || v.null;
    }
    return all;
}

static struct wt_model_value negate(const struct wt_model *m,
                                    struct wt_model_value v)
{
    v.w = v.w != m->negated;
    return v;
}

static struct wt_model_value run_in(const struct wt_model *m,
                                    const struct wt_model_value *row)
{
    struct wt_model_value all = truth(false);
    struct wt_model_value x = wt_model_run(m->arg[0], row);
    if (x.error) {
        return x;
    }
    for (uint32_t turn = 0; turn < 2; turn++) { /* constants, others */
        for (uint32_t i = 1; i < m->n; i++) {
            if (wt_model_constant(m->arg[i]) == (turn == 1)) {
                continue;
            }
            struct wt_model_value v = test(WT_EQ, m->arg[0], x, m->arg[i], row);
            if (v.error) {
                return v;
            }
            if (!v.null && v.w) {
                return negate(m, v);
            }
            all.null = all.null || v.null;
        }
    }
    return negate(m, all);
}

static struct wt_model_value run_between(const struct wt_model *m,
                                         const struct wt_model_value *row,
                                         bool condition)
{
    struct wt_model_value x = wt_model_run(m->arg[0], row);
    if (x.error) {
        return x;
    }
    struct wt_model_value low = test(WT_GE, m->arg[0], x, m->arg[1], row);
    if (low.error || (!low.null && !low.w) ||
        (condition && low.null && !m->negated)) {
        return negate(m, low);
    }
    struct wt_model_value high = test(WT_LE, m->arg[0], x, m->arg[2], row);
    if (high.error || (!high.null && !high.w) || high.null) {
        return negate(m, high);
    }
    return negate(m, low);
}

static uint32_t character_bytes(const char *s, uint32_t n)
{
    uint32_t i = 1;
    while (i < n && ((unsigned char)s[i] & 0xc0) == 0x80) {
        i++;
    }
    return i;
}

static bool like(const char *p, const char *s, uint32_t n)
{
    if (*p == '\0') {
        return n == 0;
    }
    if (*p == '%') {
        return like(p + 1, s, n) || (n > 0 && like(p, s + character_bytes(s, n),
                                                   n - character_bytes(s, n)));
    }
    uint32_t step = n == 0 ? 0 : *p == '_' ? character_bytes(s, n) : 1;
    return n > 0 && (*p == '_' || *p == *s) && like(p + 1, s + step, n - step);
}

static struct wt_model_value substring(struct wt_model_value v, wi_i128 from,
                                       wi_i128 length)
{
    struct wt_model_value out = {.null = false};
    wi_i128 k = 1;
    for (uint32_t i = 0; i < v.n; k++) {
        uint32_t bytes = character_bytes(v.s + i, v.n - i);
        if (k >= from && k < from + length) {
            memcpy(out.s + out.n, v.s + i, bytes);
            out.n += bytes;
        }
        i += bytes;
    }
    return length < 0 ? failure() : out;
}

static struct wt_model_value run_string(const struct wt_model *m,
                                        const struct wt_model_value *row)
{
    struct wt_model_value v[3];
    struct wt_model_value out = {.null = false};
    for (uint32_t i = 0; i < m->n; i++) {
        v[i] = wt_model_run(m->arg[i], row);
        out.error = out.error || v[i].error;
        out.null = out.null || v[i].null;
    }
    if (out.error || out.null) {
        return out;
    }
    switch (m->op) {
    case WT_LIKE:
        return negate(m, truth(like(m->text, v[0].s, v[0].n)));
    case WT_LENGTH:
        for (uint32_t i = 0; i < v[0].n; out.w++) {
            i += character_bytes(v[0].s + i, v[0].n - i);
        }
        return out;
    case WT_UPPER:
        for (uint32_t i = 0; i < v[0].n; i++) {
            bool lower = v[0].s[i] >= 'a' && v[0].s[i] <= 'z';
            v[0].s[i] = (char)(v[0].s[i] - (lower ? 32 : 0));
        }
        return v[0];
    case WT_CONCAT:
        memcpy(v[0].s + v[0].n, v[1].s, v[1].n);
        v[0].n += v[1].n;
        return v[0];
    default:
        return substring(v[0], v[1].w, v[2].w);
    }
}

static struct wt_model_value run_case(const struct wt_model *m,
                                      const struct wt_model_value *row)
{
    for (uint32_t i = 0; i < m->n; i += 2) {
        bool error = false;
        bool last = i + 1 == m->n;
        bool chosen = last || wt_model_true(m->arg[i], row, &error);
        const struct wt_model *value = m->arg[last ? i : i + 1];
        if (error) {
            return failure();
        }
        if (chosen) {
            return convert(wt_model_run(value, row), &value->type, &m->type);
        }
    }
    return (struct wt_model_value){.null = true};
}

static struct wt_model_value run_coalesce(const struct wt_model *m,
                                          const struct wt_model_value *row)
{
    struct wt_model_value v = {.null = true};
    for (uint32_t i = 0; i < m->n && v.null && !v.error; i++) {
        v = convert(wt_model_run(m->arg[i], row), &m->arg[i]->type, &m->type);
    }
    return v;
}

static struct wt_model_value run_nullif(const struct wt_model *m,
                                        const struct wt_model_value *row)
{
    struct wt_model_value x = wt_model_run(m->arg[0], row);
    if (x.error) {
        return x;
    }
    struct wt_model_value same = test(WT_EQ, m->arg[0], x, m->arg[1], row);
    if (same.error) {
        return same;
    }
    x.null = x.null || (!same.null && same.w);
    return x;
}

static struct wt_model_value run_neg(const struct wt_model *m,
                                     const struct wt_model_value *row)
{
    struct wt_model_value v = wt_model_run(m->arg[0], row);
    v.w = -v.w;
    v.f = -v.f;
    if (!v.null && !v.error && m->type.kind == WI_TYPE_INT64) {
        return fits(v.w, &m->type) ? v : failure();
    }
    return v;
}

struct wt_model_value wt_model_run(const struct wt_model *m,
                                   const struct wt_model_value *row)
{
    struct wt_model_value v;
    switch (m->op) {
    case WT_COLUMN:
        return row[m->column];
    case WT_LITERAL:
        return m->value;
    case WT_ADD:
    case WT_SUB:
    case WT_MUL:
    case WT_DIV:
    case WT_MOD:
        return arithmetic(m, row);
    case WT_NEG:
        return run_neg(m, row);
    case WT_CAST:
        return run_cast(m, row);
    case WT_AND:
    case WT_OR:
        return junction(m, m->op == WT_OR, row);
    case WT_NOT:
        v = wt_model_run(m->arg[0], row);
        v.w = !v.w;
        return v;
    case WT_IS_NULL:
        v = wt_model_run(m->arg[0], row);
        return v.error ? v : truth(v.null != m->negated);
    case WT_IN:
        return run_in(m, row);
    case WT_BETWEEN:
        return run_between(m, row, false);
    case WT_CASE:
        return run_case(m, row);
    case WT_COALESCE:
        return run_coalesce(m, row);
    case WT_NULLIF:
        return run_nullif(m, row);
    case WT_LIKE:
    case WT_CONCAT:
    case WT_SUBSTRING:
    case WT_UPPER:
    case WT_LENGTH:
        return run_string(m, row);
    default:
        v = wt_model_run(m->arg[0], row);
        return v.error ? v : test(m->op, m->arg[0], v, m->arg[1], row);
    }
}

bool wt_model_true(const struct wt_model *m, const struct wt_model_value *row,
                   bool *error_out)
{
    if (m->op == WT_AND) {
        for (uint32_t i = 0; i < m->n; i++) {
            if (!wt_model_true(m->arg[i], row, error_out)) {
                return false;
            }
        }
        return true;
    }
    struct wt_model_value v =
        m->op == WT_BETWEEN ? run_between(m, row, true) : wt_model_run(m, row);
    *error_out = *error_out || v.error;
    return !v.error && !v.null && v.w != 0;
}
