/* SPDX-License-Identifier: Apache-2.0 */
/** Requests that an ADBC statement answers: queries, updates, what a query
 *  would give, rows to take in. */
#ifndef WI_SCAN_ADBC_STATEMENT_H
#define WI_SCAN_ADBC_STATEMENT_H

#include "services/scan/adbc_call.h"

/**
 * Answer a request of kind QUERY, UPDATE, SCHEMA or INGEST: call->stream is set
 * for the first and the third, call->rows where the driver knows it.
 *
 * Errors:     what the driver says, WEIR_ERR_UNSUPPORTED, WEIR_ERR_ARG (INGEST
 *             without rows), WEIR_ERR_NO_MEMORY
 * Blocks:     while the driver works
 * Threads:    the call's
 * Ownership:  the call's; request->bind is moved out
 */
weir_err wi_scan_statement(struct wi_scan_call *call);

#endif /* WI_SCAN_ADBC_STATEMENT_H */
