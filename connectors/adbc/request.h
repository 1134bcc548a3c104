/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a statement holds, and the request that it becomes when it is executed.
 */
#ifndef WI_ADBC_REQUEST_H
#define WI_ADBC_REQUEST_H

#include "connectors/adbc/options.h"
#include "connectors/adbc/session.h"

struct wi_adbc_statement {
    struct wi_adbc_session *session; /* held */
    struct wi_adbc_options options;
    char *query;                  /* NULL: none */
    struct ArrowArrayStream bind; /* release NULL: none */
};

/** The table that takes rows in; NULL: the statement is a query. */
const char *wi_adbc_request_table(const struct wi_adbc_statement *s);

/**
 * Fill a request of a kind; INGEST if the statement has a table. Its bind is
 * the statement's, which whoever sends it releases.
 *
 * Errors:     ADBC_STATUS_INVALID_STATE (no query, no rows to take in),
 *             ADBC_STATUS_INTERNAL (no memory)
 * Blocks:     never
 * Threads:    the statement's
 * Ownership:  wi_adbc_request_fini; texts are the statement's
 */
AdbcStatusCode wi_adbc_request_init(struct weir_scan_request *request,
                                    struct wi_adbc_statement *s,
                                    weir_scan_kind kind,
                                    struct AdbcError *error);
void wi_adbc_request_fini(struct weir_scan_request *request);

#endif /* WI_ADBC_REQUEST_H */
