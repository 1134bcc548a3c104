/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rows that an ADBC driver takes in: all of them, or none.
 *
 *   autocommit off --> the driver reads the rows --> commit
 *                                 |
 *                                 +-- they failed, or it did: rollback
 *
 * Some drivers (DuckDB 1.5) take rows that fail for rows that end, so it is
 * watched how they end. Where a driver has no transactions, what it took before
 * a failure is its own affair.
 */
#ifndef WI_SCAN_ADBC_INGEST_H
#define WI_SCAN_ADBC_INGEST_H

#include "services/scan/adbc_call.h"

/**
 * Take in the rows of the call's request, which has some, by its statement,
 * which was told what to do with them but for the rows.
 *
 * Errors:     what the driver says; WEIR_ERR_DATA (the rows failed; with their
 *             text), WEIR_ERR_CANCELLED, WEIR_ERR_UNSUPPORTED,
 *             WEIR_ERR_NO_MEMORY
 * Blocks:     while the driver works
 * Threads:    the call's
 * Ownership:  request->bind is moved out
 */
weir_err wi_scan_ingest(struct wi_scan_call *call);

#endif /* WI_SCAN_ADBC_INGEST_H */
