/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Values as text, exactly: read back as the same type (value_read.h), a text
 * gives the same value.
 *
 *   bool                 true, false
 *   integer, decimal     -12, 12.50 with all digits of the scale
 *   float32, float64     the shortest that reads back the same; nan, inf
 *   date                 2013-07-01
 *   timestamp            2013-07-01 12:30:00, and .250 if it has a fraction
 *
 * A year has four digits at least, and a sign if it is negative: the one before
 * 0001 is 0000.
 *
 * All of them:
 *
 * Returns:    bytes without the NUL at the end
 * Errors:     none
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing; all WI_VALUE_TEXT_BYTES may be overwritten
 */
#ifndef WI_OPERATORS_VALUE_TEXT_H
#define WI_OPERATORS_VALUE_TEXT_H

#include "operators/base/value.h"

#define WI_VALUE_TEXT_BYTES 64

/** A value that is not null, of any type but utf8, binary and fixed(N). */
uint32_t wi_value_text(const struct wi_type *type, const struct wi_value *value,
                       char text[WI_VALUE_TEXT_BYTES]);

uint32_t wi_bool_text(bool v, char text[WI_VALUE_TEXT_BYTES]);

/** v / 10^scale. */
uint32_t wi_exact_text(wi_i128 v, uint32_t scale,
                       char text[WI_VALUE_TEXT_BYTES]);

/** @param single  v is a float32 */
uint32_t wi_float_text(double v, bool single, char text[WI_VALUE_TEXT_BYTES]);

/** @param days  since 1970-01-01 */
uint32_t wi_date_text(int64_t days, char text[WI_VALUE_TEXT_BYTES]);

/** @param v  in `unit`s (enum wi_unit) since 1970-01-01 */
uint32_t wi_timestamp_text(int64_t v, uint8_t unit,
                           char text[WI_VALUE_TEXT_BYTES]);

#endif /* WI_OPERATORS_VALUE_TEXT_H */
