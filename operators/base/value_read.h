/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Text as values: fields of CSV files, literals and casts of expressions, and
 * values in plans are all read here.
 *
 *   integer, decimal  -12.50 +7 .5 3. 1.500     digits, a point among them
 *   float             the same, 1e-7 inf -inf nan
 *   bool              true false 1 0            in any case
 *   date              2013-07-01 -0044-03-15    a year of four digits, or of
 *                     10000-01-01               more, with or without a sign
 *   timestamp         2013-07-01                midnight
 *                     2013-07-01 12:30          T for the space, seconds, a
 *                     2013-07-01T12:30:01.5Z    fraction, a Z: each is optional
 *   fixed(N)          N bytes
 *   utf8, binary      anything
 *
 * A value is exactly what the text says: one that the type cannot hold, because
 * it is too large or its fraction too fine, is refused. Zeros at the end of a
 * fraction change nothing. Only floats are rounded, to the nearest.
 *
 * Spaces are not part of a value. Texts are not checked for UTF-8.
 *
 * All of them:
 *
 * Returns:    enum wi_read; *out is valid on WI_READ_OK only
 * Errors:     none
 * Blocks:     never
 * Threads:    any
 * Ownership:  strings point to the text
 */
#ifndef WI_OPERATORS_VALUE_READ_H
#define WI_OPERATORS_VALUE_READ_H

#include "operators/base/value.h"

enum wi_read {
    WI_READ_OK,
    WI_READ_MALFORMED,
    WI_READ_MISFIT, /* the form is right, but the type cannot hold it */
};

enum wi_read wi_value_read(struct wi_str text, const struct wi_type *type,
                           struct wi_value *out);

/* For readers of many values of one type; of dates and times: time_read.h. */

enum wi_read wi_read_int64(struct wi_str text, int64_t *out);
enum wi_read wi_read_uint64(struct wi_str text, uint64_t *out);
enum wi_read wi_read_decimal(struct wi_str text, const struct wi_type *type,
                             wi_i128 *out);
enum wi_read wi_read_float64(struct wi_str text, double *out);
enum wi_read wi_read_float32(struct wi_str text, float *out);
enum wi_read wi_read_bool(struct wi_str text, bool *out);

/** How a value of this type is written, for messages. */
const char *wi_value_form(const struct wi_type *type);

#endif /* WI_OPERATORS_VALUE_READ_H */
