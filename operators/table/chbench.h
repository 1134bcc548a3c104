/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rows of the CH-benCHmark, computed: the inside of weir_table_chbench_open.
 *
 *   units        customers, orders, or new orders: what parts are cut by
 *   wi_ch_rows   the rows of one batch: which unit each belongs to
 *   wi_ch_fill   a column of those rows
 *
 * Every value is a function of the seed, its column and its unit, so any part
 * of a table can be computed anywhere, in any order. docs/chbench.md describes
 * the data.
 */
#ifndef WI_OPERATORS_CHBENCH_H
#define WI_OPERATORS_CHBENCH_H

#include "operators/table/build.h"

/* TPC-C, clause 4.3.3.1. */
enum {
    WI_CH_DISTRICTS = 10,   /* of a warehouse */
    WI_CH_CUSTOMERS = 3000, /* of a district; as many orders */
    WI_CH_NEW_ORDERS = 900, /* of a district: its last orders */
    WI_CH_DELIVERED = WI_CH_CUSTOMERS - WI_CH_NEW_ORDERS,
    WI_CH_LINES_LEAST = 5, /* of an order */
    WI_CH_LINES_MOST = 15,
    WI_CH_NAMES = 1000, /* last names */
    WI_CH_NAME_BYTES = 16,
    WI_CH_LETTERS = 62,
};

enum wi_ch_fill {
    WI_CH_WAREHOUSE,
    WI_CH_DISTRICT,
    WI_CH_ID,             /* of the customer or order in its district, from 1 */
    WI_CH_LINE,           /* of the order line in its order, from 1 */
    WI_CH_BETWEEN,        /* a random number a..b */
    WI_CH_NUMBER,         /* a */
    WI_CH_LETTERS_DIGITS, /* a random a-string of a..b */
    WI_CH_DIGITS,         /* a random n-string of a */
    WI_CH_WORD,           /* "OE" */
    WI_CH_LAST_NAME,
    WI_CH_STATE,
    WI_CH_ZIP,
    WI_CH_CREDIT,
    WI_CH_SINCE,
    WI_CH_CUSTOMER, /* of an order: a permutation */
    WI_CH_ENTRY,
    WI_CH_DELIVERY,
    WI_CH_CARRIER,
    WI_CH_LINES,
};

struct wi_ch_column {
    const char *name;
    const char *type; /* as plans name types */
    enum wi_ch_fill fill;
    int32_t a;
    int32_t b;
};

/** What all scans of a table share, and does not change. */
struct wi_ch {
    uint64_t seed;
    const struct wi_ch_column *columns;
    uint32_t table;        /* number, for the keys of its columns */
    uint64_t units;        /* of the whole table */
    uint32_t per_district; /* units */
    uint32_t first_id;     /* of a district's first unit */
    bool lines;            /* a unit is an order, a row one of its lines */
    uint64_t lines_key;    /* streams that two tables share */
    uint64_t entry_key;
    uint32_t name_c; /* the constant C of NURand, clause 2.1.6 */
    char pairs[WI_CH_LETTERS * WI_CH_LETTERS][2];
    char digits[100][2];
    char names[WI_CH_NAMES][WI_CH_NAME_BYTES];
    uint8_t name_bytes[WI_CH_NAMES];
};

/** The rows of a batch. */
struct wi_ch_rows {
    uint32_t n;
    uint64_t unit[WI_BUILD_ROWS];
    uint64_t key[WI_BUILD_ROWS]; /* of the row: as unit, or one per line */
    int32_t warehouse[WI_BUILD_ROWS];
    int32_t district[WI_BUILD_ROWS];
    int32_t id[WI_BUILD_ROWS];
    int32_t line[WI_BUILD_ROWS];
    uint64_t shuffled; /* the district + 1 that `customer` belongs to */
    uint16_t customer[WI_CH_CUSTOMERS];
};

/** Tables of letters, digits and names. Never fails. */
void wi_ch_init(struct wi_ch *ch);

/** Lines of an order. */
uint32_t wi_ch_lines(const struct wi_ch *ch, uint64_t order);

/** Fill column number `column` of the table with the rows.
 *  Returns false if the system gave no memory. */
bool wi_ch_fill_column(const struct wi_ch *ch, uint32_t column,
                       struct wi_ch_rows *rows, struct wi_build_col *out);

#endif /* WI_OPERATORS_CHBENCH_H */
