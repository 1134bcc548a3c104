/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Databases: options, then, when initialised, a node.
 *
 *   uri                    weir://HOST:PORT[/DATASET] (address.h)
 *   adbc.weir.transport    how the server is reached [as the uri says, "auto"]
 *   adbc.weir.dataset      the server's data set [as the uri says, ""]
 *   adbc.weir.ahead        batches in flight, per stream, 1..16 [4]
 *   adbc.weir.max_bytes    most bytes in flight or lent, a connection [64 MiB]
 *   adbc.weir.timeout_ms   an answer must come within [no limit]
 *   adbc.weir.secret_file, adbc.weir.tls_cert_file, ... tls_key_file,
 *   ... tls_ca_file, adbc.weir.name
 *                          who the client is (weir/identity.h) [nobody]
 *   adbc.weir.plain        1: no TLS over tcp in spite of a secret [0]
 *   adbc.weir.server_name  whom a client with a certificate expects [the host
 *                          of the uri]
 *
 * The functions are those of struct AdbcDriver.
 */
#ifndef WI_ADBC_DATABASE_H
#define WI_ADBC_DATABASE_H

#include "connectors/adbc/session.h"

AdbcStatusCode wi_adbc_database_new(struct AdbcDatabase *database,
                                    struct AdbcError *error);
AdbcStatusCode wi_adbc_database_set(struct AdbcDatabase *database,
                                    const char *key, const char *value,
                                    struct AdbcError *error);
AdbcStatusCode wi_adbc_database_set_int(struct AdbcDatabase *database,
                                        const char *key, int64_t value,
                                        struct AdbcError *error);
AdbcStatusCode wi_adbc_database_get(struct AdbcDatabase *database,
                                    const char *key, char *value,
                                    size_t *length, struct AdbcError *error);
AdbcStatusCode wi_adbc_database_get_int(struct AdbcDatabase *database,
                                        const char *key, int64_t *value,
                                        struct AdbcError *error);
AdbcStatusCode wi_adbc_database_get_double(struct AdbcDatabase *database,
                                           const char *key, double *value,
                                           struct AdbcError *error);
AdbcStatusCode wi_adbc_database_init(struct AdbcDatabase *database,
                                     struct AdbcError *error);
AdbcStatusCode wi_adbc_database_release(struct AdbcDatabase *database,
                                        struct AdbcError *error);

/** A session of a database, for a connection. Errors:
 *  ADBC_STATUS_INVALID_STATE (not initialised), as wi_adbc_session_open.
 *  Blocks: shortly. Threads: any. Ownership: wi_adbc_session_drop. */
AdbcStatusCode wi_adbc_database_session(struct AdbcDatabase *database,
                                        struct wi_adbc_session **session_out,
                                        struct AdbcError *error);

#endif /* WI_ADBC_DATABASE_H */
