/* SPDX-License-Identifier: Apache-2.0 */
#include "operators/base/value.h"

const uint64_t wi_powers10[WI_POW10_64 + 1] = {
    UINT64_C(1),
    UINT64_C(10),
    UINT64_C(100),
    UINT64_C(1000),
    UINT64_C(10000),
    UINT64_C(100000),
    UINT64_C(1000000),
    UINT64_C(10000000),
    UINT64_C(100000000),
    UINT64_C(1000000000),
    UINT64_C(10000000000),
    UINT64_C(100000000000),
    UINT64_C(1000000000000),
    UINT64_C(10000000000000),
    UINT64_C(100000000000000),
    UINT64_C(1000000000000000),
    UINT64_C(10000000000000000),
    UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000),
    UINT64_C(10000000000000000000),
};

struct wi_value_range wi_type_range(const struct wi_type *type)
{
    static const struct {
        int64_t least;
        uint64_t most;
    } integers[] = {
        [WI_TYPE_INT8] = {INT8_MIN, INT8_MAX},
        [WI_TYPE_INT16] = {INT16_MIN, INT16_MAX},
        [WI_TYPE_INT32] = {INT32_MIN, INT32_MAX},
        [WI_TYPE_INT64] = {INT64_MIN, INT64_MAX},
        [WI_TYPE_UINT8] = {0, UINT8_MAX},
        [WI_TYPE_UINT16] = {0, UINT16_MAX},
        [WI_TYPE_UINT32] = {0, UINT32_MAX},
        [WI_TYPE_UINT64] = {0, UINT64_MAX},
    };
    if (wi_type_is_integer(type)) {
        return (struct wi_value_range){integers[type->kind].least,
                                       integers[type->kind].most};
    }
    if (type->kind == WI_TYPE_DECIMAL) {
        wi_i128 most = wi_pow10(type->precision) - 1;
        return (struct wi_value_range){-most, most};
    }
    if (type->kind == WI_TYPE_DATE32) {
        return (struct wi_value_range){INT32_MIN, INT32_MAX};
    }
    return (struct wi_value_range){INT64_MIN, INT64_MAX};
}
