/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rows of the CH-benCHmark, computed: the inside of ch_open.
 *
 *   units        customers, orders, or new orders: what parts are cut by
 *   ch_rows      the rows of one batch: which unit each belongs to
 *   ch_fill      a column of those rows
 *
 * Every value is a function of the seed, its column and its unit, so any part
 * of a table can be computed anywhere, in any order. docs/chbench.md describes
 * the data.
 */
#ifndef CHBENCH_FILL_H
#define CHBENCH_FILL_H

#include "operators/table/build.h"

/* TPC-C, clause 4.3.3.1. */
enum {
    CH_DISTRICTS = 10,   /* of a warehouse */
    CH_CUSTOMERS = 3000, /* of a district, with one order each */
    CH_NEW_ORDERS = 900, /* of a district: its last orders */
    CH_DELIVERED = CH_CUSTOMERS - CH_NEW_ORDERS,
    CH_LINES_LEAST = 5, /* of an order */
    CH_LINES_MOST = 15,
    CH_NAMES = 1000, /* last names */
    CH_NAME_BYTES = 16,
    CH_LETTERS = 62,
};

enum ch_fill {
    CH_WAREHOUSE,
    CH_DISTRICT,
    CH_ID,             /* of the customer or order in its district, from 1 */
    CH_LINE,           /* of the order line in its order, from 1 */
    CH_BETWEEN,        /* a random number a..b */
    CH_NUMBER,         /* a */
    CH_LETTERS_DIGITS, /* a random a-string of a..b */
    CH_DIGITS,         /* a random n-string of a */
    CH_WORD,           /* "OE" */
    CH_LAST_NAME,
    CH_STATE,
    CH_ZIP,
    CH_CREDIT,
    CH_SINCE,
    CH_CUSTOMER, /* of an order: a permutation */
    CH_ENTRY,
    CH_DELIVERY,
    CH_CARRIER,
    CH_LINES,
};

struct ch_column {
    const char *name;
    const char *type; /* as plans name types */
    enum ch_fill fill;
    int32_t a;
    int32_t b;
};

/** What all scans of a table share; it does not change. */
struct ch {
    uint64_t seed;
    const struct ch_column *columns;
    uint32_t table;        /* number, for the keys of its columns */
    uint64_t units;        /* of the whole table */
    uint32_t per_district; /* units */
    uint32_t first_id;     /* of a district's first unit */
    bool lines;            /* a unit is an order, a row one of its lines */
    uint64_t lines_key;    /* streams that two tables share */
    uint64_t entry_key;
    uint32_t name_c; /* the constant C of NURand, clause 2.1.6 */
    char pairs[CH_LETTERS * CH_LETTERS][2];
    char digits[100][2];
    char names[CH_NAMES][CH_NAME_BYTES];
    uint8_t name_bytes[CH_NAMES];
};

/** The rows of a batch. */
struct ch_rows {
    uint32_t n;
    uint64_t unit[WI_BUILD_ROWS];
    uint64_t key[WI_BUILD_ROWS]; /* of the row: as unit, or one per line */
    int32_t warehouse[WI_BUILD_ROWS];
    int32_t district[WI_BUILD_ROWS];
    int32_t id[WI_BUILD_ROWS];
    int32_t line[WI_BUILD_ROWS];
    uint64_t shuffled; /* the district + 1 that `customer` belongs to */
    uint16_t customer[CH_CUSTOMERS];
};

/** Tables of letters, digits and names. Never fails. */
void ch_init(struct ch *ch);

/** Lines of an order. */
uint32_t ch_lines(const struct ch *ch, uint64_t order);

/** Fill column number `column` of the table with the rows.
 *  Returns false if the system gave no memory. */
bool ch_fill_column(const struct ch *ch, uint32_t column, struct ch_rows *rows,
                    struct wi_build_col *out);

#endif /* CHBENCH_FILL_H */
