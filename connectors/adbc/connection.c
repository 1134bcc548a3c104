/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: a session. */
#include "connectors/adbc/connection.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/adbc/database.h"
#include "connectors/adbc/error.h"
#include "connectors/adbc/options.h"

struct connection {
    struct wi_adbc_session *session; /* once initialised */
};

static struct connection *of(const struct AdbcConnection *connection,
                             struct AdbcError *error)
{
    if (connection == NULL || connection->private_data == NULL) {
        (void)wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                           "the connection was not made, or was released");
        return NULL;
    }
    return connection->private_data;
}

struct wi_adbc_session *
wi_adbc_connection_session(const struct AdbcConnection *connection,
                           struct AdbcError *error)
{
    const struct connection *c = of(connection, error);
    if (c != NULL && c->session == NULL) {
        (void)wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                           "the connection was not initialised");
    }
    return c != NULL ? c->session : NULL;
}

/* ---- options ------------------------------------------------------------- */

AdbcStatusCode wi_adbc_connection_set(struct AdbcConnection *connection,
                                      const char *key, const char *value,
                                      struct AdbcError *error)
{
    if (of(connection, error) == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    if (strcmp(key, ADBC_CONNECTION_OPTION_AUTOCOMMIT) != 0) {
        return wi_adbc_fail(error, ADBC_STATUS_NOT_IMPLEMENTED,
                            "connections of Weir have no option %s", key);
    }
    return strcmp(value, ADBC_OPTION_VALUE_ENABLED) == 0
               ? ADBC_STATUS_OK
               : wi_adbc_fail(error, ADBC_STATUS_NOT_IMPLEMENTED,
                              "each statement is a transaction of its own: "
                              "%s is always true",
                              key);
}

AdbcStatusCode wi_adbc_connection_get(struct AdbcConnection *connection,
                                      const char *key, char *value,
                                      size_t *length, struct AdbcError *error)
{
    if (of(connection, error) == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    const char *text = strcmp(key, ADBC_CONNECTION_OPTION_AUTOCOMMIT) == 0
                           ? ADBC_OPTION_VALUE_ENABLED
                           : NULL;
    return wi_adbc_give(key, text, value, length, error);
}

/* ---- new, init, release -------------------------------------------------- */

AdbcStatusCode wi_adbc_connection_new(struct AdbcConnection *connection,
                                      struct AdbcError *error)
{
    connection->private_data = calloc(1, sizeof(struct connection));
    return connection->private_data != NULL
               ? ADBC_STATUS_OK
               : wi_adbc_fail(error, ADBC_STATUS_INTERNAL, "no memory");
}

AdbcStatusCode wi_adbc_connection_init(struct AdbcConnection *connection,
                                       struct AdbcDatabase *database,
                                       struct AdbcError *error)
{
    struct connection *c = of(connection, error);
    if (c == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    if (c->session != NULL) {
        return wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                            "the connection is open already");
    }
    return wi_adbc_database_session(database, &c->session, error);
}

AdbcStatusCode wi_adbc_connection_release(struct AdbcConnection *connection,
                                          struct AdbcError *error)
{
    struct connection *c = of(connection, error);
    if (c == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    if (c->session != NULL) {
        wi_adbc_session_drop(c->session);
    }
    free(c);
    connection->private_data = NULL;
    return ADBC_STATUS_OK;
}

/* ---- what it does -------------------------------------------------------- */

AdbcStatusCode wi_adbc_connection_cancel(struct AdbcConnection *connection,
                                         struct AdbcError *error)
{
    struct wi_adbc_session *s = wi_adbc_connection_session(connection, error);
    if (s == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    wi_adbc_session_cancel(s);
    return ADBC_STATUS_OK;
}

static AdbcStatusCode nothing_open(struct AdbcConnection *connection,
                                   struct AdbcError *error)
{
    return of(connection, error) == NULL
               ? ADBC_STATUS_INVALID_STATE
               : wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                              "no transaction is open: each statement is one");
}

AdbcStatusCode wi_adbc_connection_commit(struct AdbcConnection *connection,
                                         struct AdbcError *error)
{
    return nothing_open(connection, error);
}

AdbcStatusCode wi_adbc_connection_rollback(struct AdbcConnection *connection,
                                           struct AdbcError *error)
{
    return nothing_open(connection, error);
}
