/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Plans against SQLite: the same CSV files in both, the same answer from both.
 *
 *   wt_oracle_open(dir)           an empty database, a folder for files
 *   wt_oracle_write(...)          write DIR/NAME.csv from cells; load it
 *   wt_oracle_load(...)           load a file that is there already
 *   wt_oracle_check(...)          a plan on a whole cluster, and its SQL: both
 *                                 answers, compared
 *
 * What SQLite has no type for:
 *
 *   bool                      0 or 1
 *   decimal of <= 18 digits   an integer, its unscaled value
 *   longer, and uint64        the digits as text, with `collate exact`:
 *                             compared as numbers; exact_sum() adds them up
 *   date, timestamp           text
 *   binary, fixed(N)          text, hexadecimal
 */
#ifndef WT_ORACLE_H
#define WT_ORACLE_H

#include <stdio.h>

#include <weir/run.h>

#include "test/support/answer.h"
#include "test/support/cluster.h"

enum { WT_ORACLE_COLUMNS = 32, WT_ORACLE_PATH_BYTES = 256 };

struct wt_oracle {
    char dir[WT_ORACLE_PATH_BYTES];
    sqlite3 *db;
    uint64_t queries; /* run so far: their ids */
};

/** Both of a column: as plans write them. */
struct wt_oracle_column {
    const char *name;
    const char *type; /* "decimal(12,2)?" */
};

struct wt_oracle_table {
    const char *name;
    const struct wt_oracle_column *columns;
    uint32_t n_columns;
};

/** Writes a cell as CSV has it; nothing for null. */
typedef void (*wt_cell_fn)(FILE *out, uint64_t row, uint32_t column, void *arg);

/** Fails the test on error, as all of these do. */
void wt_oracle_open(struct wt_oracle *o);
void wt_oracle_close(struct wt_oracle *o); /* removes the files, too */

void wt_oracle_write(struct wt_oracle *o, const struct wt_oracle_table *table,
                     uint64_t rows, wt_cell_fn cell, void *arg);
void wt_oracle_load(struct wt_oracle *o, const struct wt_oracle_table *table,
                    const char *path);

/** A plan, and the same in SQL. */
struct wt_oracle_case {
    const char *name; /* for messages */
    const char *json;
    weir_plan *const *plans; /* in place of json: each node's */
    const char *sql;
    wt_order order;
    bool twice; /* run the plan a second time: its tables keep their rows */
};

/** Run the plan on every worker of every node, and compare with an answer that
 *  SQLite gave. */
void wt_oracle_compare(struct wt_oracle *o, struct wt_cluster *c,
                       const struct wt_oracle_case *check,
                       const struct wt_answer *sqlite);

/** Run both, and compare. */
void wt_oracle_check(struct wt_oracle *o, struct wt_cluster *c,
                     const struct wt_oracle_case *check);

/** What SQLite gives for a query. Ownership: wt_answer_fini. */
void wt_oracle_ask(struct wt_oracle *o, const char *sql,
                   struct wt_answer *answer);

#endif /* WT_ORACLE_H */
