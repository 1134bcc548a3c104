/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the server, and who has its turn. */
#include "connectors/adbc/session.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/adbc/error.h"
#include "connectors/adbc/stream.h"

struct wi_adbc_session {
    struct wi_adbc_home *home;
    weir_scan_client *client;
    char *address;
    char *dataset;
    uint32_t worker;
    pthread_mutex_t turn;  /* knows who has it */
    int manual;            /* autocommit is off; of who has its turn */
    pthread_mutex_t guard; /* of holds */
    uint32_t holds;
};

/* ---- open, close --------------------------------------------------------- */

static void close_session(struct wi_adbc_session *s)
{
    weir_scan_disconnect(s->client); /* drops its hold on home, when it can */
    wi_adbc_home_put(s->home, s->worker);
    wi_adbc_home_drop(s->home);
    pthread_mutex_destroy(&s->turn);
    pthread_mutex_destroy(&s->guard);
    free(s->address);
    free(s->dataset);
    free(s);
}

static void init_locks(struct wi_adbc_session *s)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&s->turn, &attr);
    pthread_mutexattr_destroy(&attr);
    pthread_mutex_init(&s->guard, NULL);
}

static AdbcStatusCode connect_client(struct wi_adbc_session *s,
                                     const struct wi_adbc_session_params *p,
                                     struct AdbcError *error)
{
    struct weir_error err;
    const struct weir_scan_client_params params = {
        .address = p->address,
        .server_name = p->server_name,
        .worker = s->worker,
        .ahead = p->ahead,
        .max_bytes = p->max_bytes,
        .timeout_ns = p->timeout_ns,
        .one_session = 1,
        .freed = wi_adbc_home_drop,
        .freed_arg = s->home,
    };
    wi_adbc_home_hold(s->home); /* the client's */
    weir_err code = weir_scan_connect(wi_adbc_home_node(s->home), &params,
                                      &s->client, &err);
    if (code != WEIR_OK) {
        wi_adbc_home_drop(s->home);
        return wi_adbc_pass(error, &err, code, NULL);
    }
    return ADBC_STATUS_OK;
}

AdbcStatusCode wi_adbc_session_open(struct wi_adbc_home *home,
                                    const struct wi_adbc_session_params *params,
                                    struct wi_adbc_session **session_out,
                                    struct AdbcError *error)
{
    uint32_t worker = 0;
    AdbcStatusCode status = wi_adbc_home_take(home, &worker, error);
    if (status != ADBC_STATUS_OK) {
        return status;
    }
    struct wi_adbc_session *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        wi_adbc_home_put(home, worker);
        return wi_adbc_fail(error, ADBC_STATUS_INTERNAL, "no memory");
    }
    init_locks(s);
    wi_adbc_home_hold(home);
    s->home = home;
    s->worker = worker;
    s->holds = 1;
    s->address = strdup(params->address);
    s->dataset = strdup(params->dataset);
    status = s->address == NULL || s->dataset == NULL
                 ? wi_adbc_fail(error, ADBC_STATUS_INTERNAL, "no memory")
                 : connect_client(s, params, error);
    if (status != ADBC_STATUS_OK) {
        close_session(s);
        return status;
    }
    *session_out = s;
    return ADBC_STATUS_OK;
}

struct wi_adbc_session *wi_adbc_session_hold(struct wi_adbc_session *session)
{
    if (!wi_adbc_home_here(session->home)) {
        return session;
    }
    pthread_mutex_lock(&session->guard);
    session->holds++;
    pthread_mutex_unlock(&session->guard);
    return session;
}

void wi_adbc_session_drop(struct wi_adbc_session *session)
{
    if (!wi_adbc_home_here(session->home)) {
        return;
    }
    pthread_mutex_lock(&session->guard);
    uint32_t left = --session->holds;
    pthread_mutex_unlock(&session->guard);
    if (left == 0) {
        close_session(session);
    }
}

/* ---- turns --------------------------------------------------------------- */

int wi_adbc_session_enter(struct wi_adbc_session *session)
{
    return wi_adbc_home_here(session->home) ? pthread_mutex_lock(&session->turn)
                                            : ECHILD;
}

void wi_adbc_session_leave(struct wi_adbc_session *session)
{
    pthread_mutex_unlock(&session->turn);
}

AdbcStatusCode wi_adbc_session_refuse(const struct wi_adbc_session *session,
                                      int why, struct AdbcError *error)
{
    return why == ECHILD
               ? wi_adbc_home_refuse(session->home, error)
               : wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                              "a connection is used while it takes rows in "
                              "that come from itself: use two connections");
}

void wi_adbc_session_cancel(struct wi_adbc_session *session)
{
    weir_scan_cancel(session->client);
}

const char *wi_adbc_session_address(const struct wi_adbc_session *session)
{
    return session->address;
}

/* ---- requests ------------------------------------------------------------ */

static void drop_bind(const struct weir_scan_request *request)
{
    if (request->bind != NULL && request->bind->release != NULL) {
        request->bind->release(request->bind);
    }
}

/* Ends a turn. */
static AdbcStatusCode finish(struct wi_adbc_session *s, weir_err code,
                             const struct weir_error *err,
                             struct AdbcError *error)
{
    AdbcStatusCode status = ADBC_STATUS_OK;
    if (code != WEIR_OK) {
        status =
            wi_adbc_pass(error, err, code, weir_scan_last_fault(s->client));
    }
    wi_adbc_session_leave(s);
    return status;
}

AdbcStatusCode wi_adbc_session_ask(struct wi_adbc_session *session,
                                   const struct weir_scan_request *request,
                                   struct ArrowArrayStream *stream_out,
                                   int64_t *rows_out, struct AdbcError *error)
{
    struct weir_error err;
    struct ArrowArrayStream stream = {0};
    struct weir_scan_request r = *request;
    r.dataset = session->dataset;
    int why = wi_adbc_session_enter(session);
    if (why != 0) {
        drop_bind(request);
        return wi_adbc_session_refuse(session, why, error);
    }
    weir_err code =
        weir_scan_open(session->client, &r, stream_out != NULL ? &stream : NULL,
                       rows_out, &err);
    AdbcStatusCode status = finish(session, code, &err, error);
    return status == ADBC_STATUS_OK && stream_out != NULL
               ? wi_adbc_stream_init(stream_out, &stream, session, error)
               : status;
}

/* ---- the session at the server ------------------------------------------- */

/* Its answer has no rows. In the session's turn. */
static weir_err tell(struct wi_adbc_session *s, weir_scan_kind kind,
                     const struct weir_scan_option *option,
                     struct weir_error *err)
{
    const struct weir_scan_request request = {.kind = kind,
                                              .n_options = option != NULL,
                                              .options = option,
                                              .dataset = s->dataset};
    return weir_scan_open(s->client, &request, NULL, NULL, err);
}

AdbcStatusCode wi_adbc_session_set(struct wi_adbc_session *session,
                                   const char *key, const char *value,
                                   struct AdbcError *error)
{
    struct weir_error err;
    const struct weir_scan_option option = {key, value};
    const int is_autocommit =
        strcmp(key, ADBC_CONNECTION_OPTION_AUTOCOMMIT) == 0;
    const int manual =
        is_autocommit && strcmp(value, ADBC_OPTION_VALUE_DISABLED) == 0;
    int why = wi_adbc_session_enter(session);
    if (why != 0) {
        return wi_adbc_session_refuse(session, why, error);
    }
    weir_err code = WEIR_OK;
    if (!is_autocommit || manual != session->manual) {
        code = tell(session, WEIR_SCAN_SET, &option, &err);
    }
    if (code == WEIR_OK && is_autocommit) {
        session->manual = manual;
    }
    return finish(session, code, &err, error);
}

AdbcStatusCode wi_adbc_session_end(struct wi_adbc_session *session,
                                   weir_scan_kind kind, struct AdbcError *error)
{
    struct weir_error err;
    int why = wi_adbc_session_enter(session);
    if (why != 0) {
        return wi_adbc_session_refuse(session, why, error);
    }
    if (!session->manual) {
        wi_adbc_session_leave(session);
        return wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                            "no transaction is open: autocommit is on");
    }
    return finish(session, tell(session, kind, NULL, &err), &err, error);
}

/* ---- shared scans -------------------------------------------------------- */

AdbcStatusCode wi_adbc_session_share(struct wi_adbc_session *session,
                                     const struct weir_scan_request *request,
                                     uint32_t n_ranges,
                                     struct weir_scan_id *id_out,
                                     struct ArrowSchema *schema_out,
                                     struct AdbcError *error)
{
    struct weir_error err;
    struct weir_scan_request r = *request;
    r.dataset = session->dataset;
    int why = wi_adbc_session_enter(session);
    if (why != 0) {
        drop_bind(request);
        return wi_adbc_session_refuse(session, why, error);
    }
    if (session->manual) {
        wi_adbc_session_leave(session);
        return wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                            "partitions are made by another connection, which "
                            "does not see what this one has not committed: set "
                            "autocommit first");
    }
    weir_err code = weir_scan_share(session->client, &r, n_ranges, id_out,
                                    schema_out, &err);
    return finish(session, code, &err, error);
}

AdbcStatusCode wi_adbc_session_range(struct wi_adbc_session *session,
                                     const struct weir_scan_id *id,
                                     uint32_t range,
                                     struct ArrowArrayStream *stream_out,
                                     struct AdbcError *error)
{
    struct weir_error err;
    struct ArrowArrayStream stream = {0};
    int why = wi_adbc_session_enter(session);
    if (why != 0) {
        return wi_adbc_session_refuse(session, why, error);
    }
    weir_err code =
        weir_scan_open_range(session->client, id, range, &stream, &err);
    AdbcStatusCode status = finish(session, code, &err, error);
    return status == ADBC_STATUS_OK
               ? wi_adbc_stream_init(stream_out, &stream, session, error)
               : status;
}
