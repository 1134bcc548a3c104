/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Connections: a session, which is one of the engine's at the server, too. Its
 * options are the engine's to know: autocommit, catalog, db_schema, isolation
 * level, read only.
 *
 * The functions are those of struct AdbcDriver.
 */
#ifndef WI_ADBC_CONNECTION_H
#define WI_ADBC_CONNECTION_H

#include "connectors/adbc/session.h"

AdbcStatusCode wi_adbc_connection_new(struct AdbcConnection *connection,
                                      struct AdbcError *error);
AdbcStatusCode wi_adbc_connection_set(struct AdbcConnection *connection,
                                      const char *key, const char *value,
                                      struct AdbcError *error);
AdbcStatusCode wi_adbc_connection_get(struct AdbcConnection *connection,
                                      const char *key, char *value,
                                      size_t *length, struct AdbcError *error);
AdbcStatusCode wi_adbc_connection_init(struct AdbcConnection *connection,
                                       struct AdbcDatabase *database,
                                       struct AdbcError *error);
AdbcStatusCode wi_adbc_connection_release(struct AdbcConnection *connection,
                                          struct AdbcError *error);
AdbcStatusCode wi_adbc_connection_cancel(struct AdbcConnection *connection,
                                         struct AdbcError *error);
AdbcStatusCode wi_adbc_connection_commit(struct AdbcConnection *connection,
                                         struct AdbcError *error);
AdbcStatusCode wi_adbc_connection_rollback(struct AdbcConnection *connection,
                                           struct AdbcError *error);

/** The session of a connection; NULL, and an error of
 *  ADBC_STATUS_INVALID_STATE: it has none. Borrowed. */
struct wi_adbc_session *
wi_adbc_connection_session(const struct AdbcConnection *connection,
                           struct AdbcError *error);

#endif /* WI_ADBC_CONNECTION_H */
