/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ADBC drivers as engines. A query gets a connection and a statement of its
 * own, which live as long as its stream: connections are not to be shared
 * between threads, and a stream must not outlive its statement.
 */
#include <weir/scan.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "services/scan/adbc_load.h"
#include "services/scan/fail.h"

struct engine {
    struct AdbcDriver driver;
    struct AdbcDatabase database;
};

/* A query: the driver's stream, and what must live as long. */
struct query {
    struct engine *engine;
    struct AdbcConnection connection;
    struct AdbcStatement statement;
    struct ArrowArrayStream stream;
    bool connected; /* connection and statement were made */
    bool stated;
};

/* ---- streams ------------------------------------------------------------- */

static void drop_error(struct AdbcError *error)
{
    if (error->release != NULL) {
        error->release(error);
    }
    memset(error, 0, sizeof(*error));
}

static void close_query(struct query *q)
{
    struct AdbcError error = {0};
    if (q->stream.release != NULL) {
        q->stream.release(&q->stream);
    }
    if (q->stated) {
        (void)q->engine->driver.StatementRelease(&q->statement, &error);
        drop_error(&error);
    }
    if (q->connected) {
        (void)q->engine->driver.ConnectionRelease(&q->connection, &error);
        drop_error(&error);
    }
    free(q);
}

static int stream_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    struct query *q = s->private_data;
    return q->stream.get_schema(&q->stream, out);
}

static int stream_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct query *q = s->private_data;
    return q->stream.get_next(&q->stream, out);
}

static const char *stream_error(struct ArrowArrayStream *s)
{
    struct query *q = s->private_data;
    return q->stream.get_last_error(&q->stream);
}

static void stream_release(struct ArrowArrayStream *s)
{
    close_query(s->private_data);
    s->release = NULL;
}

/* ---- queries ------------------------------------------------------------- */

static weir_err connect_query(struct query *q, struct weir_error *err)
{
    const struct AdbcDriver *d = &q->engine->driver;
    struct AdbcError error = {0};
    AdbcStatusCode status = d->ConnectionNew(&q->connection, &error);
    if (status == ADBC_STATUS_OK) {
        q->connected = true;
        q->connection.private_driver = &q->engine->driver;
        status =
            d->ConnectionInit(&q->connection, &q->engine->database, &error);
    }
    if (status == ADBC_STATUS_OK) {
        status = d->StatementNew(&q->connection, &q->statement, &error);
    }
    if (status != ADBC_STATUS_OK) {
        return wi_scan_adbc_fail(err, status, &error, "connecting");
    }
    q->stated = true;
    q->statement.private_driver = &q->engine->driver;
    return WEIR_OK;
}

static weir_err execute(struct query *q, const char *text,
                        struct weir_error *err)
{
    const struct AdbcDriver *d = &q->engine->driver;
    struct AdbcError error = {0};
    AdbcStatusCode status =
        d->StatementSetSqlQuery(&q->statement, text, &error);
    if (status == ADBC_STATUS_OK) {
        int64_t rows = -1;
        status =
            d->StatementExecuteQuery(&q->statement, &q->stream, &rows, &error);
    }
    return status == ADBC_STATUS_OK
               ? WEIR_OK
               : wi_scan_adbc_fail(err, status, &error, "running the query");
}

static weir_err engine_open(void *arg, const struct weir_scan_request *request,
                            struct ArrowArrayStream *stream_out,
                            int64_t *rows_out,
                            struct weir_scan_fault *fault_out,
                            struct weir_error *err)
{
    if (request->dataset[0] != '\0') {
        return wi_scan_fail(err, WEIR_ERR_NOT_FOUND,
                            "no data set '%s': an ADBC engine has one, \"\"",
                            request->dataset);
    }
    (void)rows_out;
    (void)fault_out;
    if (request->kind != WEIR_SCAN_QUERY || request->bind != NULL) {
        return wi_scan_fail(err, WEIR_ERR_UNSUPPORTED,
                            "requests of kind %d are not there yet",
                            (int)request->kind);
    }
    struct query *q = calloc(1, sizeof(*q));
    if (q == NULL) {
        return wi_scan_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a query");
    }
    q->engine = arg;
    weir_err code = connect_query(q, err);
    if (code == WEIR_OK) {
        code = execute(q, request->text, err);
    }
    if (code != WEIR_OK) {
        close_query(q);
        return code;
    }
    *stream_out = (struct ArrowArrayStream){stream_schema, stream_next,
                                            stream_error, stream_release, q};
    return WEIR_OK;
}

/* ---- the engine ---------------------------------------------------------- */

static void close_driver(struct engine *e)
{
    struct AdbcError error = {0};
    if (e->driver.release != NULL) {
        (void)e->driver.release(&e->driver, &error);
        drop_error(&error);
    }
    free(e);
}

static void engine_close(void *arg)
{
    struct engine *e = arg;
    struct AdbcError error = {0};
    (void)e->driver.DatabaseRelease(&e->database, &error);
    drop_error(&error);
    close_driver(e);
}

static weir_err open_database(struct engine *e,
                              const struct weir_scan_adbc_params *p,
                              struct weir_error *err)
{
    const struct AdbcDriver *d = &e->driver;
    struct AdbcError error = {0};
    AdbcStatusCode status = d->DatabaseNew(&e->database, &error);
    if (status != ADBC_STATUS_OK) {
        return wi_scan_adbc_fail(err, status, &error, "making a database");
    }
    e->database.private_driver = &e->driver;
    for (uint32_t i = 0; status == ADBC_STATUS_OK && i < p->n_options; i++) {
        status = d->DatabaseSetOption(&e->database, p->options[i].key,
                                      p->options[i].value, &error);
    }
    if (status == ADBC_STATUS_OK) {
        status = d->DatabaseInit(&e->database, &error);
    }
    if (status == ADBC_STATUS_OK) {
        return WEIR_OK;
    }
    weir_err code =
        wi_scan_adbc_fail(err, status, &error, "opening the database");
    memset(&error, 0, sizeof(error));
    (void)d->DatabaseRelease(&e->database, &error);
    drop_error(&error);
    return code;
}

static weir_err check_params(const struct weir_scan_adbc_params *p,
                             struct weir_error *err)
{
    if (p == NULL || p->driver == NULL) {
        return wi_scan_fail(err, WEIR_ERR_ARG,
                            p == NULL ? "params is NULL" : "driver is NULL");
    }
    if (p->options == NULL && p->n_options > 0) {
        return wi_scan_fail(err, WEIR_ERR_ARG, "options is NULL");
    }
    for (uint32_t i = 0; i < p->n_options; i++) {
        if (p->options[i].key == NULL || p->options[i].value == NULL) {
            return wi_scan_fail(err, WEIR_ERR_ARG,
                                "options[%u] has no key or no value", i);
        }
    }
    for (size_t i = 0; i < sizeof(p->reserved) / sizeof(p->reserved[0]); i++) {
        if (p->reserved[i] != 0) {
            return wi_scan_fail(err, WEIR_ERR_ARG, "reserved is not zero");
        }
    }
    return WEIR_OK;
}

weir_err weir_scan_adbc_open(const struct weir_scan_adbc_params *params,
                             struct weir_scan_engine *engine_out,
                             struct weir_error *err)
{
    weir_err code = check_params(params, err);
    if (code == WEIR_OK && engine_out == NULL) {
        code = wi_scan_fail(err, WEIR_ERR_ARG, "engine_out is NULL");
    }
    if (code != WEIR_OK) {
        return code;
    }
    struct engine *e = calloc(1, sizeof(*e));
    if (e == NULL) {
        return wi_scan_fail(err, WEIR_ERR_NO_MEMORY, "no memory for an engine");
    }
    code = wi_scan_adbc_load(params->driver, params->entry, &e->driver, err);
    if (code != WEIR_OK) {
        free(e);
        return code;
    }
    code = open_database(e, params, err);
    if (code != WEIR_OK) {
        close_driver(e);
        return code;
    }
    *engine_out = (struct weir_scan_engine){engine_open, engine_close, e};
    return WEIR_OK;
}
