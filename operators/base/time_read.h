/* SPDX-License-Identifier: Apache-2.0 */
/** Texts as dates and timestamps: for value_read.h, which says how they are
 *  written, and for readers of many values. */
#ifndef WI_OPERATORS_TIME_READ_H
#define WI_OPERATORS_TIME_READ_H

#include "operators/base/value_read.h"

/** Days since 1970-01-01. */
enum wi_read wi_read_date(struct wi_str text, int64_t *out);

/** @param unit  enum wi_unit, which *out counts since 1970-01-01 */
enum wi_read wi_read_timestamp(struct wi_str text, uint8_t unit, int64_t *out);

#endif /* WI_OPERATORS_TIME_READ_H */
