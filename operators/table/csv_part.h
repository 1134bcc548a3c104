/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Parts of a CSV file by byte range.
 *
 *   data ......|..........."..\n.."....|......       | where part k begins
 *                                  ^ its first record: the first that begins
 *                                    at or after
 *
 * Whether a line end there is data or ends a record depends on every quote
 * before it. In a file without errors all quotes come in pairs, so it is data
 * if their number is odd: counting them is enough. After an error, parts may
 * begin at a wrong place; but the part that has the error finds it, and the
 * scan fails.
 */
#ifndef WI_OPERATORS_CSV_PART_H
#define WI_OPERATORS_CSV_PART_H

#include "operators/table/csv_scan.h"

/** Where text begins: after a byte order mark, if there is one. */
uint64_t wi_csv_first_byte(int fd);

/**
 * Find the first record that begins at or after a byte.
 *
 * @param data       where the first record of all begins
 * @param at         data .. file->bytes
 * @param begin_out  [out] file->bytes if there is none
 *
 * Errors:     WEIR_ERR_SYSTEM, WEIR_ERR_DATA (the file became shorter),
 *             WEIR_ERR_NO_MEMORY
 * Blocks:     on the file, which is read from `data` up to there
 * Threads:    any
 * Ownership:  nothing
 */
weir_err wi_csv_find(const struct wi_csv_file *file, uint64_t data, uint64_t at,
                     uint64_t *begin_out, struct weir_error *err);

#endif /* WI_OPERATORS_CSV_PART_H */
