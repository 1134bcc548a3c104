/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Types of CSV columns.
 *
 * A column has a type if every one of its texts comes back unchanged from the
 * value: text -> value (value_read.h) -> the same text (value_text.h). So
 * `007`, `1.50` beside `1.5`, `+1`, ` 1`, `-0.00` and `TRUE` make a column of
 * texts. The type is the first of these that fits all values:
 *
 *   int64           as %d prints it
 *   bool            true false
 *   date            YYYY-MM-DD, a day of the Gregorian calendar, years
 *                   0000..9999
 *   timestamp(us)   YYYY-MM-DD hh:mm:ss, and a point and six digits where they
 *                   are not all 0; (ms) and (ns) if it is three or nine
 *   decimal(18,S)   S digits after the point in every value, and one at least;
 *   decimal(38,S)   if 18 digits are too few
 *   float64         the shortest decimal that gives the value
 *   utf8            everything else, and columns without any value
 *
 * Decimals have one of two precisions, so that a new row seldom changes the
 * type of a column that tables are joined by.
 */
#ifndef WI_OPERATORS_CSV_TYPE_H
#define WI_OPERATORS_CSV_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "operators/base/type.h"

/** What a column may still be. Zeroed: nothing was seen. */
struct wi_csv_guess {
    bool seen; /* a value that is not null */
    bool nulls;
    bool no_int;
    bool no_bool;
    bool no_date;
    bool no_time;
    bool no_decimal;
    bool no_float;
    bool not_nano;     /* a timestamp is out of the range of (ns) */
    uint8_t unit;      /* of timestamps: enum wi_unit; 0: none has a fraction */
    uint32_t whole;    /* decimals: most digits before the point */
    uint32_t decimals; /* and after it; 0: none was seen */
};

/** Take one value into account; text NULL is null.
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
void wi_csv_guess_add(struct wi_csv_guess *guess, const char *text, size_t len);

/** What the column is. Errors: none. Blocks: never. Threads: any. */
struct wi_type wi_csv_guess_type(const struct wi_csv_guess *guess);

#endif /* WI_OPERATORS_CSV_TYPE_H */
