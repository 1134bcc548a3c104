/* SPDX-License-Identifier: Apache-2.0 */
/* AND, OR, CASE and COALESCE: nodes that choose the rows for which their
 * arguments are computed. */
#include <string.h>

#include "operators/expr/eval.h"

#define SPREAD(T)                                                              \
    do {                                                                       \
        const T *x = from->values;                                             \
        T *z = to->values;                                                     \
        WI_EACH(rows, z[p] = x[p];);                                           \
    } while (0)

void wi_vec_spread(const struct wi_vec *from, struct wi_sel_rows rows,
                   struct wi_vec *to)
{
    switch (from->rep) {
    case WI_BOOL:
        SPREAD(uint8_t);
        break;
    case WI_I64:
        SPREAD(int64_t);
        break;
    case WI_I128:
        SPREAD(wi_i128);
        break;
    case WI_F64:
        SPREAD(double);
        break;
    case WI_STR:
        SPREAD(struct wi_str);
        break;
    }
    const uint8_t *null = from->null;
    uint8_t *to_null = to->null;
    if (null == NULL) {
        WI_EACH(rows, to_null[p] = 0;);
    } else {
        WI_EACH(rows, to_null[p] = null[p];);
    }
}

/* ---- AND, OR ------------------------------------------------------------- */

/* Add one argument to the result. `end` (false for AND, true for OR) decides a
 * row; a row with a null is null unless a later argument decides it. Returns
 * the rows that are not decided, written to `to`. */
static struct wi_sel_rows junction_step(const struct wi_vec *arg, uint8_t end,
                                        struct wi_sel_rows rows,
                                        struct wi_vec *out, uint32_t *to)
{
    const uint8_t *x = wi_vec_bool(arg);
    const uint8_t *x_null = arg->null;
    uint8_t *value = out->values;
    uint8_t *null = out->null;
    uint32_t k = 0;
    WI_EACH(rows, {
        uint8_t is_null = x_null == NULL ? 0 : x_null[p];
        uint8_t decided = (uint8_t)((x[p] == end) & (is_null ^ 1));
        value[p] = decided ? end : end ^ 1;
        null[p] = (uint8_t)((null[p] | is_null) & (decided ^ 1));
        to[k] = p;
        k += decided ^ 1;
    });
    return (struct wi_sel_rows){to, k};
}

weir_err wi_eval_junction(struct wi_eval *e, const struct wi_node *node,
                          struct wi_sel_rows rows, struct wi_vec *out)
{
    struct wi_slot *slot = &e->slots[node->slot];
    bool nulls = false;
    uint8_t end = node->op == WI_OP_OR;
    memset(slot->own.null, 0, WI_CHUNK_ROWS);
    for (uint32_t i = 0; i < node->n_args && rows.n > 0; i++) {
        struct wi_vec arg;
        weir_err code = wi_eval_node(e, node->arg[i], rows, &arg);
        if (code != WEIR_OK) {
            return code;
        }
        nulls = nulls || arg.null != NULL;
        rows = junction_step(&arg, end, rows, &slot->own, slot->sel[0]);
    }
    *out = slot->own;
    out->null = nulls ? slot->own.null : NULL;
    return WEIR_OK;
}

/* ---- CASE, COALESCE ------------------------------------------------------ */

/* The rows that are not in some[0..n); both ascend. `some` has room for
 * WI_CHUNK_ROWS. `to` may be rows.sel. */
static struct wi_sel_rows without(struct wi_sel_rows rows, uint32_t *some,
                                  uint32_t n, uint32_t *to)
{
    uint32_t k = 0;
    uint32_t s = 0;
    if (n == rows.n) {
        return (struct wi_sel_rows){to, 0};
    }
    some[n] = UINT32_MAX; /* equals no row: no test of s against n */
    WI_EACH(rows, {
        uint32_t is_some = some[s] == p;
        s += is_some;
        to[k] = p;
        k += is_some ^ 1;
    });
    return (struct wi_sel_rows){to, k};
}

static weir_err branch(struct wi_eval *e, const struct wi_node *value,
                       struct wi_sel_rows rows, struct wi_vec *own)
{
    struct wi_vec vec;
    weir_err code = wi_eval_node(e, value, rows, &vec);
    if (code == WEIR_OK) {
        wi_vec_spread(&vec, rows, own);
    }
    return code;
}

static void set_null(struct wi_vec *own, struct wi_sel_rows rows)
{
    uint8_t *null = own->null;
    WI_EACH(rows, null[p] = 1;);
    if (own->rep == WI_STR) {
        struct wi_str *s = own->values;
        WI_EACH(rows, s[p] = (struct wi_str){"", 0};);
    }
}

static weir_err eval_case(struct wi_eval *e, const struct wi_node *node,
                          struct wi_sel_rows rows, struct wi_vec *own)
{
    struct wi_slot *slot = &e->slots[node->slot];
    uint32_t i = 0;
    for (; i + 1 < node->n_args && rows.n > 0; i += 2) {
        struct wi_sel_rows some = {slot->sel[0], 0};
        weir_err code =
            wi_eval_true(e, node->arg[i], rows, slot->sel[0], &some.n);
        if (code == WEIR_OK && some.n > 0) {
            code = branch(e, node->arg[i + 1], some, own);
        }
        if (code != WEIR_OK) {
            return code;
        }
        rows = without(rows, slot->sel[0], some.n, slot->sel[1]);
    }
    if (rows.n == 0) {
        return WEIR_OK;
    }
    if (i < node->n_args) {
        return branch(e, node->arg[i], rows, own);
    }
    set_null(own, rows);
    return WEIR_OK;
}

/* The rows where own is still null. */
static struct wi_sel_rows still_null(const struct wi_vec *own,
                                     struct wi_sel_rows rows, uint32_t *to)
{
    const uint8_t *null = own->null;
    uint32_t k = 0;
    WI_EACH(rows, to[k] = p; k += null[p];);
    return (struct wi_sel_rows){to, k};
}

static weir_err eval_coalesce(struct wi_eval *e, const struct wi_node *node,
                              struct wi_sel_rows rows, struct wi_vec *own)
{
    for (uint32_t i = 0; i < node->n_args && rows.n > 0; i++) {
        weir_err code = branch(e, node->arg[i], rows, own);
        if (code != WEIR_OK) {
            return code;
        }
        rows = still_null(own, rows, e->slots[node->slot].sel[0]);
    }
    return WEIR_OK;
}

weir_err wi_eval_choice(struct wi_eval *e, const struct wi_node *node,
                        struct wi_sel_rows rows, struct wi_vec *out)
{
    struct wi_vec own = e->slots[node->slot].own;
    weir_err code = node->op == WI_OP_CASE ? eval_case(e, node, rows, &own)
                                           : eval_coalesce(e, node, rows, &own);
    if (code != WEIR_OK) {
        return code;
    }
    uint8_t nulls = 0;
    WI_EACH(rows, nulls |= own.null[p];);
    *out = own;
    out->null = nulls ? own.null : NULL;
    return WEIR_OK;
}
