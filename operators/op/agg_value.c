/* SPDX-License-Identifier: Apache-2.0 */
/* Values of aggregates. Sums are kept in 128 bits and must fit their type when
 * they are given out. */
#include "operators/op/agg_value.h"

#include <string.h>

#include "operators/base/fail.h"

static wi_i128 power_of_ten(unsigned n)
{
    wi_i128 power = 1;
    while (n-- > 0) {
        power *= 10;
    }
    return power;
}

static weir_err fail_overflow(const char *function,
                              const struct wi_agg_give *give,
                              struct weir_error *err)
{
    char text[WI_TYPE_TEXT_BYTES];
    struct wi_type type = give->column->type;
    type.nullable = false; /* nothing that a user asked for */
    return wi_exec_fail(err, WEIR_ERR_QUERY_DATA,
                        "%s, output \"%s\": overflow: a value does not fit %s",
                        function, give->column->name,
                        wi_type_text(&type, text));
}

/* Nulls of groups without a value. */
static void give_nulls(const uint8_t *has, uint32_t n, struct wi_vec *vec)
{
    uint8_t all = 1;
    for (uint32_t i = 0; i < n; i++) {
        vec->null[i] = !has[i];
        all &= has[i];
    }
    if (all) {
        vec->null = NULL;
    }
}

static weir_err give_narrow(const wi_i128 *sum, const struct wi_agg_give *give,
                            struct wi_vec *vec, struct weir_error *err)
{
    int64_t *out = vec->values;
    bool fits = true;
    for (uint32_t i = 0; i < give->n; i++) {
        out[i] = (int64_t)sum[i];
        fits &= out[i] == sum[i];
    }
    return fits ? WEIR_OK : fail_overflow("sum", give, err);
}

static bool fits_decimal(const wi_i128 *v, uint32_t n)
{
    const wi_i128 limit = power_of_ten(WI_DECIMAL_MOST);
    bool fits = true;
    for (uint32_t i = 0; i < n; i++) {
        fits &= v[i] < limit && v[i] > -limit;
    }
    return fits;
}

static weir_err give_sum(const struct wi_cell *cell,
                         const struct wi_agg_give *give, struct wi_vec *vec,
                         struct weir_error *err)
{
    if (cell->rep == WI_F64) {
        vec->values = (double *)cell->values + give->first;
        return WEIR_OK;
    }
    wi_i128 *sum = (wi_i128 *)cell->values + give->first;
    if (cell->overflow) {
        return fail_overflow("sum", give, err);
    }
    if (wi_type_rep(&give->column->type) == WI_I64) {
        return give_narrow(sum, give, vec, err);
    }
    vec->values = sum;
    return fits_decimal(sum, give->n) ? WEIR_OK
                                      : fail_overflow("sum", give, err);
}

static void give_extreme(const struct wi_cell *cell,
                         const struct wi_agg_give *give, struct wi_vec *vec)
{
    if (cell->rep != WI_STR) {
        vec->values =
            (char *)cell->values + give->first * wi_rep_bytes(cell->rep);
        return;
    }
    const struct wi_kept_text *kept =
        (const struct wi_kept_text *)cell->values + give->first;
    struct wi_str *out = vec->values;
    for (uint32_t i = 0; i < give->n; i++) {
        out[i] = (struct wi_str){kept[i].data, kept[i].n_bytes};
    }
}

weir_err wi_agg_give_cell(const struct wi_cell *cell,
                          const struct wi_agg_give *give, struct wi_vec *vec,
                          struct weir_error *err)
{
    if (cell->has == NULL) {
        vec->values = (int64_t *)cell->values + give->first;
        vec->null = NULL;
        return WEIR_OK;
    }
    give_nulls(cell->has + give->first, give->n, vec);
    if (cell->kind == WI_CELL_SUM) {
        return give_sum(cell, give, vec, err);
    }
    give_extreme(cell, give, vec);
    return WEIR_OK;
}

/* ---- averages ------------------------------------------------------------ */

/* sum * factor / count, rounded half away from zero, without leaving 128 bits
 * on the way: the whole part and the rest are scaled apart. Returns whether
 * the result has at most 38 digits. */
static bool divide(wi_i128 sum, int64_t count, wi_i128 factor, wi_i128 *out)
{
    wi_i128 whole = sum / count;
    wi_i128 rest = sum % count * factor; /* below 2^63 * 10^6 */
    wi_i128 more = rest / count;
    wi_i128 left = rest % count;
    if (left < 0 ? -left >= count + left : left >= count - left) {
        more += sum < 0 ? -1 : 1;
    }
    bool overflow = __builtin_mul_overflow(whole, factor, &whole);
    overflow |= __builtin_add_overflow(whole, more, out);
    return !overflow && fits_decimal(out, 1);
}

static weir_err avg_decimal(const wi_i128 *sum, const int64_t *count,
                            unsigned digits, const struct wi_agg_give *give,
                            struct wi_vec *vec, struct weir_error *err)
{
    const wi_i128 factor = power_of_ten(digits);
    wi_i128 *out = vec->values;
    for (uint32_t i = 0; i < give->n; i++) {
        out[i] = 0;
        if (count[i] > 0 && !divide(sum[i], count[i], factor, &out[i])) {
            return fail_overflow("avg", give, err);
        }
    }
    return WEIR_OK;
}

static void avg_float(const struct wi_cell *sum, const int64_t *count,
                      const struct wi_agg_give *give, struct wi_vec *vec)
{
    double *out = vec->values;
    for (uint32_t i = 0; i < give->n; i++) {
        uint64_t g = give->first + i;
        double total = sum->rep == WI_F64 ? ((double *)sum->values)[g]
                                          : (double)((wi_i128 *)sum->values)[g];
        out[i] = count[i] == 0 ? 0 : total / (double)count[i];
    }
}

weir_err wi_agg_give_avg(const struct wi_cell *sum, uint8_t scale,
                         const struct wi_agg_give *give, struct wi_vec *vec,
                         struct weir_error *err)
{
    const int64_t *count = (int64_t *)sum[1].values + give->first;
    const struct wi_type *type = &give->column->type;
    give_nulls(sum->has + give->first, give->n, vec);
    if (sum->overflow) {
        return fail_overflow("avg", give, err);
    }
    if (type->kind != WI_TYPE_DECIMAL) {
        avg_float(sum, count, give, vec);
        return WEIR_OK;
    }
    return avg_decimal((wi_i128 *)sum->values + give->first, count,
                       (unsigned)(type->scale - scale), give, vec, err);
}
