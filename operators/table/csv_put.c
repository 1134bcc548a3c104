/* SPDX-License-Identifier: Apache-2.0 */
#include "operators/table/csv_put.h"

#include "operators/base/time_read.h"
#include "operators/base/utf8.h"
#include "operators/base/value_read.h"

static void set_range(struct wi_csv_put *put, int bits, bool with_sign)
{
    put->most =
        with_sign ? (INT64_C(1) << (bits - 1)) - 1 : (INT64_C(1) << bits) - 1;
    put->least = with_sign ? -put->most - 1 : 0;
}

struct wi_csv_put wi_csv_put_of(uint32_t field, struct wi_build_col *col)
{
    struct wi_csv_put put = {.field = field,
                             .utf8 = col->type.kind == WI_TYPE_UTF8,
                             .col = col,
                             .least = INT64_MIN,
                             .most = INT64_MAX};
    switch (col->type.kind) {
    case WI_TYPE_INT8:
    case WI_TYPE_INT16:
    case WI_TYPE_INT32:
        set_range(&put, 8 * (int)col->value_bytes, true);
        break;
    case WI_TYPE_UINT8:
    case WI_TYPE_UINT16:
    case WI_TYPE_UINT32:
        set_range(&put, 8 * (int)col->value_bytes, false);
        break;
    default:
        break;
    }
    return put;
}

static bool put_int(const struct wi_csv_put *put, uint32_t row,
                    struct wi_str text)
{
    int64_t value;
    if (wi_read_int64(text, &value) != WI_READ_OK || value < put->least ||
        value > put->most) {
        return false;
    }
    switch (put->col->value_bytes) {
    case 1:
        ((uint8_t *)put->col->values)[row] = (uint8_t)value;
        break;
    case 2:
        ((uint16_t *)put->col->values)[row] = (uint16_t)value;
        break;
    case 4:
        ((uint32_t *)put->col->values)[row] = (uint32_t)value;
        break;
    default:
        ((int64_t *)put->col->values)[row] = value;
        break;
    }
    return true;
}

static bool put_date(const struct wi_csv_put *put, uint32_t row,
                     struct wi_str text)
{
    int64_t days;
    if (wi_read_date(text, &days) != WI_READ_OK) {
        return false;
    }
    ((int32_t *)put->col->values)[row] = (int32_t)days;
    return true;
}

static bool put_bool(const struct wi_csv_put *put, uint32_t row,
                     struct wi_str text)
{
    bool value;
    if (wi_read_bool(text, &value) != WI_READ_OK) {
        return false;
    }
    wi_build_bool(put->col, row, value);
    return true;
}

static bool put_fixed(const struct wi_csv_put *put, uint32_t row,
                      struct wi_str text)
{
    const size_t n = put->col->value_bytes;
    if (text.n_bytes != n) {
        return false;
    }
    memcpy((char *)put->col->values + row * n, text.data, n);
    return true;
}

static bool put_fixed_size(const struct wi_csv_put *put, uint32_t row,
                           struct wi_str text)
{
    void *values = put->col->values;
    const struct wi_type *type = &put->col->type;
    switch (type->kind) {
    case WI_TYPE_BOOL:
        return put_bool(put, row, text);
    case WI_TYPE_UINT64:
        return wi_read_uint64(text, (uint64_t *)values + row) == WI_READ_OK;
    case WI_TYPE_FLOAT32:
        return wi_read_float32(text, (float *)values + row) == WI_READ_OK;
    case WI_TYPE_FLOAT64:
        return wi_read_float64(text, (double *)values + row) == WI_READ_OK;
    case WI_TYPE_DATE32:
        return put_date(put, row, text);
    case WI_TYPE_TIMESTAMP:
        return wi_read_timestamp(text, type->unit, (int64_t *)values + row) ==
               WI_READ_OK;
    case WI_TYPE_DECIMAL:
        return wi_read_decimal(text, type, (wi_i128 *)values + row) ==
               WI_READ_OK;
    case WI_TYPE_FIXED:
        return put_fixed(put, row, text);
    default:
        return put_int(put, row, text);
    }
}

weir_err wi_csv_put_value(const struct wi_csv_put *put, uint32_t row,
                          const struct wi_csv_field *f, bool ascii)
{
    const struct wi_str text = {f->text, (uint32_t)f->len};
    if (put->utf8 && !ascii && !wi_utf8_check(f->text, f->len)) {
        return WEIR_ERR_DATA;
    }
    if (put->col->offsets != NULL) {
        return wi_build_text(put->col, row, f->text, f->len)
                   ? WEIR_OK
                   : WEIR_ERR_NO_MEMORY;
    }
    return put_fixed_size(put, row, text) ? WEIR_OK : WEIR_ERR_DATA;
}

void wi_csv_put_null(const struct wi_csv_put *put, uint32_t row)
{
    struct wi_build_col *col = put->col;
    if (col->offsets != NULL) {
        col->offsets[row + 1] = (int32_t)col->text_bytes;
    } else if (col->type.kind == WI_TYPE_BOOL) {
        wi_build_bool(col, row, false);
    } else {
        memset((char *)col->values + (size_t)row * col->value_bytes, 0,
               col->value_bytes);
    }
    wi_build_null(col, row);
}
