/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A schema in the form the data path uses, and views of columns of a batch.
 *
 *   ArrowSchema --wi_schema_open--> wi_schema     (cold: parse, check)
 *   ArrowArray  --wi_schema_import--> views[]     (per batch: check, point)
 *
 * Four physical kinds carry every type of weir/batch.h:
 *   FIXED   width bytes per value     (int*, float*, dates and times,
 *                                      decimals, fixed-size binary)
 *   BITS    one bit per value, LSB first                            (bool)
 *   VAR     int32 offsets and bytes                         (utf8, binary)
 *   STRUCT  nothing of its own but nulls                          (struct)
 *
 * The fields of a struct are columns too, of as many rows, which follow it:
 *
 *   a, s {x, t {y}}, b  -->  columns[] = a, s, s.x, s.t, s.t.y, b
 *
 * so that whoever moves rows goes over columns[] and knows no structs. A list,
 * or a map, is a VAR column: the value of a row is all its items, packed into
 * bytes (pack.h). What they are is a schema of its own.
 */
#ifndef WI_SCHEMA_H
#define WI_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>

#include "core/base/isa.h"

enum wi_kind { WI_KIND_FIXED, WI_KIND_BITS, WI_KIND_VAR, WI_KIND_STRUCT };

/* How the values of a column that is a list are counted. */
enum wi_list_kind {
    WI_LIST_NONE,
    WI_LIST_32, /* int32 offsets: lists and maps */
    WI_LIST_64,
    WI_LIST_FIXED /* n_items each */
};

/* Structs and lists in each other: a column is in at most so many. */
enum { WI_SCHEMA_DEPTH = 32 };

/* How two values compare (range partitioning) and hash. */
enum wi_order {
    WI_ORDER_SIGNED,
    WI_ORDER_UNSIGNED,
    WI_ORDER_FLOAT, /* -0 equals 0, NaN equals NaN and sorts last */
    WI_ORDER_BYTES, /* lexicographic, unsigned */
    WI_ORDER_NONE,  /* not at all: such a column is no key */
};

struct wi_column {
    char *name;   /* of a field: with those of its structs, "s.t.y" */
    char *format; /* Arrow format string */
    enum wi_kind kind;
    enum wi_order order;
    uint32_t width; /* bytes per value; FIXED only, else 0 */
    bool nullable;
    uint32_t n_fields;      /* of a STRUCT, else 0 */
    uint32_t n_below;       /* columns after it that are in it */
    enum wi_list_kind list; /* VAR only, else NONE */
    uint32_t n_items;
    struct wi_schema *items; /* of a list: one column */
};

struct wi_schema {
    uint32_t n_columns;
    uint32_t n_top;       /* of them are in no struct: a batch's columns */
    uint32_t n_var;       /* columns of kind VAR */
    uint32_t n_lists;     /* of them are lists */
    uint32_t n_buffers;   /* buffers in a frame: per column validity if
                             nullable, values or bits or offsets unless a
                             struct, bytes */
    uint32_t fixed_bits;  /* bits per row without VAR bytes, offsets included */
    uint64_t fingerprint; /* of names, formats, nullability: equal schemas on
                             two nodes have equal fingerprints */
    struct wi_column *columns;
};

struct wi_text; /* text.h */

/** One column of a batch. Values start at `offset` (rows) in every buffer. */
struct wi_view {
    const uint8_t *validity; /* NULL: no nulls */
    const void *values;      /* FIXED values, BITS bits, or VAR int32 offsets */
    const uint8_t *bytes;    /* VAR only */
    uint64_t offset;         /* rows to skip: struct offset + child offset */
    const struct wi_text *texts; /* VAR: not NULL: by row, from 0 on; values and
                          bytes are not looked at */
    const void *given;           /* the validity buffer of the batch, for
                          wi_schema_is_imported() only */
};

/**
 * Parse and check an Arrow schema (format "+s").
 *
 * Errors:     WEIR_ERR_SCHEMA (names column, format, and what is supported),
 *             WEIR_ERR_ARG, WEIR_ERR_NO_MEMORY
 * Blocks:     never.  Threads: any
 * Ownership:  schema is borrowed for the call; wi_schema_close frees *out
 */
weir_err wi_schema_open(const struct ArrowSchema *schema,
                        struct wi_schema **out, struct weir_error *err);
void wi_schema_close(struct wi_schema *s);

/** A schema of some columns of another one, plain ones, all of them nullable.
 *  Errors: WEIR_ERR_NO_MEMORY. Ownership: as wi_schema_open. */
weir_err wi_schema_pick(const struct wi_schema *s, const uint32_t *columns,
                        uint32_t n, struct wi_schema **out,
                        struct weir_error *err);

/** Column by name, fields of structs left out; -1: none. */
int wi_schema_find(const struct wi_schema *s, const char *name);

/** "a:l?, b:u, s:+s, s.x:l" into text (cut to fit), for messages; ? marks
 *  nullable. */
void wi_schema_text(const struct wi_schema *s, char *text, size_t bytes);

#endif /* WI_SCHEMA_H */
