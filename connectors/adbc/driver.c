/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libadbc_driver_weir.so: an ADBC driver, revision 1.1.0, for servers of scans
 * (weir/scan.h). Only its entries are exported: the functions' usual names
 * would be taken for those of a driver manager in the same program.
 *
 * Source: adbc.h (AdbcDriverInitFunc): a caller of revision 1.0.0 has a shorter
 * table, whose rest is not to be touched.
 */
#include <string.h>

#include "connectors/adbc/catalog.h"
#include "connectors/adbc/connection.h"
#include "connectors/adbc/database.h"
#include "connectors/adbc/error.h"
#include "connectors/adbc/partition.h"
#include "connectors/adbc/statement.h"
#include "connectors/adbc/stream.h"

AdbcStatusCode AdbcDriverInit(int version, void *driver,
                              struct AdbcError *error);
AdbcStatusCode AdbcDriverWeirInit(int version, void *driver,
                                  struct AdbcError *error);

static AdbcStatusCode release_driver(struct AdbcDriver *driver,
                                     struct AdbcError *error)
{
    (void)driver;
    (void)error;
    return ADBC_STATUS_OK;
}

static void fill_1_0(struct AdbcDriver *d)
{
    memset(d, 0, ADBC_DRIVER_1_0_0_SIZE);
    d->release = release_driver;
    d->DatabaseInit = wi_adbc_database_init;
    d->DatabaseNew = wi_adbc_database_new;
    d->DatabaseSetOption = wi_adbc_database_set;
    d->DatabaseRelease = wi_adbc_database_release;
    d->ConnectionCommit = wi_adbc_connection_commit;
    d->ConnectionGetInfo = wi_adbc_get_info;
    d->ConnectionGetObjects = wi_adbc_get_objects;
    d->ConnectionGetTableSchema = wi_adbc_get_table_schema;
    d->ConnectionGetTableTypes = wi_adbc_get_table_types;
    d->ConnectionInit = wi_adbc_connection_init;
    d->ConnectionNew = wi_adbc_connection_new;
    d->ConnectionSetOption = wi_adbc_connection_set;
    d->ConnectionReadPartition = wi_adbc_read_partition;
    d->ConnectionRelease = wi_adbc_connection_release;
    d->ConnectionRollback = wi_adbc_connection_rollback;
    d->StatementBind = wi_adbc_statement_bind;
    d->StatementBindStream = wi_adbc_statement_bind_stream;
    d->StatementExecuteQuery = wi_adbc_statement_execute;
    d->StatementExecutePartitions = wi_adbc_statement_partitions;
    d->StatementGetParameterSchema = wi_adbc_statement_parameters;
    d->StatementNew = wi_adbc_statement_new;
    d->StatementPrepare = wi_adbc_statement_prepare;
    d->StatementRelease = wi_adbc_statement_release;
    d->StatementSetOption = wi_adbc_statement_set;
    d->StatementSetSqlQuery = wi_adbc_statement_query;
}

static void fill_1_1(struct AdbcDriver *d)
{
    memset((char *)d + ADBC_DRIVER_1_0_0_SIZE, 0,
           ADBC_DRIVER_1_1_0_SIZE - ADBC_DRIVER_1_0_0_SIZE);
    d->ErrorGetDetailCount = wi_adbc_detail_count;
    d->ErrorGetDetail = wi_adbc_detail;
    d->ErrorFromArrayStream = wi_adbc_stream_error;
    d->DatabaseGetOption = wi_adbc_database_get;
    d->DatabaseGetOptionInt = wi_adbc_database_get_int;
    d->DatabaseGetOptionDouble = wi_adbc_database_get_double;
    d->DatabaseSetOptionInt = wi_adbc_database_set_int;
    d->ConnectionCancel = wi_adbc_connection_cancel;
    d->ConnectionGetOption = wi_adbc_connection_get;
    d->StatementCancel = wi_adbc_statement_cancel;
    d->StatementExecuteSchema = wi_adbc_statement_schema;
    d->StatementGetOption = wi_adbc_statement_get;
    d->StatementGetOptionInt = wi_adbc_statement_get_int;
    d->StatementGetOptionDouble = wi_adbc_statement_get_double;
    d->StatementSetOptionInt = wi_adbc_statement_set_int;
    d->StatementSetOptionDouble = wi_adbc_statement_set_double;
}

WEIR_API AdbcStatusCode AdbcDriverWeirInit(int version, void *driver,
                                           struct AdbcError *error)
{
    if (version != ADBC_VERSION_1_0_0 && version != ADBC_VERSION_1_1_0) {
        return wi_adbc_fail(error, ADBC_STATUS_NOT_IMPLEMENTED,
                            "revisions 1.0.0 and 1.1.0 of ADBC are known here, "
                            "not %d",
                            version);
    }
    if (driver == NULL) {
        return wi_adbc_fail(error, ADBC_STATUS_INVALID_ARGUMENT,
                            "driver is NULL");
    }
    fill_1_0(driver);
    if (version == ADBC_VERSION_1_1_0) {
        fill_1_1(driver);
    }
    return ADBC_STATUS_OK;
}

WEIR_API AdbcStatusCode AdbcDriverInit(int version, void *driver,
                                       struct AdbcError *error)
{
    return AdbcDriverWeirInit(version, driver, error);
}
