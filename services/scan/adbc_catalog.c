/* SPDX-License-Identifier: Apache-2.0 */
/* Catalogs of ADBC drivers. What a call's parameters are in ADBC comes as
 * options of the request, since requests are texts. */
#include "services/scan/adbc_catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "services/scan/fail.h"

/* ---- options ------------------------------------------------------------- */

/* A filter; NULL: none. */
static const char *find_option(const struct weir_scan_request *r,
                               const char *key)
{
    for (uint32_t i = 0; i < r->n_options; i++) {
        if (strcmp(r->options[i].key, key) == 0) {
            return r->options[i].value;
        }
    }
    return NULL;
}

static bool is_one_of(const char *key, const char *const *known)
{
    while (*known != NULL && strcmp(key, *known) != 0) {
        known++;
    }
    return *known != NULL;
}

/* A name that is misspelt would be a filter that filters nothing. */
static weir_err check_options(struct wi_scan_call *call,
                              const char *const *known)
{
    const struct weir_scan_request *r = call->request;
    for (uint32_t i = 0; i < r->n_options; i++) {
        if (!is_one_of(r->options[i].key, known)) {
            return wi_scan_fail(call->err, WEIR_ERR_ARG,
                                "requests of this kind have no option '%s'",
                                r->options[i].key);
        }
    }
    return WEIR_OK;
}

static weir_err parse_number(struct wi_scan_call *call, const char *key,
                             const char *text, uint32_t max,
                             uint32_t *number_out)
{
    char *end = NULL;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 ||
        value > max) {
        return wi_scan_fail(call->err, WEIR_ERR_ARG,
                            "option '%s' is no number from 0 to %u: '%s'", key,
                            max, text);
    }
    *number_out = (uint32_t)value;
    return WEIR_OK;
}

/* The values of an option that may be given several times, then NULL. */
static weir_err collect(struct wi_scan_call *call, const char *key,
                        const char ***values_out, uint32_t *n_out)
{
    const struct weir_scan_request *r = call->request;
    uint32_t n = 0;
    const char **values = calloc(r->n_options + 1u, sizeof(*values));
    if (values == NULL) {
        return wi_scan_fail(call->err, WEIR_ERR_NO_MEMORY,
                            "no memory for options");
    }
    for (uint32_t i = 0; i < r->n_options; i++) {
        if (strcmp(r->options[i].key, key) == 0) {
            values[n++] = r->options[i].value;
        }
    }
    *values_out = values;
    *n_out = n;
    return WEIR_OK;
}

/* ---- requests ------------------------------------------------------------ */

static weir_err get_objects(struct wi_scan_call *call, uint32_t depth,
                            const char **types)
{
    const struct weir_scan_request *r = call->request;
    struct AdbcError error = {0};
    AdbcStatusCode status = call->engine->driver.ConnectionGetObjects(
        &call->session->connection, (int)depth, find_option(r, "catalog"),
        find_option(r, "db_schema"), find_option(r, "table_name"), types,
        find_option(r, "column_name"), &call->stream, &error);
    return wi_scan_call_check(call, status, &error, "listing objects");
}

static weir_err objects(struct wi_scan_call *call)
{
    static const char *const known[] = {
        "depth",      "catalog",     "db_schema", "table_name",
        "table_type", "column_name", NULL};
    if (call->engine->driver.ConnectionGetObjects == NULL) {
        return wi_scan_call_lacks(call, "lists of objects");
    }
    uint32_t depth = ADBC_OBJECT_DEPTH_ALL;
    const char *text = find_option(call->request, "depth");
    weir_err code = check_options(call, known);
    if (code == WEIR_OK && text != NULL) {
        code =
            parse_number(call, "depth", text, ADBC_OBJECT_DEPTH_TABLES, &depth);
    }
    const char **types = NULL;
    uint32_t n = 0;
    if (code == WEIR_OK) {
        code = collect(call, "table_type", &types, &n);
    }
    if (code == WEIR_OK) {
        code = get_objects(call, depth, n > 0 ? types : NULL);
    }
    free(types);
    return code;
}

static weir_err table_schema(struct wi_scan_call *call)
{
    static const char *const known[] = {"catalog", "db_schema", NULL};
    const struct weir_scan_request *r = call->request;
    const struct AdbcDriver *d = &call->engine->driver;
    struct ArrowSchema schema = {0};
    struct AdbcError error = {0};
    if (d->ConnectionGetTableSchema == NULL) {
        return wi_scan_call_lacks(call, "schemas of tables");
    }
    weir_err code = check_options(call, known);
    if (code == WEIR_OK) {
        AdbcStatusCode status = d->ConnectionGetTableSchema(
            &call->session->connection, find_option(r, "catalog"),
            find_option(r, "db_schema"), r->text, &schema, &error);
        code = wi_scan_call_check(call, status, &error, "describing a table");
    }
    return code == WEIR_OK ? wi_scan_call_no_rows(call, &schema) : code;
}

static weir_err table_types(struct wi_scan_call *call)
{
    static const char *const known[] = {NULL};
    const struct AdbcDriver *d = &call->engine->driver;
    struct AdbcError error = {0};
    if (d->ConnectionGetTableTypes == NULL) {
        return wi_scan_call_lacks(call, "types of tables");
    }
    weir_err code = check_options(call, known);
    if (code == WEIR_OK) {
        AdbcStatusCode status = d->ConnectionGetTableTypes(
            &call->session->connection, &call->stream, &error);
        code = wi_scan_call_check(call, status, &error, "listing table types");
    }
    return code;
}

static weir_err get_info(struct wi_scan_call *call, const char **texts,
                         uint32_t *codes, uint32_t n)
{
    struct AdbcError error = {0};
    weir_err code = WEIR_OK;
    for (uint32_t i = 0; code == WEIR_OK && i < n; i++) {
        code = parse_number(call, "code", texts[i], UINT32_MAX, &codes[i]);
    }
    if (code == WEIR_OK) {
        AdbcStatusCode status = call->engine->driver.ConnectionGetInfo(
            &call->session->connection, n > 0 ? codes : NULL, n, &call->stream,
            &error);
        code = wi_scan_call_check(call, status, &error, "asking the driver");
    }
    return code;
}

static weir_err info(struct wi_scan_call *call)
{
    static const char *const known[] = {"code", NULL};
    if (call->engine->driver.ConnectionGetInfo == NULL) {
        return wi_scan_call_lacks(call, "information");
    }
    const char **texts = NULL;
    uint32_t *codes = NULL;
    uint32_t n = 0;
    weir_err code = check_options(call, known);
    if (code == WEIR_OK) {
        code = collect(call, "code", &texts, &n);
    }
    if (code == WEIR_OK) {
        codes = calloc(n + 1u, sizeof(*codes));
        code = codes != NULL ? get_info(call, texts, codes, n)
                             : wi_scan_fail(call->err, WEIR_ERR_NO_MEMORY,
                                            "no memory for options");
    }
    free(codes);
    free(texts);
    return code;
}

weir_err wi_scan_catalog(struct wi_scan_call *call)
{
    weir_err code = wi_scan_call_cancellable(call);
    if (code != WEIR_OK) {
        return code;
    }
    switch (call->request->kind) {
    case WEIR_SCAN_OBJECTS:
        return objects(call);
    case WEIR_SCAN_TABLE_SCHEMA:
        return table_schema(call);
    case WEIR_SCAN_TABLE_TYPES:
        return table_types(call);
    case WEIR_SCAN_INFO:
        return info(call);
    default:
        return wi_scan_fail(call->err, WEIR_ERR_UNSUPPORTED,
                            "no requests of kind %d", (int)call->request->kind);
    }
}
