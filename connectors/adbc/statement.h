/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Statements: a query or a table to take rows in, parameters or rows, options.
 *
 *   adbc.ingest.*           of the table that takes rows in (ADBC)
 *   adbc.weir.partitions    ranges of a result, 1..65536 [8] (partition.h)
 *   any other               passed on to the server's engine with the request
 *
 * Nothing is sent before a statement is executed, so that is when an option or
 * a text that the engine does not like is refused. What was bound is used up by
 * one execution.
 *
 * The functions are those of struct AdbcDriver.
 */
#ifndef WI_ADBC_STATEMENT_H
#define WI_ADBC_STATEMENT_H

#include "connectors/adbc/connection.h"

AdbcStatusCode wi_adbc_statement_new(struct AdbcConnection *connection,
                                     struct AdbcStatement *statement,
                                     struct AdbcError *error);
AdbcStatusCode wi_adbc_statement_release(struct AdbcStatement *statement,
                                         struct AdbcError *error);

AdbcStatusCode wi_adbc_statement_set(struct AdbcStatement *statement,
                                     const char *key, const char *value,
                                     struct AdbcError *error);
AdbcStatusCode wi_adbc_statement_set_int(struct AdbcStatement *statement,
                                         const char *key, int64_t value,
                                         struct AdbcError *error);
AdbcStatusCode wi_adbc_statement_set_double(struct AdbcStatement *statement,
                                            const char *key, double value,
                                            struct AdbcError *error);
AdbcStatusCode wi_adbc_statement_get(struct AdbcStatement *statement,
                                     const char *key, char *value,
                                     size_t *length, struct AdbcError *error);
AdbcStatusCode wi_adbc_statement_get_int(struct AdbcStatement *statement,
                                         const char *key, int64_t *value,
                                         struct AdbcError *error);
AdbcStatusCode wi_adbc_statement_get_double(struct AdbcStatement *statement,
                                            const char *key, double *value,
                                            struct AdbcError *error);

AdbcStatusCode wi_adbc_statement_query(struct AdbcStatement *statement,
                                       const char *query,
                                       struct AdbcError *error);
AdbcStatusCode wi_adbc_statement_prepare(struct AdbcStatement *statement,
                                         struct AdbcError *error);
AdbcStatusCode wi_adbc_statement_bind(struct AdbcStatement *statement,
                                      struct ArrowArray *values,
                                      struct ArrowSchema *schema,
                                      struct AdbcError *error);
AdbcStatusCode wi_adbc_statement_bind_stream(struct AdbcStatement *statement,
                                             struct ArrowArrayStream *stream,
                                             struct AdbcError *error);

AdbcStatusCode wi_adbc_statement_execute(struct AdbcStatement *statement,
                                         struct ArrowArrayStream *out,
                                         int64_t *rows,
                                         struct AdbcError *error);
AdbcStatusCode wi_adbc_statement_partitions(struct AdbcStatement *statement,
                                            struct ArrowSchema *schema,
                                            struct AdbcPartitions *partitions,
                                            int64_t *rows,
                                            struct AdbcError *error);
AdbcStatusCode wi_adbc_statement_schema(struct AdbcStatement *statement,
                                        struct ArrowSchema *schema,
                                        struct AdbcError *error);
AdbcStatusCode wi_adbc_statement_parameters(struct AdbcStatement *statement,
                                            struct ArrowSchema *schema,
                                            struct AdbcError *error);
AdbcStatusCode wi_adbc_statement_cancel(struct AdbcStatement *statement,
                                        struct AdbcError *error);

#endif /* WI_ADBC_STATEMENT_H */
