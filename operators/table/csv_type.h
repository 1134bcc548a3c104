/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Types of CSV columns, and values as text and back.
 *
 * A column has a type if every one of its texts comes back unchanged from the
 * value: text -> value -> the same text. So `007`, `1.50` beside `1.5`, `+1`,
 * ` 1` and `TRUE` make a column of texts. Decided over all of its values:
 *
 *   int64    as %d prints it
 *   bool     true false
 *   date32   YYYY-MM-DD, a day of the Gregorian calendar, years 0000..9999
 *   float64  the shortest decimal that gives the value (as %.15g or %.17g), or
 *            the same number of decimals in every value and at most 15 digits
 *   utf8     everything else, and columns without any value
 */
#ifndef WI_OPERATORS_CSV_TYPE_H
#define WI_OPERATORS_CSV_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wi_csv_kind {
    WI_CSV_INT64,
    WI_CSV_BOOL,
    WI_CSV_DATE32,
    WI_CSV_FLOAT64,
    WI_CSV_UTF8
};

struct wi_csv_type {
    enum wi_csv_kind kind;
    int decimals; /* WI_CSV_FLOAT64: that many, or -1: shortest */
    bool nulls;   /* there are some */
};

/** What a column may still be. Zeroed: nothing was seen. */
struct wi_csv_guess {
    bool seen; /* a value that is not null */
    bool nulls;
    bool no_int;
    bool no_bool;
    bool no_date;
    bool no_short; /* float64, shortest */
    bool no_fixed; /* float64, the same number of decimals */
    int decimals;
};

#define WI_CSV_VALUE_BYTES 32 /* longest text of a value that is no utf8 */

/** Take one value into account; text NULL is null.
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
void wi_csv_guess_add(struct wi_csv_guess *guess, const char *text, size_t len);

/** What the column is. Errors: none. Blocks: never. Threads: any. */
struct wi_csv_type wi_csv_guess_type(const struct wi_csv_guess *guess);

/** Name of a type as in the table above, and its Arrow format. Static. */
const char *wi_csv_type_name(struct wi_csv_type type);
const char *wi_csv_type_format(struct wi_csv_type type);

/**
 * Text to value. False if the text is not of that type, in which case nothing
 * is written.
 *
 * Errors:     false
 * Blocks:     never.  Threads: any.  Ownership: nothing
 */
bool wi_csv_parse_int64(const char *text, size_t len, int64_t *out);
bool wi_csv_parse_bool(const char *text, size_t len, int64_t *out);
bool wi_csv_parse_date32(const char *text, size_t len, int64_t *out);
bool wi_csv_parse_float64(const char *text, size_t len, double *out);

/** Value to text, not terminated; returns its length.
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
size_t wi_csv_print_int64(int64_t value, char text[WI_CSV_VALUE_BYTES]);
size_t wi_csv_print_bool(int64_t value, char text[WI_CSV_VALUE_BYTES]);
size_t wi_csv_print_date32(int64_t days, char text[WI_CSV_VALUE_BYTES]);
size_t wi_csv_print_float64(double value, int decimals,
                            char text[WI_CSV_VALUE_BYTES]);

#endif /* WI_OPERATORS_CSV_TYPE_H */
