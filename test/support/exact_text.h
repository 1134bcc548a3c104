/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Numbers as texts that have all of their digits, and what such a text is as
 * another type. Slow, simple, and without a line of operators/: floats are
 * written and read by the C library, which does both exactly.
 */
#ifndef WT_EXACT_TEXT_H
#define WT_EXACT_TEXT_H

#include "operators/base/value.h"

/** Of a float64, 1074 of them behind the point. */
enum { WT_EXACT_BYTES = 1400 };

/** v / 10^scale, every digit: "-12.50". */
void wt_exact_decimal(wi_i128 v, uint32_t scale, char text[WT_EXACT_BYTES]);

/** The same of any number; "inf", "nan". */
void wt_exact_text(const struct wi_type *type, const struct wi_value *value,
                   char text[WT_EXACT_BYTES]);

/** The value of that type that is nearest to the text: of floats half way the
 *  even one, of others the one away from zero. false: the type has none. */
bool wt_exact_nearest(const char *text, const struct wi_type *type,
                      struct wi_value *out);

/** Is it one without rounding? */
bool wt_exact_same(const char *text, const struct wi_type *type);

/** The order of two texts as numbers: below, at or above 0. */
int wt_exact_order(const char *a, const char *b);

#endif /* WT_EXACT_TEXT_H */
