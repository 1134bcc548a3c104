/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The tables of the oracle tests, from a seed: nulls, duplicates, empty and
 * quoted strings, skew.
 *
 *   facts  the main table: id unique, g few values or null, h 0..99, text,
 *          decimal, float (sums of its values are exact), date, timestamp, bool
 *   dims   keys h -5..94, some twice, some not there; name, weight
 *   same   500 rows with one key
 *   small  every narrow number type, extremes included
 *   none   facts without rows
 */
#ifndef WT_ORACLE_DATA_H
#define WT_ORACLE_DATA_H

#include "test/support/oracle.h"

enum { WT_FACTS_ROWS = 3000 };

/** Write and load them all. */
void wt_oracle_data(struct wt_oracle *o, uint64_t seed, uint64_t facts_rows);

/** "tables" of a plan that names all of them: a JSON object, as text,
 *  static. */
const char *wt_oracle_tables(void);

#endif /* WT_ORACLE_DATA_H */
