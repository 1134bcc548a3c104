/* SPDX-License-Identifier: Apache-2.0 */
/* extract(... from ...) */
#include "operators/base/date.h"
#include "operators/expr/eval.h"

static inline int64_t of_day(enum wi_field field, int64_t days)
{
    struct wi_civil c = wi_civil_of_days(days);
    struct wi_civil new_year = {c.year, 1, 1};
    switch (field) {
    case WI_FIELD_YEAR:
        return c.year;
    case WI_FIELD_QUARTER:
        return (c.month + 2) / 3;
    case WI_FIELD_MONTH:
        return c.month;
    case WI_FIELD_DAY:
        return c.day;
    case WI_FIELD_DOW: /* 1970-01-01 was a Thursday */
        return wi_floor_mod(days + 4, 7);
    default:
        return days - wi_days_of_civil(new_year) + 1;
    }
}

static inline int64_t of_time(enum wi_field field, int64_t seconds)
{
    switch (field) {
    case WI_FIELD_HOUR:
        return seconds / 3600;
    case WI_FIELD_MINUTE:
        return seconds / 60 % 60;
    default:
        return seconds % 60;
    }
}

weir_err wi_kernel_extract(struct wi_call *c)
{
    const struct wi_type *from = &c->node->arg[0]->type;
    enum wi_field field = c->node->field;
    const int64_t *x = wi_vec_i64(&c->arg[0]);
    int64_t *z = c->out->values;
    bool time = field >= WI_FIELD_HOUR && field <= WI_FIELD_SECOND;
    if (from->kind == WI_TYPE_DATE32) {
        WI_EACH(c->rows, z[p] = time ? 0 : of_day(field, (int32_t)x[p]););
        return WEIR_OK;
    }
    int64_t ticks = wi_unit_ticks(from->unit);
    int64_t day = WI_DAY_SECONDS * ticks;
    if (time) {
        WI_EACH(c->rows,
                z[p] = of_time(field, wi_floor_mod(x[p], day) / ticks););
    } else {
        WI_EACH(c->rows, z[p] = of_day(field, wi_floor_div(x[p], day)););
    }
    return WEIR_OK;
}
