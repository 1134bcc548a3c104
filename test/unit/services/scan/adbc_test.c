/* SPDX-License-Identifier: Apache-2.0 */
/* ADBC drivers as engines: SQLite's, where tools/arrow.sh has put one. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include <weir/scan.h>

#include "services/scan/batch_bytes.h"
#include "services/scan/job.h"

TestSuite(scan_adbc, .timeout = 60);

Test(scan_adbc, a_driver_that_is_not_there_says_what_to_install)
{
    struct weir_error err;
    struct weir_scan_engine engine;
    struct weir_scan_adbc_params p = {.driver = "/nowhere/libdriver.so"};
    cr_assert_eq(weir_scan_adbc_open(&p, &engine, &err), WEIR_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(err.message, "/nowhere/libdriver.so"));
    cr_assert_not_null(strstr(err.message, "pip install"));
}

Test(scan_adbc, a_library_that_is_no_driver_is_refused)
{
    struct weir_error err;
    struct weir_scan_engine engine;
    struct weir_scan_adbc_params p = {.driver = "libm.so.6"};
    cr_assert_eq(weir_scan_adbc_open(&p, &engine, &err), WEIR_ERR_UNSUPPORTED);
    cr_assert_not_null(strstr(err.message, "AdbcDriverInit"));
}

#ifdef WEIR_ADBC_SQLITE

static void open_sqlite(struct weir_scan_engine *engine, const char *uri)
{
    struct weir_error err;
    const struct weir_scan_option options[] = {{"uri", uri}};
    struct weir_scan_adbc_params p = {
        .driver = WEIR_ADBC_SQLITE, .options = options, .n_options = 1};
    cr_assert_eq(weir_scan_adbc_open(&p, engine, &err), WEIR_OK, "%s",
                 err.message);
}

/* A query of a data set. */
static weir_err query(const struct weir_scan_engine *engine, const char *text,
                      const char *dataset, struct ArrowArrayStream *stream,
                      struct weir_error *err)
{
    struct weir_scan_request request = {.text = text, .dataset = dataset};
    struct weir_scan_fault fault = {0};
    int64_t rows = -1;
    static struct weir_scan_job job; /* must outlive the stream */
    wi_scan_job_init(&job);
    weir_err code =
        engine->open(engine->arg, &request, &job, stream, &rows, &fault, err);
    free(fault.text);
    return code;
}

/* Sends a batch to itself: what arrives is what left. */
static int64_t there_and_back(struct wi_scan_shape *shape,
                              const struct ArrowArray *batch)
{
    struct wi_scan_split split = {0};
    struct weir_error err;
    struct ArrowArray back;
    cr_assert_eq(wi_scan_split(shape, batch, &split, &err), WEIR_OK, "%s",
                 err.message);
    void *bytes =
        aligned_alloc(WI_SCAN_ALIGN, split.body_bytes + WI_SCAN_ALIGN);
    wi_scan_split_copy(&split, bytes);
    struct wi_scan_body body = {bytes, split.body_bytes, free, bytes, false};
    cr_assert_eq(wi_scan_join(shape, split.head.bytes, split.head.len, &body,
                              &back, &err),
                 WEIR_OK, "%s", err.message);
    cr_assert_eq(back.length, batch->length);
    const int64_t *ids = back.children[0]->buffers[1];
    int64_t sum = 0;
    for (int64_t i = 0; i < back.length; i++) {
        sum += ids[i];
    }
    back.release(&back);
    wi_scan_split_fini(&split);
    return sum;
}

Test(scan_adbc, results_of_sqlite_travel)
{
    struct weir_error err;
    struct weir_scan_engine engine;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct wi_scan_shape shape;
    open_sqlite(&engine, ":memory:");
    cr_assert_eq(query(&engine,
                       "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
                       "SELECT i + 1 FROM n WHERE i < 3000) "
                       "SELECT i, 'row ' || i AS t, i * 0.5 AS d, "
                       "NULLIF(i % 7, 0) AS m FROM n",
                       "", &stream, &err),
                 WEIR_OK, "%s", err.message);
    cr_assert_eq(stream.get_schema(&stream, &schema), 0);
    cr_assert_eq(schema.n_children, 4);
    cr_assert_eq(wi_scan_shape_init(&shape, &schema, &err), WEIR_OK, "%s",
                 err.message);
    int64_t rows = 0;
    int64_t sum = 0;
    for (;;) {
        struct ArrowArray batch = {0};
        cr_assert_eq(stream.get_next(&stream, &batch), 0);
        if (batch.release == NULL) {
            break;
        }
        rows += batch.length;
        sum += there_and_back(&shape, &batch);
        batch.release(&batch);
    }
    cr_assert_eq(rows, 3000);
    cr_assert_eq(sum, 3000 * 3001 / 2);
    wi_scan_shape_fini(&shape);
    schema.release(&schema);
    stream.release(&stream);
    engine.close(engine.arg);
}

Test(scan_adbc, the_engines_message_arrives)
{
    struct weir_error err;
    struct weir_scan_engine engine;
    struct ArrowArrayStream stream;
    open_sqlite(&engine, ":memory:");
    cr_assert_lt(
        query(&engine, "SELECT x FROM no_such_table", "", &stream, &err),
        WEIR_OK);
    cr_assert_not_null(strstr(err.message, "no such table: no_such_table"),
                       "%s", err.message);
    cr_assert_eq(query(&engine, "SELECT 1", "other", &stream, &err),
                 WEIR_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(err.message, "other"));
    engine.close(engine.arg);
}

Test(scan_adbc, a_database_that_cannot_be_opened_is_an_error)
{
    struct weir_error err;
    struct weir_scan_engine engine;
    const struct weir_scan_option options[] = {
        {"uri", "/nowhere/at/all/database.db"}};
    struct weir_scan_adbc_params p = {
        .driver = WEIR_ADBC_SQLITE, .options = options, .n_options = 1};
    cr_assert_lt(weir_scan_adbc_open(&p, &engine, &err), WEIR_OK);
    cr_assert_not_null(strstr(err.message, "/nowhere/at/all"), "%s",
                       err.message);
}

#endif /* WEIR_ADBC_SQLITE */
