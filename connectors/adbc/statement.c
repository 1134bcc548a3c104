/* SPDX-License-Identifier: Apache-2.0 */
/* Statements: what they are told. Executing them: execute.c. */
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanoarrow/nanoarrow.h>

#include "connectors/adbc/error.h"
#include "connectors/adbc/request.h"
#include "connectors/adbc/statement.h"

static struct wi_adbc_statement *of(const struct AdbcStatement *statement,
                                    struct AdbcError *error)
{
    if (statement == NULL || statement->private_data == NULL) {
        (void)wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                           "the statement was not made, or was released");
        return NULL;
    }
    return statement->private_data;
}

/* ---- new, release -------------------------------------------------------- */

AdbcStatusCode wi_adbc_statement_new(struct AdbcConnection *connection,
                                     struct AdbcStatement *statement,
                                     struct AdbcError *error)
{
    struct wi_adbc_session *session =
        wi_adbc_connection_session(connection, error);
    if (session == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    struct wi_adbc_statement *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return wi_adbc_fail(error, ADBC_STATUS_INTERNAL, "no memory");
    }
    s->session = wi_adbc_session_hold(session);
    statement->private_data = s;
    return ADBC_STATUS_OK;
}

static void drop_bind(struct wi_adbc_statement *s)
{
    if (s->bind.release != NULL) {
        s->bind.release(&s->bind);
    }
}

AdbcStatusCode wi_adbc_statement_release(struct AdbcStatement *statement,
                                         struct AdbcError *error)
{
    struct wi_adbc_statement *s = of(statement, error);
    if (s == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    drop_bind(s);
    wi_adbc_options_fini(&s->options);
    wi_adbc_session_drop(s->session);
    free(s->query);
    free(s);
    statement->private_data = NULL;
    return ADBC_STATUS_OK;
}

/* ---- options ------------------------------------------------------------- */

AdbcStatusCode wi_adbc_statement_set(struct AdbcStatement *statement,
                                     const char *key, const char *value,
                                     struct AdbcError *error)
{
    struct wi_adbc_statement *s = of(statement, error);
    if (s == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    if (strcmp(key, ADBC_INGEST_OPTION_TARGET_TABLE) == 0) {
        free(s->query); /* it is one or the other, whichever came last */
        s->query = NULL;
    }
    return wi_adbc_options_set(&s->options, key, value, error);
}

AdbcStatusCode wi_adbc_statement_set_int(struct AdbcStatement *statement,
                                         const char *key, int64_t value,
                                         struct AdbcError *error)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%" PRId64, value);
    return wi_adbc_statement_set(statement, key, text, error);
}

AdbcStatusCode wi_adbc_statement_set_double(struct AdbcStatement *statement,
                                            const char *key, double value,
                                            struct AdbcError *error)
{
    char text[32];
    /* With a point, whatever the host program has set. The C locale is no
     * allocation. */
    locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    (void)snprintf(text, sizeof(text), "%.17g", value);
    (void)uselocale(before);
    return wi_adbc_statement_set(statement, key, text, error);
}

AdbcStatusCode wi_adbc_statement_get(struct AdbcStatement *statement,
                                     const char *key, char *value,
                                     size_t *length, struct AdbcError *error)
{
    struct wi_adbc_statement *s = of(statement, error);
    return s == NULL ? ADBC_STATUS_INVALID_STATE
                     : wi_adbc_give(key, wi_adbc_options_find(&s->options, key),
                                    value, length, error);
}

AdbcStatusCode wi_adbc_statement_get_int(struct AdbcStatement *statement,
                                         const char *key, int64_t *value,
                                         struct AdbcError *error)
{
    struct wi_adbc_statement *s = of(statement, error);
    return s == NULL
               ? ADBC_STATUS_INVALID_STATE
               : wi_adbc_give_int(key, wi_adbc_options_find(&s->options, key),
                                  value, error);
}

AdbcStatusCode wi_adbc_statement_get_double(struct AdbcStatement *statement,
                                            const char *key, double *value,
                                            struct AdbcError *error)
{
    struct wi_adbc_statement *s = of(statement, error);
    return s == NULL
               ? ADBC_STATUS_INVALID_STATE
               : wi_adbc_give_double(
                     key, wi_adbc_options_find(&s->options, key), value, error);
}

/* ---- queries and rows ---------------------------------------------------- */

AdbcStatusCode wi_adbc_statement_query(struct AdbcStatement *statement,
                                       const char *query,
                                       struct AdbcError *error)
{
    struct wi_adbc_statement *s = of(statement, error);
    if (s == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    char *copy = strdup(query);
    if (copy == NULL) {
        return wi_adbc_fail(error, ADBC_STATUS_INTERNAL, "no memory");
    }
    free(s->query);
    s->query = copy;
    return wi_adbc_options_set(&s->options, ADBC_INGEST_OPTION_TARGET_TABLE,
                               NULL, error);
}

/* The server prepares what it executes, each time. */
AdbcStatusCode wi_adbc_statement_prepare(struct AdbcStatement *statement,
                                         struct AdbcError *error)
{
    struct wi_adbc_statement *s = of(statement, error);
    if (s == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    return s->query != NULL ? ADBC_STATUS_OK
                            : wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                                           "the statement has no query");
}

AdbcStatusCode wi_adbc_statement_bind(struct AdbcStatement *statement,
                                      struct ArrowArray *values,
                                      struct ArrowSchema *schema,
                                      struct AdbcError *error)
{
    struct ArrowArrayStream stream;
    if (of(statement, error) == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    if (ArrowBasicArrayStreamInit(&stream, schema, 1) != NANOARROW_OK) {
        return wi_adbc_fail(error, ADBC_STATUS_INTERNAL, "no memory");
    }
    ArrowBasicArrayStreamSetArray(&stream, 0, values);
    return wi_adbc_statement_bind_stream(statement, &stream, error);
}

AdbcStatusCode wi_adbc_statement_bind_stream(struct AdbcStatement *statement,
                                             struct ArrowArrayStream *stream,
                                             struct AdbcError *error)
{
    struct wi_adbc_statement *s = of(statement, error);
    if (s == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    drop_bind(s);
    s->bind = *stream;
    stream->release = NULL;
    return ADBC_STATUS_OK;
}

AdbcStatusCode wi_adbc_statement_cancel(struct AdbcStatement *statement,
                                        struct AdbcError *error)
{
    struct wi_adbc_statement *s = of(statement, error);
    if (s == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    wi_adbc_session_cancel(s->session);
    return ADBC_STATUS_OK;
}
