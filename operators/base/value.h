/* SPDX-License-Identifier: Apache-2.0 */
/** One value of any type, and the limits of types. As text: value_read.h,
 *  value_text.h. */
#ifndef WI_OPERATORS_VALUE_H
#define WI_OPERATORS_VALUE_H

#include "operators/base/type.h"

/** One value; the type says which member. */
struct wi_value {
    union {
        uint8_t b;
        int64_t i;
        wi_i128 w;
        double f;
        struct wi_str s;
    };
    bool null;
};

#define WI_POW10_64 19 /* the last power of ten that 64 bits hold */
extern const uint64_t wi_powers10[WI_POW10_64 + 1];

/** 10 to the power of n, 0..38. */
static inline wi_i128 wi_pow10(uint32_t n)
{
    return n <= WI_POW10_64 ? (wi_i128)wi_powers10[n]
                            : (wi_i128)wi_powers10[WI_POW10_64] *
                                  (wi_i128)wi_powers10[n - WI_POW10_64];
}

/** Least and largest value of an integer, decimal, date or timestamp. */
struct wi_value_range {
    wi_i128 least;
    wi_i128 most;
};
struct wi_value_range wi_type_range(const struct wi_type *type);

#endif /* WI_OPERATORS_VALUE_H */
