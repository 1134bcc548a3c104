/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source: ADBC, adbc.h (adbc-connection): a connection is used by one thread at
 * a time; StatementCancel and ConnectionCancel may be called beside. What they
 * interrupt is the connection's, whichever statement it works for: so a call is
 * cancelled only while it is the one inside.
 */
#include "services/scan/adbc_session.h"

#include <stdlib.h>
#include <string.h>

#include "services/scan/adbc_call.h"
#include "services/scan/fail.h"

static void drop_error(struct AdbcError *error)
{
    if (error->release != NULL) {
        error->release(error);
    }
    memset(error, 0, sizeof(*error));
}

/* ---- coming and going ---------------------------------------------------- */

void wi_scan_adbc_session_close(struct wi_scan_adbc_session *s)
{
    const struct AdbcDriver *d = &s->engine->driver;
    struct AdbcError error = {0};
    if (s->manual && d->ConnectionRollback != NULL) {
        (void)d->ConnectionRollback(&s->connection, &error);
        drop_error(&error);
    }
    if (s->connected) {
        (void)d->ConnectionRelease(&s->connection, &error);
        drop_error(&error);
    }
    (void)pthread_mutex_destroy(&s->turn);
    (void)pthread_mutex_destroy(&s->guard);
    free(s);
}

weir_err wi_scan_adbc_session_open(struct wi_scan_adbc *engine,
                                   struct wi_scan_adbc_session **session_out,
                                   struct weir_error *err)
{
    const struct AdbcDriver *d = &engine->driver;
    struct AdbcError error = {0};
    struct wi_scan_adbc_session *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return wi_scan_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a client");
    }
    s->engine = engine;
    (void)pthread_mutex_init(&s->turn, NULL);
    (void)pthread_mutex_init(&s->guard, NULL);
    AdbcStatusCode status = d->ConnectionNew(&s->connection, &error);
    if (status == ADBC_STATUS_OK) {
        s->connected = true;
        s->connection.private_driver = &engine->driver;
        status = d->ConnectionInit(&s->connection, &engine->database, &error);
    }
    if (status != ADBC_STATUS_OK) {
        wi_scan_adbc_session_close(s);
        return wi_scan_adbc_fail(err, NULL, status, &error, "connecting");
    }
    *session_out = s;
    return WEIR_OK;
}

/* ---- turns --------------------------------------------------------------- */

static void set_inside(struct wi_scan_adbc_session *s,
                       struct wi_scan_call *call)
{
    (void)pthread_mutex_lock(&s->guard);
    s->inside = call;
    (void)pthread_mutex_unlock(&s->guard);
}

void wi_scan_adbc_session_enter(struct wi_scan_adbc_session *s,
                                struct wi_scan_call *call)
{
    (void)pthread_mutex_lock(&s->turn);
    set_inside(s, call);
}

void wi_scan_adbc_session_leave(struct wi_scan_adbc_session *s)
{
    set_inside(s, NULL);
    (void)pthread_mutex_unlock(&s->turn);
}

/* ---- options and transactions -------------------------------------------- */

/* A driver may have others that are not for clients: SQLite's loads a library
 * into this process. */
static bool is_for_clients(const char *key)
{
    static const char *const known[] = {
        ADBC_CONNECTION_OPTION_AUTOCOMMIT,
        ADBC_CONNECTION_OPTION_CURRENT_CATALOG,
        ADBC_CONNECTION_OPTION_CURRENT_DB_SCHEMA,
        ADBC_CONNECTION_OPTION_ISOLATION_LEVEL,
        ADBC_CONNECTION_OPTION_READ_ONLY};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(key, known[i]) == 0) {
            return true;
        }
    }
    return false;
}

static weir_err need_session(const struct wi_scan_call *call)
{
    return call->session->own
               ? wi_scan_fail(call->err, WEIR_ERR_STATE,
                              "this request belongs to no client's session")
               : WEIR_OK;
}

static weir_err set_autocommit(struct wi_scan_call *call, const char *value)
{
    struct wi_scan_adbc_session *s = call->session;
    struct AdbcError error = {0};
    const bool manual = strcmp(value, ADBC_OPTION_VALUE_DISABLED) == 0;
    if (!manual && strcmp(value, ADBC_OPTION_VALUE_ENABLED) != 0) {
        return wi_scan_fail(call->err, WEIR_ERR_ARG,
                            "autocommit is true or false, not '%s'", value);
    }
    if (manual == s->manual) {
        return WEIR_OK;
    }
    AdbcStatusCode status = s->engine->driver.ConnectionSetOption(
        &s->connection, ADBC_CONNECTION_OPTION_AUTOCOMMIT, value, &error);
    if (status == ADBC_STATUS_OK) {
        s->manual = manual;
    }
    return wi_scan_call_check(call, status, &error, "setting autocommit");
}

static weir_err set_one(struct wi_scan_call *call,
                        const struct weir_scan_option *option)
{
    struct wi_scan_adbc_session *s = call->session;
    struct AdbcError error = {0};
    if (!is_for_clients(option->key)) {
        return wi_scan_fail(call->err, WEIR_ERR_UNSUPPORTED,
                            "sessions have no option '%s'", option->key);
    }
    if (strcmp(option->key, ADBC_CONNECTION_OPTION_AUTOCOMMIT) == 0) {
        return set_autocommit(call, option->value);
    }
    AdbcStatusCode status = s->engine->driver.ConnectionSetOption(
        &s->connection, option->key, option->value, &error);
    return wi_scan_call_check(call, status, &error, "setting an option");
}

weir_err wi_scan_adbc_set(struct wi_scan_call *call)
{
    const struct weir_scan_request *r = call->request;
    weir_err code = need_session(call);
    if (code == WEIR_OK && call->engine->driver.ConnectionSetOption == NULL) {
        code = wi_scan_call_lacks(call, "options of connections");
    }
    for (uint32_t i = 0; code == WEIR_OK && i < r->n_options; i++) {
        code = set_one(call, &r->options[i]);
    }
    return code;
}

static weir_err end_transaction(struct wi_scan_call *call,
                                AdbcStatusCode (*end)(struct AdbcConnection *,
                                                      struct AdbcError *),
                                const char *doing)
{
    struct AdbcError error = {0};
    weir_err code = need_session(call);
    if (code != WEIR_OK) {
        return code;
    }
    if (end == NULL) {
        return wi_scan_call_lacks(call, "transactions");
    }
    if (!call->session->manual) {
        return wi_scan_fail(call->err, WEIR_ERR_STATE,
                            "no transaction is open: autocommit is on");
    }
    return wi_scan_call_check(call, end(&call->session->connection, &error),
                              &error, doing);
}

weir_err wi_scan_adbc_commit(struct wi_scan_call *call)
{
    return end_transaction(call, call->engine->driver.ConnectionCommit,
                           "committing");
}

weir_err wi_scan_adbc_rollback(struct wi_scan_call *call)
{
    return end_transaction(call, call->engine->driver.ConnectionRollback,
                           "rolling back");
}
