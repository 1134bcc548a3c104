/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements of ADBC drivers.
 *
 * Source: ADBC, adbc.h (adbc-statement): without a stream to give, a statement
 * is run to its end; bulk ingestion is a statement with a target table instead
 * of a text.
 */
#include "services/scan/adbc_statement.h"

#include <nanoarrow/nanoarrow.h>

#include "services/scan/adbc_ingest.h"
#include "services/scan/fail.h"

/* ---- what a statement is told first -------------------------------------- */

static weir_err make_statement(struct wi_scan_call *call)
{
    const struct AdbcDriver *d = &call->engine->driver;
    struct AdbcError error = {0};
    AdbcStatusCode status =
        d->StatementNew(&call->session->connection, &call->statement, &error);
    call->stated = status == ADBC_STATUS_OK;
    call->statement.private_driver = &call->engine->driver;
    if (!call->stated) {
        return wi_scan_call_check(call, status, &error, "making a statement");
    }
    return wi_scan_call_cancellable(call);
}

static weir_err set_option(struct wi_scan_call *call, const char *key,
                           const char *value)
{
    const struct AdbcDriver *d = &call->engine->driver;
    struct AdbcError error = {0};
    if (d->StatementSetOption == NULL) {
        return wi_scan_call_lacks(call, "options of statements");
    }
    AdbcStatusCode status =
        d->StatementSetOption(&call->statement, key, value, &error);
    return wi_scan_call_check(call, status, &error, "setting an option");
}

static weir_err set_options(struct wi_scan_call *call)
{
    weir_err code = WEIR_OK;
    const struct weir_scan_request *r = call->request;
    for (uint32_t i = 0; code == WEIR_OK && i < r->n_options; i++) {
        code = set_option(call, r->options[i].key, r->options[i].value);
    }
    return code;
}

static weir_err set_text(struct wi_scan_call *call)
{
    struct AdbcError error = {0};
    AdbcStatusCode status = call->engine->driver.StatementSetSqlQuery(
        &call->statement, call->request->text, &error);
    return wi_scan_call_check(call, status, &error, "taking the query");
}

static weir_err bind_rows(struct wi_scan_call *call)
{
    const struct AdbcDriver *d = &call->engine->driver;
    struct AdbcError error = {0};
    if (call->request->bind == NULL) {
        return WEIR_OK;
    }
    if (d->StatementBindStream == NULL) {
        return wi_scan_call_lacks(call, "parameters");
    }
    AdbcStatusCode status =
        d->StatementBindStream(&call->statement, call->request->bind, &error);
    return wi_scan_call_check(call, status, &error, "binding parameters");
}

/* ---- what is done with it ------------------------------------------------ */

/* stream NULL: run it to its end. */
static weir_err execute(struct wi_scan_call *call,
                        struct ArrowArrayStream *stream)
{
    struct AdbcError error = {0};
    AdbcStatusCode status = call->engine->driver.StatementExecuteQuery(
        &call->statement, stream, &call->rows, &error);
    return wi_scan_call_check(call, status, &error, "running the query");
}

/* A driver's function that gives a schema: what it says of one that it does not
 * know is a column of type null. */
static weir_err ask_schema(struct wi_scan_call *call,
                           AdbcStatusCode (*ask)(struct AdbcStatement *,
                                                 struct ArrowSchema *,
                                                 struct AdbcError *),
                           struct ArrowSchema *schema_out)
{
    struct AdbcError error = {0};
    AdbcStatusCode status = ask == NULL
                                ? ADBC_STATUS_NOT_IMPLEMENTED
                                : ask(&call->statement, schema_out, &error);
    if (status != ADBC_STATUS_NOT_IMPLEMENTED) {
        return wi_scan_call_check(call, status, &error, "asking for a schema");
    }
    if (error.release != NULL) {
        error.release(&error);
    }
    return ArrowSchemaInitFromType(schema_out, NANOARROW_TYPE_NA) ==
                   NANOARROW_OK
               ? WEIR_OK
               : wi_scan_fail(call->err, WEIR_ERR_NO_MEMORY, "no memory");
}

static weir_err prepare(struct wi_scan_call *call)
{
    const struct AdbcDriver *d = &call->engine->driver;
    struct AdbcError error = {0};
    if (d->StatementPrepare == NULL) {
        return WEIR_OK;
    }
    AdbcStatusCode status = d->StatementPrepare(&call->statement, &error);
    if (status == ADBC_STATUS_NOT_IMPLEMENTED) {
        status = ADBC_STATUS_OK;
        if (error.release != NULL) {
            error.release(&error);
        }
    }
    return wi_scan_call_check(call, status, &error, "preparing the query");
}

/* A copy, with a name: schemas of drivers cannot be renamed. */
static int add_child(struct ArrowSchema *child, const struct ArrowSchema *from,
                     const char *name)
{
    ArrowSchemaRelease(child);
    NANOARROW_RETURN_NOT_OK(ArrowSchemaDeepCopy(from, child));
    return ArrowSchemaSetName(child, name);
}

static weir_err both_schemas(struct wi_scan_call *call,
                             const struct ArrowSchema *result,
                             const struct ArrowSchema *parameters)
{
    struct ArrowSchema both;
    ArrowSchemaInit(&both);
    int bad = ArrowSchemaSetTypeStruct(&both, 2);
    bad = bad != 0 ? bad : add_child(both.children[0], result, "result");
    bad =
        bad != 0 ? bad : add_child(both.children[1], parameters, "parameters");
    if (bad != 0) {
        ArrowSchemaRelease(&both);
        return wi_scan_fail(call->err, WEIR_ERR_NO_MEMORY,
                            "no memory for a schema");
    }
    return wi_scan_call_no_rows(call, &both);
}

static weir_err give_schemas(struct wi_scan_call *call)
{
    const struct AdbcDriver *d = &call->engine->driver;
    struct ArrowSchema result = {0};
    struct ArrowSchema parameters = {0};
    weir_err code = prepare(call);
    if (code == WEIR_OK) {
        code = ask_schema(call, d->StatementGetParameterSchema, &parameters);
    }
    if (code == WEIR_OK) {
        code = ask_schema(call, d->StatementExecuteSchema, &result);
    }
    if (code == WEIR_OK) {
        code = both_schemas(call, &result, &parameters);
    }
    if (result.release != NULL) {
        result.release(&result);
    }
    if (parameters.release != NULL) {
        parameters.release(&parameters);
    }
    return code;
}

/* ---- requests ------------------------------------------------------------ */

static weir_err ingest(struct wi_scan_call *call)
{
    if (call->request->bind == NULL) {
        return wi_scan_fail(call->err, WEIR_ERR_ARG, "bind is NULL: no rows");
    }
    weir_err code =
        set_option(call, ADBC_INGEST_OPTION_TARGET_TABLE, call->request->text);
    code = code == WEIR_OK ? set_options(call) : code;
    return code == WEIR_OK ? wi_scan_ingest(call) : code;
}

/* Rows that cannot say what they are never reach a driver: DuckDB 1.5 takes the
 * schema that it was not given for one. */
static weir_err check_rows(const struct wi_scan_call *call)
{
    struct ArrowArrayStream *rows = call->request->bind;
    struct ArrowSchema schema;
    if (rows == NULL) {
        return WEIR_OK;
    }
    int status = rows->get_schema(rows, &schema);
    if (status != 0) {
        const char *why = rows->get_last_error(rows);
        return wi_scan_fail(call->err, WEIR_ERR_QUERY_DATA, "%s",
                            why != NULL ? why : strerror(status));
    }
    schema.release(&schema);
    return WEIR_OK;
}

weir_err wi_scan_statement(struct wi_scan_call *call)
{
    weir_scan_kind kind = call->request->kind;
    weir_err code = check_rows(call);
    code = code == WEIR_OK ? make_statement(call) : code;
    if (code != WEIR_OK) {
        return code;
    }
    if (kind == WEIR_SCAN_INGEST) {
        return ingest(call);
    }
    code = set_text(call);
    code = code == WEIR_OK ? set_options(call) : code;
    code = code == WEIR_OK ? bind_rows(call) : code;
    if (code != WEIR_OK) {
        return code;
    }
    return kind == WEIR_SCAN_SCHEMA
               ? give_schemas(call)
               : execute(call, kind == WEIR_SCAN_QUERY ? &call->stream : NULL);
}
