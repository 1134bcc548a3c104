/* SPDX-License-Identifier: Apache-2.0 */
/* Values of aggregates. Sums are exact, and must fit their type only when they
 * are given out. */
#include "operators/op/agg_value.h"

#include <string.h>

#include "operators/base/fail.h"
#include "operators/base/number.h"
#include "operators/base/ratio.h"

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

static bool fits_decimal(wi_i128 v)
{
    const wi_i128 limit = wi_pow10(WI_DECIMAL_MOST);
    return v < limit && v > -limit;
}

/* A sum's two parts with one sign, the lower one of at most 38 digits: it is
 * less than 2 * 10^38 before. */
static void settle(wi_i128 *low, int64_t *high)
{
    const wi_i128 unit = wi_pow10(WI_DECIMAL_MOST);
    if (*low >= unit) {
        *low -= unit;
        *high += 1;
    } else if (*low <= -unit) {
        *low += unit;
        *high -= 1;
    }
    if (*low > 0 && *high < 0) {
        *low -= unit;
        *high += 1;
    } else if (*low < 0 && *high > 0) {
        *low += unit;
        *high -= 1;
    }
}

/* Settles the sums of the groups. Do they all have 38 digits at most? */
static bool settle_all(const struct wi_cell *cell,
                       const struct wi_agg_give *give)
{
    wi_i128 *low = (wi_i128 *)cell->values + give->first;
    int64_t *high = cell->high + give->first;
    int64_t any = 0;
    for (uint32_t i = 0; i < give->n; i++) {
        settle(&low[i], &high[i]);
        any |= high[i];
    }
    return any == 0;
}

static weir_err give_sum(const struct wi_cell *cell,
                         const struct wi_agg_give *give, struct wi_vec *vec,
                         struct weir_error *err)
{
    if (cell->rep == WI_F64) {
        vec->values = (double *)cell->values + give->first;
        wi_f64_settle(vec->values, give->n);
        return WEIR_OK;
    }
    wi_i128 *sum = (wi_i128 *)cell->values + give->first;
    if (cell->high != NULL && !settle_all(cell, give)) {
        return fail_overflow("sum", give, err);
    }
    if (wi_type_rep(&give->column->type) == WI_I64) {
        return give_narrow(sum, give, vec, err);
    }
    vec->values = sum; /* of 64-bit values they have 38 digits at most */
    return WEIR_OK;
}

void wi_agg_give_long(const struct wi_cell *cell,
                      const struct wi_agg_give *give, struct wi_vec *vec)
{
    (void)settle_all(cell, give);
    give_nulls(cell->has + give->first, give->n, &vec[0]);
    vec[0].values = (wi_i128 *)cell->values + give->first;
    vec[1].values = cell->high + give->first;
    vec[1].null = NULL;
}

static void give_extreme(const struct wi_cell *cell,
                         const struct wi_agg_give *give, struct wi_vec *vec)
{
    if (cell->rep != WI_STR) {
        vec->values =
            (char *)cell->values + give->first * wi_rep_bytes(cell->rep);
        if (cell->rep == WI_F64) {
            wi_f64_settle(vec->values, give->n);
        }
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

/* A sum that is settled, divided by count: whole part and rest. false: the
 * whole part has more than 38 digits. A division by digits of 10^19. */
static bool divide_sum(wi_i128 low, int64_t high, int64_t count, wi_i128 *whole,
                       wi_i128 *rest)
{
    const wi_i128 digit = wi_pow10(WI_POW10_64);
    if (high / count != 0) {
        return false;
    }
    const wi_i128 upper = high % count * digit + low / digit;
    const wi_i128 lower = upper % count * digit + low % digit;
    *whole = upper / count * digit + lower / count;
    *rest = lower % count;
    return true;
}

/* sum * factor / count, rounded half away from zero: the whole part and the
 * rest are scaled apart. false: the result has more than 38 digits. */
static bool average(wi_i128 low, int64_t high, int64_t count, wi_i128 factor,
                    wi_i128 *out)
{
    wi_i128 whole = low / count;
    wi_i128 rest = low % count;
    if (high != 0 && !divide_sum(low, high, count, &whole, &rest)) {
        return false;
    }
    rest *= factor; /* below 2^63 * 10^6 */
    wi_i128 more = rest / count;
    const wi_i128 left = rest % count;
    if (left < 0 ? -left >= count + left : left >= count - left) {
        more += low < 0 || high < 0 ? -1 : 1;
    }
    return !wi_mul_i128(whole, factor, &whole) &&
           !__builtin_add_overflow(whole, more, out) && fits_decimal(*out);
}

static weir_err avg_decimal(const struct wi_cell *sum, const int64_t *count,
                            unsigned digits, const struct wi_agg_give *give,
                            struct wi_vec *vec, struct weir_error *err)
{
    const wi_i128 factor = wi_pow10(digits);
    const wi_i128 *low = (wi_i128 *)sum->values + give->first;
    wi_i128 *out = vec->values;
    for (uint32_t i = 0; i < give->n; i++) {
        int64_t high = sum->high == NULL ? 0 : sum->high[give->first + i];
        out[i] = 0;
        if (count[i] > 0 && !average(low[i], high, count[i], factor, &out[i])) {
            return fail_overflow("avg", give, err);
        }
    }
    return WEIR_OK;
}

/* Sums of 64-bit values have no higher part. */
static void avg_float(const struct wi_cell *sum, const int64_t *count,
                      const struct wi_agg_give *give, struct wi_vec *vec)
{
    double *out = vec->values;
    for (uint32_t i = 0; i < give->n; i++) {
        uint64_t g = give->first + i;
        if (count[i] == 0) {
            out[i] = 0;
        } else if (sum->rep == WI_F64) {
            out[i] = ((double *)sum->values)[g] / (double)count[i];
        } else {
            out[i] =
                wi_ratio_f64(((wi_i128 *)sum->values)[g], (uint64_t)count[i]);
        }
    }
}

weir_err wi_agg_give_avg(const struct wi_cell *sum, uint8_t scale,
                         const struct wi_agg_give *give, struct wi_vec *vec,
                         struct weir_error *err)
{
    const int64_t *count = (int64_t *)sum[1].values + give->first;
    const struct wi_type *type = &give->column->type;
    give_nulls(sum->has + give->first, give->n, vec);
    if (sum->high != NULL) {
        (void)settle_all(sum, give);
    }
    if (type->kind != WI_TYPE_DECIMAL) {
        avg_float(sum, count, give, vec);
        return WEIR_OK;
    }
    return avg_decimal(sum, count, (unsigned)(type->scale - scale), give, vec,
                       err);
}
