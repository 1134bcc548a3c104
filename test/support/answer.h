/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Answers of queries as text, from Weir and from SQLite, to be compared
 * exactly.
 *
 * A row is a line of cells with a bar in between, which no cell has in it. A
 * cell's text is the same wherever the value comes from:
 *
 *   null                 "NULL"
 *   integer, bool        decimal digits
 *   decimal(P,S)         the unscaled value, see oracle.h
 *   float                all digits that tell it from its neighbours
 *   utf8                 as it is
 *   binary, fixed(N)     hexadecimal, upper case
 *   date, timestamp      2013-07-01, 2013-07-01 10:20:30[.000001]
 */
#ifndef WT_ANSWER_H
#define WT_ANSWER_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/weir.h>

struct wt_answer {
    char **row;
    size_t n;
    size_t room;
};

void wt_answer_fini(struct wt_answer *answer);

/** Append a batch's rows. Returns NULL, or what it does not know. */
const char *wt_answer_batch(struct wt_answer *answer,
                            const struct ArrowSchema *schema,
                            const struct ArrowArray *batch);

/** Append what a query gives. Returns NULL or SQLite's complaint. */
const char *wt_answer_sqlite(struct wt_answer *answer, sqlite3 *db,
                             const char *sql);

/** What rows are ordered by: bit i is column i. Rows that are equal in these
 *  columns may come in any order; 0: all may. */
typedef uint32_t wt_order;
#define WT_ORDER_ALL UINT32_MAX /* rows that tie are the same */

enum { WT_ANSWER_WHY_BYTES = 512 };

/** The same rows, each as often, and ordered alike? If not, says in `why` where
 *  they part. */
bool wt_answer_same(const struct wt_answer *weir,
                    const struct wt_answer *sqlite, wt_order order,
                    char why[WT_ANSWER_WHY_BYTES]);

/** How often the columns of `order` change from a row to the next. */
size_t wt_answer_steps(const struct wt_answer *answer, wt_order order);

#endif /* WT_ANSWER_H */
