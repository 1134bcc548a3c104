/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Whole numbers of up to 38 digits in SQLite, which has none beyond 64 bits.
 *
 *   "-340282366920938463463374607431768211455"      text: sign, digits, no
 *                                                   leading zeros
 *   collate exact      such texts are compared as numbers
 *   exact_sum(x)       the sum as such a text; null of no values
 */
#ifndef WT_EXACT_H
#define WT_EXACT_H

#include <sqlite3.h>

/** Make both known to a database. Returns SQLITE_OK or SQLite's code. */
int wt_exact_register(sqlite3 *db);

#endif /* WT_EXACT_H */
