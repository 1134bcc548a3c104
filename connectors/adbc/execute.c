/* SPDX-License-Identifier: Apache-2.0 */
/* Executing statements (statement.h): each is one request. */
#include <string.h>

#include <nanoarrow/nanoarrow.h>

#include "connectors/adbc/catalog.h"
#include "connectors/adbc/error.h"
#include "connectors/adbc/partition.h"
#include "connectors/adbc/request.h"
#include "connectors/adbc/statement.h"

enum { RANGES = 8, MOST_RANGES = 65536 };

/* Its request, to be freed when it was sent. */
static AdbcStatusCode begin(struct AdbcStatement *statement,
                            weir_scan_kind kind,
                            struct wi_adbc_statement **s_out,
                            struct weir_scan_request *request,
                            struct AdbcError *error)
{
    if (statement == NULL || statement->private_data == NULL) {
        return wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                            "the statement was not made, or was released");
    }
    *s_out = statement->private_data;
    return wi_adbc_request_init(request, *s_out, kind, error);
}

AdbcStatusCode wi_adbc_statement_execute(struct AdbcStatement *statement,
                                         struct ArrowArrayStream *out,
                                         int64_t *rows, struct AdbcError *error)
{
    struct wi_adbc_statement *s = NULL;
    struct weir_scan_request request;
    AdbcStatusCode status =
        begin(statement, out != NULL ? WEIR_SCAN_QUERY : WEIR_SCAN_UPDATE, &s,
              &request, error);
    if (status == ADBC_STATUS_OK) {
        status = wi_adbc_session_ask(s->session, &request, out, rows, error);
        wi_adbc_request_fini(&request);
    }
    return status;
}

/* ---- partitions ---------------------------------------------------------- */

static AdbcStatusCode share(struct wi_adbc_statement *s,
                            const struct weir_scan_request *request, uint32_t n,
                            struct ArrowSchema *schema,
                            struct AdbcPartitions *partitions,
                            struct AdbcError *error)
{
    struct weir_scan_id id;
    AdbcStatusCode status =
        wi_adbc_session_share(s->session, request, n, &id, schema, error);
    if (status != ADBC_STATUS_OK) {
        return status;
    }
    status = wi_adbc_partitions_make(
        partitions, &id, n, wi_adbc_session_address(s->session), error);
    if (status != ADBC_STATUS_OK && schema != NULL) {
        ArrowSchemaRelease(schema);
    }
    return status;
}

AdbcStatusCode wi_adbc_statement_partitions(struct AdbcStatement *statement,
                                            struct ArrowSchema *schema,
                                            struct AdbcPartitions *partitions,
                                            int64_t *rows,
                                            struct AdbcError *error)
{
    struct wi_adbc_statement *s = NULL;
    struct weir_scan_request request;
    uint64_t n = RANGES;
    AdbcStatusCode status =
        begin(statement, WEIR_SCAN_QUERY, &s, &request, error);
    if (status != ADBC_STATUS_OK) {
        return status;
    }
    status = wi_adbc_options_number(&s->options, WI_ADBC_PARTITIONS,
                                    MOST_RANGES, &n, error);
    if (status == ADBC_STATUS_OK) {
        status = share(s, &request, (uint32_t)n, schema, partitions, error);
    }
    wi_adbc_request_fini(&request);
    if (status == ADBC_STATUS_OK && rows != NULL) {
        *rows = -1;
    }
    return status;
}

/* ---- schemas ------------------------------------------------------------- */

/* "result" or "parameters", as the server answers SCHEMA. */
static AdbcStatusCode pick(struct ArrowSchema *both, int64_t child,
                           struct ArrowSchema *schema_out,
                           struct AdbcError *error)
{
    if (both->n_children != 2 ||
        strcmp(both->children[child]->format, "+s") != 0) {
        return wi_adbc_fail(error, ADBC_STATUS_NOT_IMPLEMENTED,
                            "the server's engine does not say it");
    }
    ArrowSchemaMove(both->children[child], schema_out);
    return ADBC_STATUS_OK;
}

static AdbcStatusCode ask(struct AdbcStatement *statement, int64_t child,
                          struct ArrowSchema *schema_out,
                          struct AdbcError *error)
{
    struct wi_adbc_statement *s = NULL;
    struct weir_scan_request request;
    struct ArrowSchema both = {0};
    AdbcStatusCode status =
        begin(statement, WEIR_SCAN_SCHEMA, &s, &request, error);
    if (status != ADBC_STATUS_OK) {
        return status;
    }
    request.bind = NULL; /* it stays for when the query is run */
    if (request.kind == WEIR_SCAN_SCHEMA) {
        status = wi_adbc_ask_schema(s->session, &request, &both, error);
    } else {
        status = wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                              "the statement has no query");
    }
    wi_adbc_request_fini(&request);
    if (status == ADBC_STATUS_OK) {
        status = pick(&both, child, schema_out, error);
        ArrowSchemaRelease(&both);
    }
    return status;
}

AdbcStatusCode wi_adbc_statement_schema(struct AdbcStatement *statement,
                                        struct ArrowSchema *schema,
                                        struct AdbcError *error)
{
    return ask(statement, 0, schema, error);
}

AdbcStatusCode wi_adbc_statement_parameters(struct AdbcStatement *statement,
                                            struct ArrowSchema *schema,
                                            struct AdbcError *error)
{
    return ask(statement, 1, schema, error);
}
