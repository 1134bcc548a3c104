/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Answers of queries as text, from Weir and from SQLite, to be compared
 * exactly.
 *
 * A row is a line of cells with a bar in between. A cell's text is the same
 * wherever the value comes from:
 *
 *   null                 "NULL"
 *   integer, bool        decimal digits
 *   decimal(P,S)         the unscaled value: SQLite holds it as an integer
 *   float                all digits that tell it from its neighbours
 *   utf8                 as it is
 *   binary               hexadecimal, upper case (hex() of SQLite)
 *   date, timestamp      2013-07-01, 2013-07-01 10:20:30[.000001]
 */
#ifndef WT_ANSWER_H
#define WT_ANSWER_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

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

/** The same rows, each as often, in the same order if `ordered`? If not, says
 *  in `why` where they part. Sorts both if not ordered. */
bool wt_answer_same(struct wt_answer *weir, struct wt_answer *sqlite,
                    bool ordered, char *why, size_t why_bytes);

#endif /* WT_ANSWER_H */
