/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Plans against SQLite: the same CSV files in both, the same answer from both.
 *
 *   wt_oracle_open(dir)           an empty database, a folder for files
 *   wt_oracle_table(...)          write DIR/NAME.csv from cells; load it
 *   wt_oracle_load(...)           load a file that is there already
 *   wt_oracle_run(cluster, plan)  the plan's answer, from a whole cluster
 *   wt_oracle_check(...)          both answers, compared
 *
 * In SQLite a decimal is an integer, its unscaled value; a date and a timestamp
 * are text; a bool is 0 or 1.
 */
#ifndef WT_ORACLE_H
#define WT_ORACLE_H

#include <stdio.h>

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

/** Run a plan (JSON) on every worker of every node of a cluster. */
void wt_oracle_run(struct wt_oracle *o, struct wt_cluster *c, const char *json,
                   struct wt_answer *answer);

/** Run both, and compare. `name` is for messages. */
void wt_oracle_check(struct wt_oracle *o, struct wt_cluster *c,
                     const char *name, const char *json, const char *sql,
                     bool ordered);

#endif /* WT_ORACLE_H */
