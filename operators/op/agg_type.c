/* SPDX-License-Identifier: Apache-2.0 */
/* Types of aggregates. */
#include "operators/base/fail.h"
#include "operators/op/ops.h"

enum { AVG_SCALE = 6 }; /* least digits of an average after the point */

static const char *const names[] = {"count", "count", "sum",
                                    "avg",   "min",   "max"};

static weir_err type_of_sum(enum wi_agg_fn fn, const struct wi_type *argument,
                            struct wi_type *out, struct weir_error *err)
{
    char text[WI_TYPE_TEXT_BYTES];
    if (!wi_type_is_number(argument)) {
        return wi_exec_fail(err, WEIR_ERR_ARG,
                            "%s of %s: a number was expected", names[fn],
                            wi_type_text(argument, text));
    }
    if (argument->kind == WI_TYPE_DECIMAL) {
        *out = (struct wi_type){.kind = WI_TYPE_DECIMAL,
                                .precision = WI_DECIMAL_MOST,
                                .scale = argument->scale};
    } else if (wi_type_is_integer(argument)) {
        *out = (struct wi_type){.kind = WI_TYPE_INT64};
    } else {
        *out = (struct wi_type){.kind = WI_TYPE_FLOAT64};
    }
    out->nullable = true; /* null if there are no rows */
    return WEIR_OK;
}

static void type_of_avg(const struct wi_type *sum, struct wi_type *out)
{
    *out = *sum;
    if (sum->kind != WI_TYPE_DECIMAL) {
        out->kind = WI_TYPE_FLOAT64;
    } else if (sum->scale < AVG_SCALE) {
        out->scale = AVG_SCALE;
    }
}

weir_err wi_agg_type(enum wi_agg_fn fn, const struct wi_type *argument,
                     bool partial, struct wi_type *out, struct weir_error *err)
{
    struct wi_type sum;
    weir_err code = WEIR_OK;
    switch (fn) {
    case WI_AGG_COUNT_ROWS:
    case WI_AGG_COUNT:
        *out = (struct wi_type){.kind = WI_TYPE_INT64};
        break;
    case WI_AGG_SUM:
        return type_of_sum(fn, argument, out, err);
    case WI_AGG_AVG:
        code = type_of_sum(fn, argument, &sum, err);
        if (code == WEIR_OK && partial) {
            *out = sum;
        } else if (code == WEIR_OK) {
            type_of_avg(&sum, out);
        }
        break;
    case WI_AGG_MIN:
    case WI_AGG_MAX:
        *out = *argument;
        out->nullable = true;
        break;
    }
    return code;
}
