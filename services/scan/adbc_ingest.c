/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source: ADBC, adbc.h (adbc-connection-transaction): connections begin with
 * autocommit; setting that option to false begins a transaction.
 */
#include "services/scan/adbc_ingest.h"

#include <stdlib.h>
#include <string.h>

#include "services/scan/fail.h"

/* The rows, and what became of them: failed is set by whoever reads them. */
struct watched {
    struct ArrowArrayStream rows;
    struct ingest *ingest;
};

struct ingest {
    struct wi_scan_call *call;
    bool atomic;
    bool failed;
    char *why; /* NULL: the rows do not say */
};

/* ---- rows that are watched ----------------------------------------------- */

static int check(struct watched *w, int status)
{
    struct ingest *in = w->ingest;
    if (status != 0 && !in->failed) {
        const char *why = w->rows.get_last_error(&w->rows);
        in->failed = true;
        in->why = strdup(why != NULL ? why : strerror(status));
    }
    return status;
}

static int watched_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    struct watched *w = s->private_data;
    return check(w, w->rows.get_schema(&w->rows, out));
}

static int watched_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct watched *w = s->private_data;
    return check(w, w->rows.get_next(&w->rows, out));
}

static const char *watched_error(struct ArrowArrayStream *s)
{
    struct watched *w = s->private_data;
    return w->rows.get_last_error(&w->rows);
}

static void watched_release(struct ArrowArrayStream *s)
{
    struct watched *w = s->private_data;
    w->rows.release(&w->rows);
    free(w);
    s->release = NULL;
}

/* The driver releases them with its statement at the latest, which is after the
 * ingest: it reads no more by then. */
static weir_err bind_rows(struct ingest *in)
{
    struct wi_scan_call *call = in->call;
    const struct AdbcDriver *d = &call->engine->driver;
    struct AdbcError error = {0};
    if (d->StatementBindStream == NULL) {
        return wi_scan_call_lacks(call, "rows to take in");
    }
    struct watched *w = malloc(sizeof(*w));
    if (w == NULL) {
        return wi_scan_fail(call->err, WEIR_ERR_NO_MEMORY,
                            "no memory for rows to take in");
    }
    *w = (struct watched){.rows = *call->request->bind, .ingest = in};
    call->request->bind->release = NULL;
    struct ArrowArrayStream rows = {watched_schema, watched_next, watched_error,
                                    watched_release, w};
    AdbcStatusCode status =
        d->StatementBindStream(&call->statement, &rows, &error);
    if (rows.release != NULL && status != ADBC_STATUS_OK) {
        rows.release(&rows);
    }
    return wi_scan_call_check(call, status, &error, "binding rows");
}

/* ---- transactions -------------------------------------------------------- */

static void drop_error(struct AdbcError *error)
{
    if (error->release != NULL) {
        error->release(error);
    }
}

/* Drivers that have none say so in one of these ways. */
static bool has_none(AdbcStatusCode status)
{
    return status == ADBC_STATUS_NOT_IMPLEMENTED ||
           status == ADBC_STATUS_NOT_FOUND ||
           status == ADBC_STATUS_INVALID_ARGUMENT;
}

static weir_err set_autocommit(struct wi_scan_call *call, const char *value,
                               AdbcStatusCode *status_out)
{
    struct AdbcError error = {0};
    *status_out = call->engine->driver.ConnectionSetOption(
        &call->session->connection, ADBC_CONNECTION_OPTION_AUTOCOMMIT, value,
        &error);
    if (has_none(*status_out)) {
        drop_error(&error);
        return WEIR_OK;
    }
    return wi_scan_call_check(call, *status_out, &error,
                              "beginning or ending a transaction");
}

/* In the client's own transaction, if it has one. */
static weir_err begin(struct ingest *in)
{
    struct wi_scan_call *call = in->call;
    const struct AdbcDriver *d = &call->engine->driver;
    AdbcStatusCode status = ADBC_STATUS_NOT_IMPLEMENTED;
    if (call->session->manual || d->ConnectionSetOption == NULL ||
        d->ConnectionCommit == NULL || d->ConnectionRollback == NULL) {
        return WEIR_OK;
    }
    weir_err code = set_autocommit(call, ADBC_OPTION_VALUE_DISABLED, &status);
    in->atomic = status == ADBC_STATUS_OK;
    return code;
}

static weir_err commit(const struct ingest *in)
{
    struct wi_scan_call *call = in->call;
    struct AdbcError error = {0};
    AdbcStatusCode status = ADBC_STATUS_OK;
    if (in->atomic) {
        status = call->engine->driver.ConnectionCommit(
            &call->session->connection, &error);
    }
    return wi_scan_call_check(call, status, &error, "committing the rows");
}

/* What failed is known already. */
static void rollback(const struct ingest *in)
{
    struct wi_scan_call *call = in->call;
    struct AdbcError error = {0};
    if (in->atomic) {
        (void)call->engine->driver.ConnectionRollback(
            &call->session->connection, &error);
        drop_error(&error);
    }
}

/* The session is as it was; an error from before says more. */
static weir_err end(const struct ingest *in, weir_err code)
{
    AdbcStatusCode status;
    if (!in->atomic) {
        return code;
    }
    struct wi_scan_call *call = in->call;
    const struct weir_error why = *call->err;
    weir_err ended = set_autocommit(call, ADBC_OPTION_VALUE_ENABLED, &status);
    call->session->manual = status != ADBC_STATUS_OK;
    if (code != WEIR_OK) {
        *call->err = why;
        return code;
    }
    return ended;
}

/* ---- all of it ----------------------------------------------------------- */

/* The rows' own text says more than what the driver makes of it. */
static weir_err fail_rows(const struct ingest *in)
{
    struct wi_scan_call *call = in->call;
    const bool cancelled = weir_scan_job_cancelled(call->job) != 0;
    free(call->fault->text);
    *call->fault = (struct weir_scan_fault){
        .text = in->why != NULL ? strdup(in->why) : NULL};
    call->rows = -1;
    return wi_scan_fail(call->err,
                        cancelled ? WEIR_ERR_CANCELLED : WEIR_ERR_QUERY_DATA,
                        "%s", in->why != NULL ? in->why : "the rows failed");
}

static weir_err execute(const struct ingest *in)
{
    struct wi_scan_call *call = in->call;
    struct AdbcError error = {0};
    AdbcStatusCode status = call->engine->driver.StatementExecuteQuery(
        &call->statement, NULL, &call->rows, &error);
    weir_err code =
        wi_scan_call_check(call, status, &error, "taking in the rows");
    return in->failed ? fail_rows(in) : code;
}

weir_err wi_scan_ingest(struct wi_scan_call *call)
{
    struct ingest in = {.call = call};
    weir_err code = bind_rows(&in);
    if (code == WEIR_OK) {
        code = begin(&in);
    }
    if (code == WEIR_OK) {
        code = execute(&in);
        code = code == WEIR_OK ? commit(&in) : code;
        if (code != WEIR_OK) {
            rollback(&in);
        }
        code = end(&in, code);
    }
    free(in.why);
    return code;
}
