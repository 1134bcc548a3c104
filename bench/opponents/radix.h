/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Radix partitioning in memory, what a fan-out is held against.
 *
 *   rows --hash--> destinations, histogram --prefix sum--> begin of each part
 *   rows --scatter--> a cache line per destination --full--> its part
 *
 * Two passes. Destinations are kept from the first for the second. The scatter
 * collects the values of a destination in a line of its own, which stays in the
 * cache, and writes full lines around the cache with non-temporal stores, so
 * that a part's page and line are touched once per line and not once per row:
 * software write combining, after C. Balkesen, J. Teubner, G. Alonso and
 * M. T. Özsu, "Main-Memory Hash Joins on Multi-Core CPUs" (ICDE 2013), and
 * F. M. Schuhknecht, P. Khanchandani and J. Dittrich, "On the Surprising
 * Difficulty of Simple Things: the Case of Radix Partitioning" (VLDB 2015).
 * Written from their descriptions. Columns are scattered one after another,
 * texts without write combining. The hash is the library's own kernel.
 */
#ifndef WB_RADIX_H
#define WB_RADIX_H

#include <stdint.h>

#include "bench/lib/rows.h"

struct wb_radix;

/**
 * Memory for the parts of these rows.
 *
 * Errors:     WEIR_ERR_NO_MEMORY
 * Blocks:     while pages are made
 * Threads:    one
 * Ownership:  wb_radix_close; rows are borrowed
 */
weir_err wb_radix_open(const struct wb_rows *rows, uint32_t n_dest,
                       struct wb_radix **out, struct weir_error *err);
void wb_radix_close(struct wb_radix *r);

/** Partition all rows. Errors: none. Blocks: never. Threads: one.
 *  Ownership: nothing. */
void wb_radix_run(struct wb_radix *r);

/** Rows of a part after a run; its columns.
 *  Errors: none. Blocks: never. Threads: one. Ownership: borrowed. */
uint64_t wb_radix_part(const struct wb_radix *r, uint32_t dest,
                       struct wb_columns *out);

#endif /* WB_RADIX_H */
