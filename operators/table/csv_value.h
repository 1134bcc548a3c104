/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Text to values of a type that is known.
 *
 *   integers       -12 +7 007              range of the type
 *   decimal(P,S)   -12.50 .5 3. 1.500      exact: what does not fit is refused
 *   float          0.1 1e-7 inf -inf nan   the nearest; 1e999 is refused
 *   bool           true false 1 0          in any case
 *   date           2013-07-01
 *   timestamp      2013-07-01              midnight
 *                  2013-07-01 12:30        a T for the space, seconds, a
 *                  2013-07-01T12:30:01.5Z  fraction, a Z: each may be there
 *
 * All of them:
 *
 * Returns:    false if the text is no such value; nothing is written then
 * Errors:     none
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing
 */
#ifndef WI_OPERATORS_CSV_VALUE_H
#define WI_OPERATORS_CSV_VALUE_H

#include <stddef.h>

#include "operators/base/type.h"

bool wi_csv_int64(const char *text, size_t len, int64_t *out);
bool wi_csv_uint64(const char *text, size_t len, uint64_t *out);

/** Unscaled. */
bool wi_csv_decimal(const char *text, size_t len, const struct wi_type *type,
                    wi_i128 *out);

bool wi_csv_float64(const char *text, size_t len, double *out);
bool wi_csv_float32(const char *text, size_t len, float *out);
bool wi_csv_bool(const char *text, size_t len, bool *out);

/** Days since 1970-01-01; years 0000..9999. */
bool wi_csv_date(const char *text, size_t len, int64_t *out);

/** In `unit`s since 1970-01-01; a fraction that is finer is refused. */
bool wi_csv_timestamp(const char *text, size_t len, enum wi_unit unit,
                      int64_t *out);

#endif /* WI_OPERATORS_CSV_VALUE_H */
