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
    struct wi_adbc_options options;  /* that were set */
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

static int is_known(const char *key)
{
    static const char *const known[] = {
        ADBC_CONNECTION_OPTION_AUTOCOMMIT,
        ADBC_CONNECTION_OPTION_CURRENT_CATALOG,
        ADBC_CONNECTION_OPTION_CURRENT_DB_SCHEMA,
        ADBC_CONNECTION_OPTION_ISOLATION_LEVEL,
        ADBC_CONNECTION_OPTION_READ_ONLY};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(key, known[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

static AdbcStatusCode check_option(const char *key, const char *value,
                                   struct AdbcError *error)
{
    if (!is_known(key)) {
        return wi_adbc_fail(error, ADBC_STATUS_NOT_IMPLEMENTED,
                            "connections of Weir have no option %s", key);
    }
    if (value == NULL || (strcmp(key, ADBC_CONNECTION_OPTION_AUTOCOMMIT) == 0 &&
                          strcmp(value, ADBC_OPTION_VALUE_ENABLED) != 0 &&
                          strcmp(value, ADBC_OPTION_VALUE_DISABLED) != 0)) {
        return wi_adbc_fail(error, ADBC_STATUS_INVALID_ARGUMENT,
                            "option %s cannot be '%s'", key,
                            value != NULL ? value : "");
    }
    return ADBC_STATUS_OK;
}

/* Before the connection is initialised they are kept for that. */
AdbcStatusCode wi_adbc_connection_set(struct AdbcConnection *connection,
                                      const char *key, const char *value,
                                      struct AdbcError *error)
{
    struct connection *c = of(connection, error);
    if (c == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    AdbcStatusCode status = check_option(key, value, error);
    if (status == ADBC_STATUS_OK && c->session != NULL) {
        status = wi_adbc_session_set(c->session, key, value, error);
    }
    return status == ADBC_STATUS_OK
               ? wi_adbc_options_set(&c->options, key, value, error)
               : status;
}

AdbcStatusCode wi_adbc_connection_get(struct AdbcConnection *connection,
                                      const char *key, char *value,
                                      size_t *length, struct AdbcError *error)
{
    const struct connection *c = of(connection, error);
    if (c == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    const char *text = wi_adbc_options_find(&c->options, key);
    if (text == NULL && strcmp(key, ADBC_CONNECTION_OPTION_AUTOCOMMIT) == 0) {
        text = ADBC_OPTION_VALUE_ENABLED;
    }
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
    AdbcStatusCode status =
        wi_adbc_database_session(database, &c->session, error);
    for (uint32_t i = 0; status == ADBC_STATUS_OK && i < c->options.n; i++) {
        status = wi_adbc_session_set(c->session, c->options.list[i].key,
                                     c->options.list[i].value, error);
    }
    if (status != ADBC_STATUS_OK && c->session != NULL) {
        wi_adbc_session_drop(c->session);
        c->session = NULL;
    }
    return status;
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
    wi_adbc_options_fini(&c->options);
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

static AdbcStatusCode end(struct AdbcConnection *connection,
                          weir_scan_kind kind, struct AdbcError *error)
{
    struct wi_adbc_session *s = wi_adbc_connection_session(connection, error);
    return s == NULL ? ADBC_STATUS_INVALID_STATE
                     : wi_adbc_session_end(s, kind, error);
}

AdbcStatusCode wi_adbc_connection_commit(struct AdbcConnection *connection,
                                         struct AdbcError *error)
{
    return end(connection, WEIR_SCAN_COMMIT, error);
}

AdbcStatusCode wi_adbc_connection_rollback(struct AdbcConnection *connection,
                                           struct AdbcError *error)
{
    return end(connection, WEIR_SCAN_ROLLBACK, error);
}
