/* SPDX-License-Identifier: Apache-2.0 */
/** Values and their texts, for literals, messages and casts. */
#ifndef WI_OPERATORS_EXPR_VALUE_H
#define WI_OPERATORS_EXPR_VALUE_H

#include "operators/base/value_read.h"
#include "operators/base/value_text.h"
#include "operators/expr/node.h"

/** All digits, and those after the point: {5, 2} of `123.45`. */
struct wi_digits {
    uint32_t precision;
    uint32_t scale;
};
struct wi_digits wi_digits_of(struct wi_str text);

/** Unit of a timestamp's text: the coarsest that holds its fraction digits. */
uint8_t wi_unit_of(struct wi_str text);

/** Text for messages; shows null, 'text...' and x'00ff...', too. */
const char *wi_value_show(const struct wi_type *type,
                          const struct wi_value *value,
                          char text[WI_VALUE_TEXT_BYTES]);

/** Value of a hex digit, or -1. */
int wi_hex_digit(char c);

#endif /* WI_OPERATORS_EXPR_VALUE_H */
