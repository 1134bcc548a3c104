/* SPDX-License-Identifier: Apache-2.0 */
/* Connections, statements and streams of ADBC drivers, one set per request. */
#include "services/scan/adbc_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <nanoarrow/nanoarrow.h>

#include "services/scan/fail.h"

/* ---- errors -------------------------------------------------------------- */

weir_err wi_scan_call_check(struct wi_scan_call *call, AdbcStatusCode status,
                            struct AdbcError *error, const char *doing)
{
    if (status == ADBC_STATUS_OK) {
        return WEIR_OK;
    }
    /* Drivers have several words for having been interrupted. */
    if (weir_scan_job_cancelled(call->job)) {
        status = ADBC_STATUS_CANCELLED;
    }
    return wi_scan_adbc_fail(call->err, call->fault, status, error, doing);
}

weir_err wi_scan_call_lacks(struct wi_scan_call *call, const char *what)
{
    return wi_scan_fail(call->err, WEIR_ERR_UNSUPPORTED,
                        "the ADBC driver has no %s", what);
}

/* ---- connections --------------------------------------------------------- */

static void drop_error(struct AdbcError *error)
{
    if (error->release != NULL) {
        error->release(error);
    }
    memset(error, 0, sizeof(*error));
}

/* In its turn, which it ends. */
void wi_scan_call_close(struct wi_scan_call *call)
{
    if (call == NULL) {
        return;
    }
    struct AdbcError error = {0};
    struct wi_scan_adbc_session *session = call->session;
    weir_scan_job_on_cancel(call->job, NULL, NULL);
    if (call->stream.release != NULL) {
        call->stream.release(&call->stream);
    }
    if (call->stated) {
        (void)call->engine->driver.StatementRelease(&call->statement, &error);
        drop_error(&error);
    }
    wi_scan_adbc_session_leave(session);
    if (session->own) {
        wi_scan_adbc_session_close(session);
    }
    free(call);
}

static weir_err make_session(void *arg, void **kept_out, struct weir_error *err)
{
    struct wi_scan_adbc_session *session = NULL;
    weir_err code = wi_scan_adbc_session_open(arg, &session, err);
    *kept_out = session;
    return code;
}

static void close_session(void *kept)
{
    wi_scan_adbc_session_close(kept);
}

/* The client's, or one of the call's own. */
static weir_err find_session(struct wi_scan_call *call)
{
    const struct weir_scan_keeper keeper = {make_session, close_session,
                                            call->engine};
    void *kept = NULL;
    weir_err code = weir_scan_job_keep(call->job, &keeper, &kept, call->err);
    call->session = kept;
    if (code == WEIR_OK && kept == NULL) {
        code =
            wi_scan_adbc_session_open(call->engine, &call->session, call->err);
        if (code == WEIR_OK) {
            call->session->own = true;
        }
    }
    return code;
}

weir_err wi_scan_call_open(struct wi_scan_adbc *engine,
                           const struct wi_scan_call_params *params,
                           struct wi_scan_call **call_out)
{
    struct wi_scan_call *call = calloc(1, sizeof(*call));
    if (call == NULL) {
        return wi_scan_fail(params->err, WEIR_ERR_NO_MEMORY,
                            "no memory for a query");
    }
    call->engine = engine;
    call->job = params->job;
    call->request = params->request;
    call->fault = params->fault;
    call->err = params->err;
    call->rows = -1;
    weir_err code = find_session(call);
    if (code != WEIR_OK) {
        free(call);
        return code;
    }
    wi_scan_adbc_session_enter(call->session, call);
    *call_out = call;
    return WEIR_OK;
}

/* ---- cancelling ---------------------------------------------------------- */

/* By any thread, while the call's own is in the driver: ADBC allows that for
 * these two functions alone. */
static void cancel_inside(struct wi_scan_call *call)
{
    const struct AdbcDriver *d = &call->engine->driver;
    struct AdbcError error = {0};
    if (call->stated && d->StatementCancel != NULL) {
        (void)d->StatementCancel(&call->statement, &error);
    } else if (!call->stated && d->ConnectionCancel != NULL) {
        (void)d->ConnectionCancel(&call->session->connection, &error);
    }
    drop_error(&error);
}

static void cancel_call(void *arg)
{
    struct wi_scan_call *call = arg;
    struct wi_scan_adbc_session *s = call->session;
    (void)pthread_mutex_lock(&s->guard);
    if (s->inside == call) {
        cancel_inside(call);
    }
    (void)pthread_mutex_unlock(&s->guard);
}

weir_err wi_scan_call_cancellable(struct wi_scan_call *call)
{
    weir_scan_job_on_cancel(call->job, cancel_call, call);
    /* A driver that was told before it has begun may forget it. */
    return weir_scan_job_cancelled(call->job)
               ? wi_scan_fail(call->err, WEIR_ERR_CANCELLED, "cancelled")
               : WEIR_OK;
}

/* ---- streams ------------------------------------------------------------- */

static int stream_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    struct wi_scan_call *call = s->private_data;
    wi_scan_adbc_session_enter(call->session, call);
    int bad = call->stream.get_schema(&call->stream, out);
    wi_scan_adbc_session_leave(call->session);
    return bad;
}

static int stream_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct wi_scan_call *call = s->private_data;
    int bad = ECANCELED;
    wi_scan_adbc_session_enter(call->session, call);
    if (!weir_scan_job_cancelled(call->job)) {
        bad = call->stream.get_next(&call->stream, out);
    }
    wi_scan_adbc_session_leave(call->session);
    return bad != 0 && weir_scan_job_cancelled(call->job) ? ECANCELED : bad;
}

/* Of the call before; whoever reads the stream makes one at a time. */
static const char *stream_error(struct ArrowArrayStream *s)
{
    struct wi_scan_call *call = s->private_data;
    return call->stream.get_last_error(&call->stream);
}

static void stream_release(struct ArrowArrayStream *s)
{
    struct wi_scan_call *call = s->private_data;
    wi_scan_adbc_session_enter(call->session, call);
    wi_scan_call_close(call);
    s->release = NULL;
}

void wi_scan_call_stream(struct wi_scan_call *call,
                         struct ArrowArrayStream *stream_out)
{
    call->request = NULL;
    call->fault = NULL;
    call->err = NULL;
    *stream_out = (struct ArrowArrayStream){stream_schema, stream_next,
                                            stream_error, stream_release, call};
    wi_scan_adbc_session_leave(call->session);
}

weir_err wi_scan_call_no_rows(struct wi_scan_call *call,
                              struct ArrowSchema *schema)
{
    if (ArrowBasicArrayStreamInit(&call->stream, schema, 0) != NANOARROW_OK) {
        ArrowSchemaRelease(schema);
        return wi_scan_fail(call->err, WEIR_ERR_NO_MEMORY,
                            "no memory for a stream");
    }
    return WEIR_OK;
}
