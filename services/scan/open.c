/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/open.h"

#include <stdlib.h>
#include <string.h>

#include <nanoarrow/nanoarrow.h>

#include "services/scan/fail.h"
#include "services/scan/fault_bytes.h"
#include "services/scan/load.h"
#include "services/scan/request_bytes.h"
#include "services/scan/schema_bytes.h"
#include "services/scan/slots.h"

/* ---- the request --------------------------------------------------------- */

/* What lies in a room its client can still change: so it is copied first. */
static weir_err read_request(struct wi_scan_scan *scan,
                             struct weir_scan_request **out,
                             struct weir_error *err)
{
    if (scan->room != NULL) {
        scan->bytes = malloc(scan->n_bytes);
        if (scan->bytes == NULL) {
            return wi_scan_fail(err, WEIR_ERR_NO_MEMORY,
                                "no memory for a request of %llu bytes",
                                (unsigned long long)scan->n_bytes);
        }
        memcpy(scan->bytes, scan->room->base, scan->n_bytes);
    }
    return wi_scan_request_decode(scan->bytes, scan->n_bytes, out, err);
}

/* The one of that name, which the engine sees as ""; or one for any other. */
static const struct weir_scan_source *
find_source(const struct weir_scan_server *s, struct weir_scan_request *request)
{
    const struct weir_scan_source *any = NULL;
    for (uint32_t i = 0; i < s->p.n_sources; i++) {
        const struct weir_scan_source *source = &s->sources[i];
        if (source->name == NULL) {
            any = any != NULL ? any : source;
        } else if (strcmp(source->name, request->dataset) == 0) {
            request->dataset = "";
            return source;
        }
    }
    return any;
}

/* ---- the engine ---------------------------------------------------------- */

/* Some engines (DuckDB) take rows that fail for rows that end: then they must
 * not say that they have them all. */
static weir_err check_rows(struct wi_scan_scan *scan)
{
    char *why = scan->load != NULL ? wi_scan_load_why_cut(scan->load) : NULL;
    if (why == NULL) {
        return WEIR_OK;
    }
    if (scan->stream.release != NULL) {
        scan->stream.release(&scan->stream);
    }
    wi_scan_scan_fail(scan, WEIR_ERR_QUERY_DATA, why);
    free(why);
    return WEIR_ERR_QUERY_DATA;
}

static weir_err call_engine(struct wi_scan_scan *scan,
                            const struct weir_scan_source *source,
                            struct weir_scan_request *request)
{
    struct weir_error err = {0};
    struct weir_scan_fault fault = {0};
    struct ArrowArrayStream bind = {0};
    if (scan->load != NULL) {
        wi_scan_load_bind(scan->load, &bind);
        request->bind = &bind;
    }
    weir_err code =
        source->engine.open(source->engine.arg, request, &scan->job,
                            &scan->stream, &scan->rows, &fault, &err);
    if (bind.release != NULL) {
        bind.release(&bind);
    }
    if (code != WEIR_OK && wi_scan_job_late(&scan->job)) {
        wi_scan_scan_fail(scan, code, err.message);
    } else if (code != WEIR_OK) {
        scan->code = code < 0 ? code : WEIR_ERR_QUERY_DATA;
        wi_scan_fault_encode(&fault, err.message, &scan->fault);
        scan->fault.len = scan->fault.failed ? 0 : scan->fault.len;
    }
    free(fault.text);
    return code == WEIR_OK ? check_rows(scan) : code;
}

/* ---- its schema ---------------------------------------------------------- */

static weir_err take_schema(struct wi_scan_scan *scan,
                            const struct ArrowSchema *schema,
                            struct weir_error *err)
{
    weir_err code = wi_scan_schema_encode(schema, &scan->schema, err);
    if (code == WEIR_OK) {
        code = wi_scan_shape_init(&scan->shape, schema, err);
        scan->shaped = code == WEIR_OK;
    }
    return code;
}

/* An engine that has no stream to give: no columns, and the end. */
static weir_err make_schema(struct wi_scan_scan *scan,
                            struct ArrowSchema *schema, struct weir_error *err)
{
    ArrowSchemaInit(schema);
    scan->ended = true;
    return ArrowSchemaSetTypeStruct(schema, 0) == NANOARROW_OK
               ? WEIR_OK
               : wi_scan_fail(err, WEIR_ERR_NO_MEMORY,
                              "no memory for a schema");
}

static weir_err ask_schema(struct wi_scan_scan *scan,
                           struct ArrowSchema *schema, struct weir_error *err)
{
    struct ArrowArrayStream *stream = &scan->stream;
    int status = stream->get_schema(stream, schema);
    if (status == 0) {
        return WEIR_OK;
    }
    const char *text = stream->get_last_error(stream);
    schema->release = NULL;
    return wi_scan_fail(err, WEIR_ERR_SCHEMA, "the engine gives no schema: %s",
                        text != NULL ? text : strerror(status));
}

static void open_schema(struct wi_scan_scan *scan)
{
    struct ArrowSchema schema = {0};
    struct weir_error err = {0};
    weir_err code = scan->stream.release != NULL
                        ? ask_schema(scan, &schema, &err)
                        : make_schema(scan, &schema, &err);
    if (code == WEIR_OK) {
        code = take_schema(scan, &schema, &err);
    }
    if (schema.release != NULL) {
        schema.release(&schema);
    }
    if (code != WEIR_OK) {
        wi_scan_scan_fail(scan, code, err.message);
    }
}

/* ---- both ---------------------------------------------------------------- */

static const struct weir_scan_source *check(struct wi_scan_scan *scan,
                                            struct weir_scan_request *request,
                                            struct weir_error *err)
{
    if (scan->n_ranges > 0 && request->kind != WEIR_SCAN_QUERY) {
        (void)wi_scan_fail(err, WEIR_ERR_ARG,
                           "kind = %d: only queries can be shared",
                           (int)request->kind);
        return NULL;
    }
    const struct weir_scan_source *source = find_source(scan->server, request);
    if (source == NULL) {
        (void)wi_scan_fail(err, WEIR_ERR_NOT_FOUND, "no data set '%s'",
                           request->dataset);
    }
    return source;
}

void wi_scan_scan_open(struct wi_scan_scan *scan)
{
    struct weir_error err = {0};
    struct weir_scan_request *request = NULL;
    const struct weir_scan_source *source = NULL;
    if (read_request(scan, &request, &err) == WEIR_OK) {
        source = check(scan, request, &err);
    }
    if (source == NULL) {
        wi_scan_scan_fail(scan, err.code, err.message);
    } else if (call_engine(scan, source, request) == WEIR_OK) {
        open_schema(scan);
    }
    free(request);
    free(scan->bytes);
    scan->bytes = NULL;
}

void wi_scan_scan_release(struct wi_scan_scan *scan)
{
    if (scan->stream.release != NULL) {
        scan->stream.release(&scan->stream);
    }
    if (scan->shaped) {
        wi_scan_shape_fini(&scan->shape);
    }
}
