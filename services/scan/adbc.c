/* SPDX-License-Identifier: Apache-2.0 */
/* ADBC drivers as engines: a driver, a database, and what each kind of request
 * is answered by. */
#include <weir/scan_engine.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "services/scan/adbc_call.h"
#include "services/scan/adbc_catalog.h"
#include "services/scan/adbc_load.h"
#include "services/scan/adbc_statement.h"
#include "services/scan/fail.h"

static void drop_error(struct AdbcError *error)
{
    if (error->release != NULL) {
        error->release(error);
    }
    memset(error, 0, sizeof(*error));
}

/* ---- requests ------------------------------------------------------------ */

static weir_err answer(struct wi_scan_call *call)
{
    switch (call->request->kind) {
    case WEIR_SCAN_QUERY:
    case WEIR_SCAN_UPDATE:
    case WEIR_SCAN_SCHEMA:
    case WEIR_SCAN_INGEST:
        return wi_scan_statement(call);
    case WEIR_SCAN_SET:
        return wi_scan_adbc_set(call);
    case WEIR_SCAN_COMMIT:
        return wi_scan_adbc_commit(call);
    case WEIR_SCAN_ROLLBACK:
        return wi_scan_adbc_rollback(call);
    default:
        return wi_scan_catalog(call);
    }
}

static weir_err engine_open(void *arg, const struct weir_scan_request *request,
                            weir_scan_job *job,
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
    struct wi_scan_call *call = NULL;
    const struct wi_scan_call_params params = {request, job, fault_out, err};
    weir_err code = wi_scan_call_open(arg, &params, &call);
    if (code != WEIR_OK) {
        return code;
    }
    code = answer(call);
    if (code != WEIR_OK) {
        wi_scan_call_close(call);
        return code;
    }
    *rows_out = call->rows;
    if (call->stream.release != NULL) {
        wi_scan_call_stream(call, stream_out);
    } else {
        wi_scan_call_close(call);
    }
    return WEIR_OK;
}

/* ---- the engine ---------------------------------------------------------- */

static void close_driver(struct wi_scan_adbc *e)
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
    struct wi_scan_adbc *e = arg;
    struct AdbcError error = {0};
    (void)e->driver.DatabaseRelease(&e->database, &error);
    drop_error(&error);
    close_driver(e);
}

static weir_err open_database(struct wi_scan_adbc *e,
                              const struct weir_scan_adbc_params *p,
                              struct weir_error *err)
{
    const struct AdbcDriver *d = &e->driver;
    struct AdbcError error = {0};
    AdbcStatusCode status = d->DatabaseNew(&e->database, &error);
    if (status != ADBC_STATUS_OK) {
        return wi_scan_adbc_fail(err, NULL, status, &error,
                                 "making a database");
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
        wi_scan_adbc_fail(err, NULL, status, &error, "opening the database");
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
    struct wi_scan_adbc *e = calloc(1, sizeof(*e));
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
