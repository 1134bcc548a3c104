/* SPDX-License-Identifier: Apache-2.0 */
/** Formats of the Arrow C Data Interface: what two readers could read in two
 *  ways is refused before any library reads it. */
#ifndef WI_SCAN_FORMAT_H
#define WI_SCAN_FORMAT_H

#include <weir/batch.h>

/**
 * Check formats and numbers of children of a schema and all its fields.
 *
 * Errors:     WEIR_ERR_SCHEMA: names the field and its format
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing
 */
weir_err wi_scan_format_check(const struct ArrowSchema *schema,
                              struct weir_error *err);

#endif /* WI_SCAN_FORMAT_H */
