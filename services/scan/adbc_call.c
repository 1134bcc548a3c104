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

void wi_scan_call_close(struct wi_scan_call *call)
{
    if (call == NULL) {
        return;
    }
    struct AdbcError error = {0};
    weir_scan_job_on_cancel(call->job, NULL, NULL);
    if (call->stream.release != NULL) {
        call->stream.release(&call->stream);
    }
    if (call->stated) {
        (void)call->engine->driver.StatementRelease(&call->statement, &error);
        drop_error(&error);
    }
    if (call->connected) {
        (void)call->engine->driver.ConnectionRelease(&call->connection, &error);
        drop_error(&error);
    }
    free(call);
}

static weir_err connect_call(struct wi_scan_call *call)
{
    const struct AdbcDriver *d = &call->engine->driver;
    struct AdbcError error = {0};
    AdbcStatusCode status = d->ConnectionNew(&call->connection, &error);
    if (status == ADBC_STATUS_OK) {
        call->connected = true;
        call->connection.private_driver = &call->engine->driver;
        status = d->ConnectionInit(&call->connection, &call->engine->database,
                                   &error);
    }
    return wi_scan_call_check(call, status, &error, "connecting");
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
    weir_err code = connect_call(call);
    if (code != WEIR_OK) {
        wi_scan_call_close(call);
        return code;
    }
    *call_out = call;
    return WEIR_OK;
}

/* ---- cancelling ---------------------------------------------------------- */

/* By any thread, while the call's own is in the driver: ADBC allows that for
 * these two functions alone. */
static void cancel_call(void *arg)
{
    struct wi_scan_call *call = arg;
    const struct AdbcDriver *d = &call->engine->driver;
    struct AdbcError error = {0};
    if (call->stated && d->StatementCancel != NULL) {
        (void)d->StatementCancel(&call->statement, &error);
    } else if (!call->stated && d->ConnectionCancel != NULL) {
        (void)d->ConnectionCancel(&call->connection, &error);
    }
    drop_error(&error);
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
    return call->stream.get_schema(&call->stream, out);
}

static int stream_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct wi_scan_call *call = s->private_data;
    if (weir_scan_job_cancelled(call->job)) {
        return ECANCELED;
    }
    int bad = call->stream.get_next(&call->stream, out);
    return bad != 0 && weir_scan_job_cancelled(call->job) ? ECANCELED : bad;
}

static const char *stream_error(struct ArrowArrayStream *s)
{
    struct wi_scan_call *call = s->private_data;
    return call->stream.get_last_error(&call->stream);
}

static void stream_release(struct ArrowArrayStream *s)
{
    wi_scan_call_close(s->private_data);
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
