/* SPDX-License-Identifier: Apache-2.0 */
/* What a server's engine says of itself and its tables. */
#include "connectors/adbc/catalog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/adbc/error.h"

enum { MOST = 1024, DIGITS = 12 };

/* Options of a request; texts are borrowed. */
struct list {
    struct weir_scan_option *at;
    uint32_t n;
};

static void add(struct list *list, const char *key, const char *value)
{
    if (value != NULL) {
        list->at[list->n++] = (struct weir_scan_option){key, value};
    }
}

static struct list make_list(size_t most)
{
    return (struct list){calloc(most + 1, sizeof(struct weir_scan_option)), 0};
}

static AdbcStatusCode no_memory(struct AdbcError *error)
{
    return wi_adbc_fail(error, ADBC_STATUS_INTERNAL, "no memory for a request");
}

/* Frees the list. */
static AdbcStatusCode ask(struct wi_adbc_session *session, weir_scan_kind kind,
                          struct list list, struct ArrowArrayStream *out,
                          struct AdbcError *error)
{
    const struct weir_scan_request request = {
        .kind = kind, .options = list.at, .n_options = list.n};
    AdbcStatusCode status =
        wi_adbc_session_ask(session, &request, out, NULL, error);
    free(list.at);
    return status;
}

/* ---- information --------------------------------------------------------- */

static AdbcStatusCode ask_info(struct wi_adbc_session *session,
                               const uint32_t *codes, size_t n,
                               struct ArrowArrayStream *out,
                               struct AdbcError *error)
{
    struct list list = make_list(n);
    char(*texts)[DIGITS] = calloc(n + 1, sizeof(*texts));
    if (list.at == NULL || texts == NULL) {
        free(list.at);
        free(texts);
        return no_memory(error);
    }
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(texts[i], DIGITS, "%u", codes[i]);
        add(&list, "code", texts[i]);
    }
    AdbcStatusCode status = ask(session, WEIR_SCAN_INFO, list, out, error);
    free(texts);
    return status;
}

AdbcStatusCode wi_adbc_get_info(struct AdbcConnection *connection,
                                const uint32_t *codes, size_t n_codes,
                                struct ArrowArrayStream *out,
                                struct AdbcError *error)
{
    struct wi_adbc_session *s = wi_adbc_connection_session(connection, error);
    if (s == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    if (n_codes > MOST) {
        return wi_adbc_fail(error, ADBC_STATUS_INVALID_ARGUMENT,
                            "more than %d codes", MOST);
    }
    return ask_info(s, codes, codes != NULL ? n_codes : 0, out, error);
}

/* ---- objects ------------------------------------------------------------- */

static size_t count(const char **texts)
{
    size_t n = 0;
    while (texts != NULL && texts[n] != NULL) {
        n++;
    }
    return n;
}

AdbcStatusCode wi_adbc_get_objects(struct AdbcConnection *connection, int depth,
                                   const char *catalog, const char *db_schema,
                                   const char *table_name,
                                   const char **table_types,
                                   const char *column_name,
                                   struct ArrowArrayStream *out,
                                   struct AdbcError *error)
{
    struct wi_adbc_session *s = wi_adbc_connection_session(connection, error);
    if (s == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    if (depth < ADBC_OBJECT_DEPTH_ALL || depth > ADBC_OBJECT_DEPTH_TABLES ||
        count(table_types) > MOST / 2) {
        return wi_adbc_fail(error, ADBC_STATUS_INVALID_ARGUMENT,
                            "depth is not 0..3, or too many types");
    }
    struct list list = make_list(count(table_types) + 5);
    if (list.at == NULL) {
        return no_memory(error);
    }
    const char digits[] = {(char)('0' + depth), '\0'};
    add(&list, "depth", digits);
    add(&list, "catalog", catalog);
    add(&list, "db_schema", db_schema);
    add(&list, "table_name", table_name);
    add(&list, "column_name", column_name);
    for (size_t i = 0; i < count(table_types); i++) {
        add(&list, "table_type", table_types[i]);
    }
    return ask(s, WEIR_SCAN_OBJECTS, list, out, error);
}

AdbcStatusCode wi_adbc_get_table_types(struct AdbcConnection *connection,
                                       struct ArrowArrayStream *out,
                                       struct AdbcError *error)
{
    struct wi_adbc_session *s = wi_adbc_connection_session(connection, error);
    return s == NULL ? ADBC_STATUS_INVALID_STATE
                     : ask(s, WEIR_SCAN_TABLE_TYPES, (struct list){NULL, 0},
                           out, error);
}

/* ---- schemas ------------------------------------------------------------- */

AdbcStatusCode wi_adbc_ask_schema(struct wi_adbc_session *session,
                                  const struct weir_scan_request *request,
                                  struct ArrowSchema *schema_out,
                                  struct AdbcError *error)
{
    struct ArrowArrayStream stream = {0};
    AdbcStatusCode status =
        wi_adbc_session_ask(session, request, &stream, NULL, error);
    if (status != ADBC_STATUS_OK) {
        return status;
    }
    if (stream.get_schema(&stream, schema_out) != 0) {
        status = wi_adbc_fail(error, ADBC_STATUS_IO, "no schema came: %s",
                              stream.get_last_error(&stream));
    }
    stream.release(&stream);
    return status;
}

AdbcStatusCode
wi_adbc_get_table_schema(struct AdbcConnection *connection, const char *catalog,
                         const char *db_schema, const char *table_name,
                         struct ArrowSchema *schema, struct AdbcError *error)
{
    struct wi_adbc_session *s = wi_adbc_connection_session(connection, error);
    if (s == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    if (table_name == NULL) {
        return wi_adbc_fail(error, ADBC_STATUS_INVALID_ARGUMENT,
                            "table_name is NULL");
    }
    struct weir_scan_option options[2];
    struct list list = {options, 0};
    add(&list, "catalog", catalog);
    add(&list, "db_schema", db_schema);
    const struct weir_scan_request request = {.kind = WEIR_SCAN_TABLE_SCHEMA,
                                              .text = table_name,
                                              .options = options,
                                              .n_options = list.n};
    return wi_adbc_ask_schema(s, &request, schema, error);
}
