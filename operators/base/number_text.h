/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Numbers, dates and times as text, exactly: what is read back as the same type
 * is the same value.
 *
 *   integer, decimal     -12, 12.50 with all digits of the scale
 *   float32, float64     the shortest that is read back the same; nan, inf
 *   date                 2013-07-01
 *   timestamp            2013-07-01 12:30:00, .250 behind it if not whole
 *
 * All of them:
 *
 * Returns:    bytes without the NUL behind them
 * Errors:     none
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing
 */
#ifndef WI_OPERATORS_NUMBER_TEXT_H
#define WI_OPERATORS_NUMBER_TEXT_H

#include "operators/base/type.h"

#define WI_VALUE_TEXT_BYTES 64

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

#endif /* WI_OPERATORS_NUMBER_TEXT_H */
