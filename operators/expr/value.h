/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Values from text and to text, and the limits of types.
 *
 *   "1.50"  --wi_value_read decimal(3,2)-->  150  --wi_value_text-->  "1.50"
 */
#ifndef WI_OPERATORS_EXPR_VALUE_H
#define WI_OPERATORS_EXPR_VALUE_H

#include "operators/base/number_text.h"
#include "operators/expr/node.h"

/** 10 to the power of n, 0..38. */
wi_i128 wi_pow10(uint32_t n);

/** Least and largest value of an integer, decimal, date or timestamp. */
struct wi_value_range {
    wi_i128 least;
    wi_i128 most;
};
struct wi_value_range wi_type_range(const struct wi_type *type);

enum wi_read {
    WI_READ_OK,
    WI_READ_MALFORMED,
    WI_READ_TOO_LARGE, /* for the type */
};

/** Text as a value of any type; strings point to the text. Spaces around it
 *  are not allowed, digits behind a decimal's scale are rounded half away. */
enum wi_read wi_value_read(struct wi_str text, const struct wi_type *type,
                           struct wi_value *out);

/** How a value of this type is written, for messages. */
const char *wi_value_form(const struct wi_type *type);

/** Digits before and behind the point of `123.45`: {5, 2}. */
struct wi_digits {
    uint32_t precision;
    uint32_t scale;
};
struct wi_digits wi_digits_of(struct wi_str text);

/** Fraction digits of a timestamp's text decide its unit: the coarsest that
 *  holds it. */
uint8_t wi_unit_of(struct wi_str text);

/** Text of a value that is not null and no string; returns the bytes. */
uint32_t wi_value_text(const struct wi_type *type, const struct wi_value *value,
                       char text[WI_VALUE_TEXT_BYTES]);

/** Text for messages: null, 'text...' and x'00ff...', too. */
const char *wi_value_show(const struct wi_type *type,
                          const struct wi_value *value,
                          char text[WI_VALUE_TEXT_BYTES]);

/** Value of a hex digit, or -1. */
int wi_hex_digit(char c);

/** Double times 10^scale, rounded half away from zero. false: beyond an
 *  int128, or not finite. */
bool wi_f64_scaled(double v, uint32_t scale, wi_i128 *out);

/** Decimal as the nearest double. */
double wi_f64_unscaled(wi_i128 v, uint32_t scale);

#endif /* WI_OPERATORS_EXPR_VALUE_H */
