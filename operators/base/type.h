/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Types of columns and values, and how operators hold them in memory.
 *
 * What travels is Arrow (include/weir/batch.h). Operators compute on five
 * representations only, so that a kernel is written five times, not twenty:
 *
 *   kind                                       representation
 *   bool                                       WI_BOOL   uint8_t, 0 or 1
 *   int8 .. int64, uint8 .. uint32, date32     WI_I64    int64_t
 *   timestamp (s, ms, us, ns)                  WI_I64
 *   decimal(P,S), P <= 18                      WI_I64    unscaled value
 *   uint64                                     WI_I128   wi_i128
 *   decimal(P,S), P > 18                       WI_I128   unscaled value
 *   float32, float64                           WI_F64    double
 *   utf8, binary, fixed-size binary            WI_STR    struct wi_str
 *
 * Widening happens where rows enter, narrowing where they leave (arrow.h).
 *
 * Timestamps count from 1970-01-01 in UTC; the text of a time zone is not kept.
 */
#ifndef WI_OPERATORS_TYPE_H
#define WI_OPERATORS_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>

__extension__ typedef __int128 wi_i128;
__extension__ typedef unsigned __int128 wi_u128;

enum wi_type_kind {
    WI_TYPE_BOOL,
    WI_TYPE_INT8,
    WI_TYPE_INT16,
    WI_TYPE_INT32,
    WI_TYPE_INT64,
    WI_TYPE_UINT8,
    WI_TYPE_UINT16,
    WI_TYPE_UINT32,
    WI_TYPE_UINT64,
    WI_TYPE_FLOAT32,
    WI_TYPE_FLOAT64,
    WI_TYPE_DATE32,
    WI_TYPE_TIMESTAMP,
    WI_TYPE_DECIMAL,
    WI_TYPE_UTF8,
    WI_TYPE_BINARY,
    WI_TYPE_FIXED, /* fixed-size binary */
};

enum wi_rep { WI_BOOL, WI_I64, WI_I128, WI_F64, WI_STR };

enum wi_unit { WI_SECOND, WI_MILLI, WI_MICRO, WI_NANO };

#define WI_DECIMAL_MOST 38  /* digits that an int128 holds */
#define WI_DECIMAL_SMALL 18 /* digits that an int64 holds */

/** Points to bytes kept elsewhere; not NUL-terminated. */
struct wi_str {
    const char *data;
    uint32_t n_bytes;
};

struct wi_type {
    enum wi_type_kind kind;
    bool nullable;
    uint8_t precision; /* DECIMAL: 1..38 */
    uint8_t scale;     /* DECIMAL: 0..precision */
    uint8_t unit;      /* TIMESTAMP: enum wi_unit */
    uint32_t n_bytes;  /* FIXED: 1..4096 */
};

/** A named column. */
struct wi_named_type {
    char *name; /* owned by whoever owns the list */
    struct wi_type type;
};

/** Columns of the rows that an operator gives out. */
struct wi_columns {
    struct wi_named_type *at;
    uint32_t n;
};

/** How values of this type are held. Never fails. */
enum wi_rep wi_type_rep(const struct wi_type *type);

/** Bytes of one value in that representation: 1, 8 or 16. */
uint32_t wi_rep_bytes(enum wi_rep rep);

/** Bytes of one value in Arrow; 0: bool (bits), utf8 and binary (offsets). */
uint32_t wi_type_bytes(const struct wi_type *type);

/** Values of any length: utf8, binary. */
bool wi_type_is_var(const struct wi_type *type);

/** Integers, floats and decimals. */
bool wi_type_is_number(const struct wi_type *type);
bool wi_type_is_integer(const struct wi_type *type);

/** Are the types the same, nullable or not? */
bool wi_type_same(const struct wi_type *a, const struct wi_type *b);

#define WI_TYPE_TEXT_BYTES 48
/** "decimal(12,2)", "timestamp(us)", "utf8", "fixed(16)": the names that plans
 *  use. @param text [out] NUL-terminated; returned for use in messages */
const char *wi_type_text(const struct wi_type *type,
                         char text[WI_TYPE_TEXT_BYTES]);

/** Read such a name; a '?' at its end makes it nullable.
 *  Returns false, and leaves *out alone, if there is no such type. */
bool wi_type_parse(const char *text, struct wi_type *out);

/**
 * Columns from an Arrow struct schema.
 *
 * Errors:     WEIR_ERR_SCHEMA (names the column and its format),
 *             WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    any
 * Ownership:  wi_columns_fini
 */
weir_err wi_columns_from_arrow(const struct ArrowSchema *schema,
                               struct wi_columns *out, struct weir_error *err);

/** The reverse. Errors: WEIR_ERR_NO_MEMORY. Ownership: out->release(out). */
weir_err wi_columns_to_arrow(const struct wi_columns *columns,
                             struct ArrowSchema *out, struct weir_error *err);

/** An empty list is allowed. Never fails. */
void wi_columns_fini(struct wi_columns *columns);

/** Append a column; name is copied. Errors: WEIR_ERR_NO_MEMORY. */
weir_err wi_columns_add(struct wi_columns *columns, const char *name,
                        const struct wi_type *type);

/** Index of the column with this name, or -1. */
int wi_columns_find(const struct wi_columns *columns, const char *name);

#endif /* WI_OPERATORS_TYPE_H */
