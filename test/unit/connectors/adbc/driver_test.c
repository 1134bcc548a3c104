/* SPDX-License-Identifier: Apache-2.0 */
/* The ADBC driver, through its table, on engines of this process. */
#include <criterion/criterion.h>
#include <errno.h>
#include <nanoarrow/nanoarrow.h>
#include <string.h>

#include "test/unit/connectors/adbc/near.h"

TestSuite(adbc_driver, .timeout = 60);

AdbcStatusCode AdbcDriverInit(int version, void *driver,
                              struct AdbcError *error);

/* Runs the body once for each engine that is there, with an empty database. */
#define EACH_ENGINE(name)                                                      \
    static void name(enum wt_scan_engine which, struct wt_near *n);            \
    Test(adbc_driver, name)                                                    \
    {                                                                          \
        for (enum wt_scan_engine w = 0; w < WT_ENGINES; w++) {                 \
            struct wt_near near;                                               \
            if (wt_scan_engine_there(w)) {                                     \
                wt_near_open(&near, w);                                        \
                name(w, &near);                                                \
                wt_near_close(&near);                                          \
            }                                                                  \
        }                                                                      \
    }                                                                          \
    static void name(enum wt_scan_engine which, struct wt_near *n)

static void run(struct wt_near *n, const char *text)
{
    struct AdbcStatement s = wt_near_query(n, text);
    cr_assert_eq(n->d.StatementExecuteQuery(&s, NULL, NULL, &n->error), 0, "%s",
                 n->error.message);
    cr_assert_eq(n->d.StatementRelease(&s, &n->error), 0);
}

static int64_t sum(struct wt_near *n, const char *text)
{
    struct ArrowArrayStream stream;
    struct AdbcStatement s = wt_near_query(n, text);
    cr_assert_eq(n->d.StatementExecuteQuery(&s, &stream, NULL, &n->error), 0,
                 "%s", n->error.message);
    cr_assert_eq(n->d.StatementRelease(&s, &n->error), 0);
    return wt_near_sum(&stream); /* it outlives its statement */
}

/* ---- the table ----------------------------------------------------------- */

Test(adbc_driver, callers_of_1_0_have_a_shorter_table)
{
    struct AdbcDriver d;
    struct AdbcError error = {0};
    memset(&d, 0x5a, sizeof(d));
    cr_assert_eq(AdbcDriverInit(ADBC_VERSION_1_0_0, &d, &error), 0);
    const char *rest = (const char *)&d + ADBC_DRIVER_1_0_0_SIZE;
    for (size_t i = 0; i < sizeof(d) - ADBC_DRIVER_1_0_0_SIZE; i++) {
        cr_assert_eq(rest[i], 0x5a);
    }
    cr_assert_eq(AdbcDriverInit(2000000, &d, &error),
                 ADBC_STATUS_NOT_IMPLEMENTED);
    error.release(&error);
}

Test(adbc_driver, what_was_not_made_is_refused)
{
    struct AdbcDriver d;
    struct AdbcError error = {0};
    struct AdbcDatabase database = {0};
    struct AdbcConnection connection = {0};
    struct AdbcStatement statement = {0};
    cr_assert_eq(AdbcDriverInit(ADBC_VERSION_1_1_0, &d, &error), 0);
    cr_assert_eq(d.DatabaseRelease(&database, &error),
                 ADBC_STATUS_INVALID_STATE);
    cr_assert_eq(d.ConnectionRelease(&connection, &error),
                 ADBC_STATUS_INVALID_STATE);
    cr_assert_eq(d.StatementRelease(&statement, &error),
                 ADBC_STATUS_INVALID_STATE);
    cr_assert_eq(d.StatementExecuteQuery(&statement, NULL, NULL, &error),
                 ADBC_STATUS_INVALID_STATE);
    cr_assert_eq(d.ConnectionNew(&connection, &error), 0);
    cr_assert_eq(d.StatementNew(&connection, &statement, &error),
                 ADBC_STATUS_INVALID_STATE);
    cr_assert_eq(d.ConnectionRelease(&connection, &error), 0);
    error.release(&error);
}

/* ---- options ------------------------------------------------------------- */

Test(adbc_driver, options_of_a_database_are_checked)
{
    struct AdbcDriver d;
    struct AdbcError error = {0};
    struct AdbcDatabase database = {0};
    char value[8];
    size_t length = sizeof(value);
    int64_t number = 0;
    cr_assert_eq(AdbcDriverInit(ADBC_VERSION_1_1_0, &d, &error), 0);
    cr_assert_eq(d.DatabaseNew(&database, &error), 0);
    cr_assert_eq(d.DatabaseSetOption(&database, "username", "me", &error),
                 ADBC_STATUS_NOT_IMPLEMENTED);
    cr_assert_eq(d.DatabaseInit(&database, &error),
                 ADBC_STATUS_INVALID_ARGUMENT); /* no uri */
    d.DatabaseSetOption(&database, "uri", "tcp:127.0.0.1:1", &error);
    d.DatabaseSetOptionInt(&database, "adbc.weir.ahead", 17, &error);
    cr_assert_eq(d.DatabaseInit(&database, &error),
                 ADBC_STATUS_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.message, "adbc.weir.ahead"));
    cr_assert_eq(
        d.DatabaseGetOptionInt(&database, "adbc.weir.ahead", &number, &error),
        0);
    cr_assert_eq(number, 17);
    cr_assert_eq(d.DatabaseGetOption(&database, "uri", value, &length, &error),
                 0);
    cr_assert_eq(length, sizeof("tcp:127.0.0.1:1")); /* value is too short */
    cr_assert_eq(
        d.DatabaseGetOption(&database, "password", value, &length, &error),
        ADBC_STATUS_NOT_FOUND);
    cr_assert_eq(d.DatabaseRelease(&database, &error), 0);
    error.release(&error);
}

/* Whom a client expects it tells the node, and who it is itself. */
Test(adbc_driver, options_of_identity_reach_the_node_and_its_clients)
{
    struct AdbcDriver d;
    struct AdbcError error = {0};
    struct AdbcDatabase database = {0};
    struct AdbcConnection connection = {0};
    cr_assert_eq(AdbcDriverInit(ADBC_VERSION_1_1_0, &d, &error), 0);
    cr_assert_eq(d.DatabaseNew(&database, &error), 0);
    d.DatabaseSetOption(&database, "uri", "tcp:127.0.0.1:1", &error);
    cr_assert_eq(d.DatabaseSetOption(&database, "adbc.weir.tls_cert_file",
                                     "none.crt", &error),
                 0);
    cr_assert_neq(d.DatabaseInit(&database, &error), 0);
    cr_assert_not_null(strstr(error.message, "TLS needs"), "%s", error.message);
    d.DatabaseSetOption(&database, "adbc.weir.tls_cert_file", NULL, &error);
    d.DatabaseSetOption(&database, "adbc.weir.secret_file", "none", &error);
    cr_assert_neq(d.DatabaseInit(&database, &error), 0);
    cr_assert_not_null(strstr(error.message, "secret_file none"), "%s",
                       error.message);
    d.DatabaseSetOption(&database, "adbc.weir.secret_file", NULL, &error);
    d.DatabaseSetOption(&database, "adbc.weir.server_name", "db", &error);
    d.DatabaseSetOption(&database, "adbc.weir.name", "me", &error);
    cr_assert_eq(d.DatabaseInit(&database, &error), 0, "%s", error.message);
    cr_assert_eq(d.ConnectionNew(&connection, &error), 0);
    cr_assert_eq(d.ConnectionInit(&connection, &database, &error), 0, "%s",
                 error.message);
    cr_assert_str_eq(wt_near_server_name, "db");
    cr_assert_eq(d.ConnectionRelease(&connection, &error), 0);
    cr_assert_eq(d.DatabaseRelease(&database, &error), 0);
    error.release(&error);
}

/* ---- queries ------------------------------------------------------------- */

EACH_ENGINE(results_arrive_and_outlive_the_connection)
{
    (void)which;
    struct ArrowArrayStream stream;
    run(n, "CREATE TABLE t (i BIGINT)");
    run(n, "INSERT INTO t VALUES (1), (2), (40)");
    cr_assert_eq(sum(n, "SELECT i FROM t"), 43);
    struct AdbcStatement s = wt_near_query(n, "SELECT i + 1 FROM t");
    cr_assert_eq(n->d.StatementExecuteQuery(&s, &stream, NULL, &n->error), 0);
    cr_assert_eq(n->d.StatementRelease(&s, &n->error), 0);
    cr_assert_eq(n->d.ConnectionRelease(&n->connection, &n->error), 0);
    cr_assert_eq(wt_near_clients, 1);
    cr_assert_eq(wt_near_sum(&stream), 46);
    cr_assert_eq(wt_near_clients, 0);
}

EACH_ENGINE(parameters_are_bound_and_used_once)
{
    (void)which;
    struct ArrowArrayStream stream;
    struct ArrowArrayStream bind;
    struct AdbcStatement s =
        wt_near_query(n, "SELECT CAST(? AS BIGINT) + 7 AS x");
    wt_count_stream(&bind, 1, 1);
    cr_assert_eq(n->d.StatementBindStream(&s, &bind, &n->error), 0);
    cr_assert_null(bind.release);
    cr_assert_eq(n->d.StatementExecuteQuery(&s, &stream, NULL, &n->error), 0,
                 "%s", n->error.message);
    cr_assert_eq(wt_near_sum(&stream), 7);
    cr_assert_eq(n->d.StatementRelease(&s, &n->error), 0);
}

EACH_ENGINE(schemas_come_without_a_run)
{
    struct ArrowSchema schema = {0};
    run(n, "CREATE TABLE t (i BIGINT)");
    struct AdbcStatement s =
        wt_near_query(n, "SELECT i FROM t WHERE i = ? OR i = ?");
    cr_assert_eq(n->d.StatementPrepare(&s, &n->error), 0);
    cr_assert_eq(n->d.StatementGetParameterSchema(&s, &schema, &n->error), 0,
                 "%s", n->error.message);
    cr_assert_eq(schema.n_children, 2);
    schema.release(&schema);
    AdbcStatusCode status = n->d.StatementExecuteSchema(&s, &schema, &n->error);
    if (which == WT_DUCKDB) {
        cr_assert_eq(status, 0);
        cr_assert_str_eq(schema.children[0]->name, "i");
        schema.release(&schema);
    } else {
        cr_assert_eq(status, ADBC_STATUS_NOT_IMPLEMENTED);
    }
    cr_assert_eq(n->d.StatementRelease(&s, &n->error), 0);
    cr_assert_eq(n->d.ConnectionGetTableSchema(&n->connection, NULL, NULL, "t",
                                               &schema, &n->error),
                 0);
    cr_assert_str_eq(schema.children[0]->name, "i");
    schema.release(&schema);
}

EACH_ENGINE(rows_are_taken_in)
{
    (void)which;
    struct ArrowArrayStream bind;
    int64_t rows = -1;
    struct AdbcStatement s = wt_near_query(n, "SELECT 1");
    n->d.StatementSetOption(&s, "adbc.ingest.target_table", "t", &n->error);
    n->d.StatementSetOption(&s, "adbc.ingest.mode", "adbc.ingest.mode.create",
                            &n->error);
    cr_assert_eq(n->d.StatementExecuteQuery(&s, NULL, &rows, &n->error),
                 ADBC_STATUS_INVALID_STATE); /* nothing is bound */
    wt_count_stream(&bind, 3, 100);
    cr_assert_eq(n->d.StatementBindStream(&s, &bind, &n->error), 0);
    cr_assert_eq(n->d.StatementExecuteQuery(&s, NULL, &rows, &n->error), 0,
                 "%s", n->error.message);
    cr_assert_eq(rows, 300);
    cr_assert_eq(n->d.StatementRelease(&s, &n->error), 0);
    cr_assert_eq(sum(n, "SELECT i FROM t"), 299 * 300 / 2);
}

/* One of them waits for the other, for ever. */
EACH_ENGINE(a_connection_does_not_take_in_its_own_rows)
{
    (void)which;
    struct ArrowArrayStream stream;
    run(n, "CREATE TABLE t (i BIGINT)");
    run(n, "INSERT INTO t VALUES (1)");
    struct AdbcStatement from = wt_near_query(n, "SELECT i FROM t");
    struct AdbcStatement to = wt_near_query(n, "INSERT INTO t VALUES (?)");
    cr_assert_eq(n->d.StatementExecuteQuery(&from, &stream, NULL, &n->error),
                 0);
    cr_assert_eq(n->d.StatementBindStream(&to, &stream, &n->error), 0);
    cr_assert_neq(n->d.StatementExecuteQuery(&to, NULL, NULL, &n->error), 0);
    cr_assert_eq(n->d.StatementRelease(&from, &n->error), 0);
    cr_assert_eq(n->d.StatementRelease(&to, &n->error), 0);
    cr_assert_eq(sum(n, "SELECT i FROM t"), 1);
}

EACH_ENGINE(partitions_have_all_rows_once)
{
    (void)which;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct AdbcPartitions parts;
    int64_t total = 0;
    run(n, "CREATE TABLE t (i BIGINT)");
    run(n, "INSERT INTO t VALUES (1), (2), (40)");
    struct AdbcStatement s = wt_near_query(n, "SELECT i FROM t");
    n->d.StatementSetOptionInt(&s, "adbc.weir.partitions", 3, &n->error);
    cr_assert_eq(
        n->d.StatementExecutePartitions(&s, &schema, &parts, NULL, &n->error),
        0, "%s", n->error.message);
    cr_assert_eq(parts.num_partitions, 3);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(n->d.ConnectionReadPartition(
                         &n->connection, parts.partitions[i],
                         parts.partition_lengths[i], &stream, &n->error),
                     0, "%s", n->error.message);
        total += wt_near_sum(&stream);
    }
    cr_assert_eq(total, 43);
    cr_assert_eq(n->d.ConnectionReadPartition(
                     &n->connection, parts.partitions[0],
                     parts.partition_lengths[0], &stream, &n->error),
                 ADBC_STATUS_NOT_FOUND); /* the scan is over */
    cr_assert_eq(n->d.ConnectionReadPartition(&n->connection,
                                              parts.partitions[0], 20, &stream,
                                              &n->error),
                 ADBC_STATUS_INVALID_ARGUMENT);
    parts.release(&parts);
    schema.release(&schema);
    cr_assert_eq(n->d.StatementRelease(&s, &n->error), 0);
}

/* ---- errors, cancelling -------------------------------------------------- */

EACH_ENGINE(errors_arrive_whole)
{
    (void)which;
    struct ArrowArrayStream stream;
    struct AdbcError error = ADBC_ERROR_INIT;
    char text[2000] = "SELECT no_such_column AS ";
    size_t len = strlen(text);
    memset(text + len, 'x', sizeof(text) - len - 1);
    struct AdbcStatement s = wt_near_query(n, text);
    cr_assert_neq(n->d.StatementExecuteQuery(&s, &stream, NULL, &error), 0);
    cr_assert_not_null(strstr(error.message, "no_such_column"));
    if (error.vendor_code == ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA) {
        cr_assert_eq(n->d.ErrorGetDetailCount(&error), 1);
        struct AdbcErrorDetail detail = n->d.ErrorGetDetail(&error, 0);
        cr_assert_str_eq(detail.key, "adbc.weir.error");
        cr_assert_eq(strncmp((const char *)detail.value, "WEIR_ERR_", 9), 0);
    }
    error.release(&error);
    cr_assert_eq(n->d.StatementRelease(&s, &n->error), 0);
}

EACH_ENGINE(what_was_cancelled_ends)
{
    (void)which;
    struct ArrowArrayStream stream;
    struct ArrowArray batch = {0};
    AdbcStatusCode status = 0;
    run(n, "CREATE TABLE t (i BIGINT)");
    struct AdbcStatement s = wt_near_query(n, "SELECT i FROM t");
    cr_assert_eq(n->d.StatementExecuteQuery(&s, &stream, NULL, &n->error), 0);
    cr_assert_null(n->d.ErrorFromArrayStream(&stream, &status));
    cr_assert_eq(n->d.StatementCancel(&s, &n->error), 0);
    cr_assert_eq(stream.get_next(&stream, &batch), ECANCELED);
    cr_assert_not_null(stream.get_last_error(&stream));
    cr_assert_not_null(n->d.ErrorFromArrayStream(&stream, &status));
    cr_assert_eq(status, ADBC_STATUS_CANCELLED);
    stream.release(&stream);
    cr_assert_eq(n->d.StatementRelease(&s, &n->error), 0);
}

/* ---- many connections ---------------------------------------------------- */

Test(adbc_driver, a_database_has_64_connections_at_a_time)
{
    struct wt_near n;
    struct AdbcConnection more[64] = {0};
    if (!wt_scan_engine_there(WT_SQLITE)) {
        return;
    }
    wt_near_open(&n, WT_SQLITE);
    for (size_t i = 0; i < 64; i++) {
        cr_assert_eq(n.d.ConnectionNew(&more[i], &n.error), 0);
        AdbcStatusCode status =
            n.d.ConnectionInit(&more[i], &n.database, &n.error);
        cr_assert_eq(status, i < 63 ? 0 : ADBC_STATUS_INVALID_STATE);
    }
    cr_assert_eq(n.d.ConnectionRelease(&more[10], &n.error), 0);
    cr_assert_eq(n.d.ConnectionInit(&more[63], &n.database, &n.error), 0);
    for (size_t i = 0; i < 64; i++) {
        if (i != 10) {
            cr_assert_eq(n.d.ConnectionRelease(&more[i], &n.error), 0);
        }
    }
    wt_near_close(&n);
}
