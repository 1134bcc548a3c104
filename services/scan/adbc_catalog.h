/* SPDX-License-Identifier: Apache-2.0 */
/** Requests that an ADBC connection answers: what is in the database, and who
 *  it is. */
#ifndef WI_SCAN_ADBC_CATALOG_H
#define WI_SCAN_ADBC_CATALOG_H

#include "services/scan/adbc_call.h"

/**
 * Answer a request of kind OBJECTS, TABLE_SCHEMA, TABLE_TYPES or INFO:
 * call->stream is set.
 *
 * Errors:     WEIR_ERR_ARG (an option: names it), WEIR_ERR_NOT_FOUND (the
 *             table), WEIR_ERR_UNSUPPORTED, WEIR_ERR_NO_MEMORY, what the driver
 *             says
 * Blocks:     while the driver works
 * Threads:    the call's
 * Ownership:  the call's
 */
weir_err wi_scan_catalog(struct wi_scan_call *call);

#endif /* WI_SCAN_ADBC_CATALOG_H */
