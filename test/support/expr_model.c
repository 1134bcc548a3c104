/* SPDX-License-Identifier: Apache-2.0 */
/* Types of the model. */
#include "test/support/expr_model.h"

static bool is_exact(const struct wi_type *t)
{
    return wi_type_is_number(t) && t->kind != WI_TYPE_FLOAT64;
}

bool wt_model_constant(const struct wt_model *m)
{
    if (m->op == WT_COLUMN) {
        return false;
    }
    for (uint32_t i = 0; i < m->n; i++) {
        if (!wt_model_constant(m->arg[i])) {
            return false;
        }
    }
    return !wt_model_run(m, NULL).error;
}

void wt_model_digits(const struct wt_model *m, int *before, int *scale)
{
    *scale = m->type.kind == WI_TYPE_DECIMAL ? m->type.scale : 0;
    if (m->type.kind == WI_TYPE_DECIMAL) {
        *before = m->type.precision - *scale;
    } else if (m->type.kind == WI_TYPE_INT32) {
        *before = 10;
    } else if (wt_model_constant(m)) {
        wi_i128 w = wt_model_run(m, NULL).null ? 0 : wt_model_run(m, NULL).w;
        *before = 1;
        for (w /= 10; w != 0; w /= 10) {
            (*before)++;
        }
    } else {
        *before = 19;
    }
}

static struct wi_type decimal(int precision, int scale)
{
    precision = precision > 38 ? 38 : precision;
    return (struct wi_type){.kind = WI_TYPE_DECIMAL,
                            .precision = (uint8_t)precision,
                            .scale = (uint8_t)scale};
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

bool wt_model_common(const struct wt_model *x, const struct wt_model *y,
                     struct wi_type *out)
{
    int before[2];
    int scale[2];
    if (wi_type_same(&x->type, &y->type)) {
        *out = x->type;
        return true;
    }
    if (!wi_type_is_number(&x->type) || !wi_type_is_number(&y->type)) {
        return false;
    }
    if (!is_exact(&x->type) || !is_exact(&y->type)) {
        *out = (struct wi_type){.kind = WI_TYPE_FLOAT64};
        return true;
    }
    if (wi_type_is_integer(&x->type) && wi_type_is_integer(&y->type)) {
        *out = (struct wi_type){.kind = WI_TYPE_INT64};
        return true;
    }
    wt_model_digits(x, &before[0], &scale[0]);
    wt_model_digits(y, &before[1], &scale[1]);
    int s = most(scale[0], scale[1]);
    *out = decimal(most(most(before[0], before[1]) + s, 1), s);
    return true;
}

static bool arithmetic_type(struct wt_model *m)
{
    struct wi_type type;
    int before[2];
    int scale[2];
    bool numbers = wi_type_is_number(&m->arg[0]->type) &&
                   wi_type_is_number(&m->arg[1]->type);
    if (!numbers) {
        return false;
    }
    bool integers = wi_type_is_integer(&m->arg[0]->type) &&
                    wi_type_is_integer(&m->arg[1]->type);
    if (!is_exact(&m->arg[0]->type) || !is_exact(&m->arg[1]->type) ||
        (integers && m->op == WT_DIV)) {
        m->type = (struct wi_type){.kind = WI_TYPE_FLOAT64};
        return true;
    }
    if (integers) {
        m->type = (struct wi_type){.kind = WI_TYPE_INT64};
        return true;
    }
    wt_model_digits(m->arg[0], &before[0], &scale[0]);
    wt_model_digits(m->arg[1], &before[1], &scale[1]);
    int s = most(scale[0], scale[1]);
    int whole = most(before[0], before[1]);
    if (m->op == WT_MUL) {
        s = scale[0] + scale[1];
        type = decimal(before[0] + before[1] + s, s);
    } else if (m->op == WT_DIV) {
        /* The model divides in 128 bits. */
        if (before[0] + scale[0] > 12 || before[1] + scale[1] > 12) {
            return false;
        }
        type = decimal(38, most(6, scale[0]));
    } else {
        type = decimal(most(whole + s + (m->op == WT_MOD ? 0 : 1), 1), s);
    }
    m->type = type;
    return s <= 38;
}

/* One type of the arguments first, first + step, .. and last. */
static bool choice_type(struct wt_model *m, uint32_t first, uint32_t step)
{
    struct wt_model joint = *m->arg[first];
    for (uint32_t i = first + step; i < m->n; i += step) {
        if (!wt_model_common(&joint, m->arg[i], &joint.type)) {
            return false;
        }
        joint.op = WT_COLUMN;
    }
    if (step == 2 && m->n % 2 == 1 &&
        !wt_model_common(&joint, m->arg[m->n - 1], &joint.type)) {
        return false;
    }
    m->type = joint.type;
    return true;
}

bool wt_model_check(struct wt_model *m)
{
    struct wi_type type;
    switch (m->op) {
    case WT_ADD:
    case WT_SUB:
    case WT_MUL:
    case WT_DIV:
    case WT_MOD:
        return arithmetic_type(m);
    case WT_NEG:
        m->type = m->arg[0]->type;
        if (m->type.kind == WI_TYPE_INT32) {
            m->type.kind = WI_TYPE_INT64;
        }
        return true;
    case WT_CASE:
        return choice_type(m, 1, 2);
    case WT_COALESCE:
        return choice_type(m, 0, 1);
    case WT_NULLIF:
        m->type = m->arg[0]->type;
        return wt_model_common(m->arg[0], m->arg[1], &type);
    case WT_LENGTH:
        m->type = (struct wi_type){.kind = WI_TYPE_INT64};
        return true;
    case WT_CONCAT:
    case WT_SUBSTRING:
    case WT_UPPER:
        m->type = (struct wi_type){.kind = WI_TYPE_UTF8};
        return true;
    case WT_COLUMN:
    case WT_LITERAL:
    case WT_CAST:
        return true;
    default:
        m->type = (struct wi_type){.kind = WI_TYPE_BOOL};
        for (uint32_t i = 1; i < m->n; i++) {
            if (!wt_model_common(m->arg[0], m->arg[i], &type)) {
                return false;
            }
        }
        return true;
    }
}
