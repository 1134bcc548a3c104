/* SPDX-License-Identifier: Apache-2.0 */
/** What a server's engine says of itself and its tables. The functions are
 *  those of struct AdbcDriver; each is a request (weir/scan_request.h). */
#ifndef WI_ADBC_CATALOG_H
#define WI_ADBC_CATALOG_H

#include "connectors/adbc/connection.h"

AdbcStatusCode wi_adbc_get_info(struct AdbcConnection *connection,
                                const uint32_t *codes, size_t n_codes,
                                struct ArrowArrayStream *out,
                                struct AdbcError *error);
AdbcStatusCode wi_adbc_get_objects(struct AdbcConnection *connection, int depth,
                                   const char *catalog, const char *db_schema,
                                   const char *table_name,
                                   const char **table_types,
                                   const char *column_name,
                                   struct ArrowArrayStream *out,
                                   struct AdbcError *error);
AdbcStatusCode
wi_adbc_get_table_schema(struct AdbcConnection *connection, const char *catalog,
                         const char *db_schema, const char *table_name,
                         struct ArrowSchema *schema, struct AdbcError *error);
AdbcStatusCode wi_adbc_get_table_types(struct AdbcConnection *connection,
                                       struct ArrowArrayStream *out,
                                       struct AdbcError *error);

/** The schema that a request's answer has, without its rows. Errors: as
 *  wi_adbc_session_ask. Ownership: schema_out->release. */
AdbcStatusCode wi_adbc_ask_schema(struct wi_adbc_session *session,
                                  const struct weir_scan_request *request,
                                  struct ArrowSchema *schema_out,
                                  struct AdbcError *error);

#endif /* WI_ADBC_CATALOG_H */
