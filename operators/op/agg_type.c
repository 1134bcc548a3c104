/* SPDX-License-Identifier: Apache-2.0 */
/* Types of aggregates, and of their states. A state has room for what its rows
 * can add up to: its columns are as narrow as that allows, as they travel. */
#include <assert.h>

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
                     struct wi_type *out, struct weir_error *err)
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
        if (code == WEIR_OK) {
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

/* ---- states -------------------------------------------------------------- */

/* Sums of integers of up to 32 bits travel as int64. */
enum { STATE_ROWS = 1 << 30, LONG_DIGITS = 32 };
static_assert((uint64_t)UINT32_MAX * (STATE_ROWS + WI_CHUNK_ROWS) <= INT64_MAX,
              "a state of narrow integers fits int64");

static bool is_long(const struct wi_type *argument)
{
    return argument->kind == WI_TYPE_DECIMAL &&
           argument->precision > LONG_DIGITS;
}

static struct wi_type state_of_sum(const struct wi_type *argument)
{
    struct wi_type type = {.kind = WI_TYPE_FLOAT64, .nullable = true};
    if (argument->kind == WI_TYPE_DECIMAL || argument->kind == WI_TYPE_INT64 ||
        argument->kind == WI_TYPE_UINT64) {
        type.kind = WI_TYPE_DECIMAL;
        type.precision = WI_DECIMAL_MOST;
        type.scale = argument->scale;
    } else if (wi_type_is_integer(argument)) {
        type.kind = WI_TYPE_INT64;
    }
    return type;
}

uint32_t wi_agg_state(enum wi_agg_fn fn, const struct wi_type *argument,
                      struct wi_agg_state out[static WI_AGG_STATES])
{
    uint32_t n = 0;
    if (fn != WI_AGG_SUM && fn != WI_AGG_AVG) {
        out[0].suffix = "";
        (void)wi_agg_type(fn, argument, &out[0].type, NULL);
        return 1;
    }
    out[n++] = (struct wi_agg_state){"", state_of_sum(argument)};
    if (is_long(argument)) {
        out[n++] = (struct wi_agg_state){".high", {.kind = WI_TYPE_INT32}};
    }
    if (fn == WI_AGG_AVG) {
        out[n++] = (struct wi_agg_state){".count", {.kind = WI_TYPE_INT64}};
    }
    return n;
}

/* Half of the rows that fit leave room for a chunk. */
uint64_t wi_agg_state_rows(enum wi_agg_fn fn, const struct wi_type *argument)
{
    const bool sums = fn == WI_AGG_SUM || fn == WI_AGG_AVG;
    if (!sums || argument->kind != WI_TYPE_DECIMAL || is_long(argument)) {
        return STATE_ROWS;
    }
    const wi_i128 rows = wi_pow10(WI_DECIMAL_MOST - argument->precision) / 2u;
    return rows < STATE_ROWS ? (uint64_t)rows : STATE_ROWS;
}
