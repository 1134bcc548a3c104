/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of request to engines of ADBC drivers: SQLite's and DuckDB's. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "test/unit/services/scan/engines.h"

TestSuite(scan_requests, .timeout = 60);

/* Runs the body once for each driver that is there, with an empty database. */
#define EACH_ENGINE(name)                                                      \
    static void name(enum wt_scan_engine which,                                \
                     const struct weir_scan_engine *e);                        \
    Test(scan_requests, name)                                                  \
    {                                                                          \
        for (enum wt_scan_engine w = 0; w < WT_ENGINES; w++) {                 \
            struct weir_scan_engine engine;                                    \
            if (wt_scan_engine_there(w)) {                                     \
                wt_scan_engine_open(w, &engine);                               \
                name(w, &engine);                                              \
                engine.close(engine.arg);                                      \
            }                                                                  \
        }                                                                      \
    }                                                                          \
    static void name(enum wt_scan_engine which,                                \
                     const struct weir_scan_engine *e)

/* A request that gives no rows. */
static weir_err change(const struct weir_scan_engine *e, const char *text,
                       struct ArrowArrayStream *bind, int64_t *rows_out)
{
    struct wt_answer a;
    struct weir_scan_request r = {
        .kind = WEIR_SCAN_UPDATE, .text = text, .bind = bind};
    wt_ask(e, &r, &a);
    weir_err code = a.code;
    cr_assert(code != WEIR_OK || a.stream.release == NULL);
    if (rows_out != NULL) {
        *rows_out = a.rows;
    }
    wt_answer_fini(&a);
    return code;
}

/* The first batch of an answer, and its schema. */
static void first(struct wt_answer *a, struct ArrowSchema *schema,
                  struct ArrowArray *batch)
{
    cr_assert_eq(a->code, WEIR_OK, "%s", a->err.message);
    cr_assert_not_null(a->stream.release);
    cr_assert_eq(a->stream.get_schema(&a->stream, schema), 0);
    memset(batch, 0, sizeof(*batch));
    cr_assert_eq(a->stream.get_next(&a->stream, batch), 0);
}

static void release(struct ArrowSchema *schema, struct ArrowArray *batch)
{
    if (batch->release != NULL) {
        batch->release(batch);
    }
    schema->release(schema);
}

/* ---- updates, parameters ------------------------------------------------- */

EACH_ENGINE(an_update_says_how_many_rows_it_changed)
{
    (void)which;
    int64_t rows = -1;
    cr_assert_eq(change(e, "CREATE TABLE t (i BIGINT)", NULL, NULL), WEIR_OK);
    cr_assert_eq(change(e, "INSERT INTO t VALUES (1), (2), (40)", NULL, &rows),
                 WEIR_OK);
    cr_assert_eq(rows, 3);
    cr_assert_eq(change(e, "UPDATE t SET i = i + 1 WHERE i < 3", NULL, &rows),
                 WEIR_OK);
    cr_assert_eq(rows, 2);
    cr_assert_eq(wt_ask_sum(e, "SELECT i FROM t"), 45);
}

EACH_ENGINE(an_update_runs_once_for_each_row_of_parameters)
{
    /* DuckDB 1.5 takes batches of parameters of one row each. */
    int64_t rows = which == WT_DUCKDB ? 1 : 5;
    struct ArrowArrayStream bind;
    cr_assert_eq(change(e, "CREATE TABLE t (i BIGINT)", NULL, NULL), WEIR_OK);
    wt_count_stream(&bind, 10 / rows, rows);
    cr_assert_eq(change(e, "INSERT INTO t VALUES (?)", &bind, NULL), WEIR_OK);
    cr_assert_eq(wt_ask_sum(e, "SELECT i FROM t"), 45);
}

EACH_ENGINE(a_query_takes_parameters)
{
    (void)which;
    struct wt_answer a;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct ArrowArrayStream bind;
    wt_count_stream(&bind, 1, 1);
    struct weir_scan_request r = {.text = "SELECT CAST(? AS BIGINT) + 42 AS x",
                                  .bind = &bind};
    wt_ask(e, &r, &a);
    first(&a, &schema, &batch);
    cr_assert_eq(batch.length, 1);
    cr_assert_eq(((const int64_t *)batch.children[0]->buffers[1])[0], 42);
    release(&schema, &batch);
    wt_answer_fini(&a);
}

EACH_ENGINE(a_schema_comes_without_the_query_being_run)
{
    struct wt_answer a;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    cr_assert_eq(change(e, "CREATE TABLE t (i BIGINT, s VARCHAR)", NULL, NULL),
                 WEIR_OK);
    struct weir_scan_request r = {.kind = WEIR_SCAN_SCHEMA,
                                  .text = "SELECT i, s FROM t WHERE i = ?"};
    wt_ask(e, &r, &a);
    first(&a, &schema, &batch);
    cr_assert_null(batch.release);
    cr_assert_eq(schema.n_children, 2);
    const struct ArrowSchema *result = schema.children[0];
    const struct ArrowSchema *parameters = schema.children[1];
    cr_assert_str_eq(result->name, "result");
    cr_assert_str_eq(parameters->name, "parameters");
    cr_assert_str_eq(parameters->format, "+s");
    cr_assert_eq(parameters->n_children, 1);
    if (which == WT_DUCKDB) {
        cr_assert_str_eq(result->format, "+s");
        cr_assert_eq(result->n_children, 2);
        cr_assert_str_eq(result->children[1]->name, "s");
    }
    release(&schema, &batch);
    wt_answer_fini(&a);
}

/* ---- ingestion ----------------------------------------------------------- */

/* Batches of 100 rows; why: what they fail with at their end. */
static weir_err ingest_failing(const struct weir_scan_engine *e,
                               const char *mode, int64_t n_batches,
                               const char *why, int64_t *rows_out)
{
    struct wt_answer a;
    struct ArrowArrayStream bind;
    const struct weir_scan_option options[] = {{"adbc.ingest.mode", mode}};
    struct weir_scan_request r = {.kind = WEIR_SCAN_INGEST,
                                  .text = "taken",
                                  .bind = &bind,
                                  .options = options,
                                  .n_options = 1};
    wt_count_stream_fails(&bind, n_batches, 100, why);
    wt_ask(e, &r, &a);
    weir_err code = a.code;
    *rows_out = a.rows;
    cr_assert(code == WEIR_OK || a.fault.text != NULL);
    cr_assert(why == NULL || strcmp(a.fault.text, why) == 0, "%s",
              a.fault.text);
    wt_answer_fini(&a);
    return code;
}

static weir_err ingest(const struct weir_scan_engine *e, const char *mode,
                       int64_t n_batches, int64_t *rows_out)
{
    return ingest_failing(e, mode, n_batches, NULL, rows_out);
}

EACH_ENGINE(rows_are_taken_in)
{
    (void)which;
    int64_t rows = -1;
    cr_assert_eq(ingest(e, "adbc.ingest.mode.create", 5, &rows), WEIR_OK);
    cr_assert_eq(rows, 500);
    cr_assert_eq(wt_ask_sum(e, "SELECT i FROM taken"), 499 * 500 / 2);
    cr_assert_lt(ingest(e, "adbc.ingest.mode.create", 1, &rows), 0);
    cr_assert_eq(ingest(e, "adbc.ingest.mode.append", 1, &rows), WEIR_OK);
    cr_assert_eq(wt_ask_sum(e, "SELECT i FROM taken"),
                 499 * 500 / 2 + 99 * 100 / 2);
}

/* No table, or the rows of before: nothing of what came before they failed. */
EACH_ENGINE(rows_that_fail_leave_nothing)
{
    const char *const append = "adbc.ingest.mode.append";
    const int64_t batches[] = {0, 1, 3000}; /* too many to hold */
    int64_t rows = 5;
    (void)which;
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(ingest_failing(e, "adbc.ingest.mode.create", batches[i],
                                    "the rows have tripped", &rows),
                     WEIR_ERR_QUERY_DATA);
        cr_assert_eq(rows, -1);
        cr_assert_lt(change(e, "DELETE FROM taken", NULL, NULL), 0,
                     "a table is left");
    }
    cr_assert_eq(ingest(e, "adbc.ingest.mode.create", 1, &rows), WEIR_OK);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(ingest_failing(e, append, batches[i],
                                    "the rows have tripped", &rows),
                     WEIR_ERR_QUERY_DATA);
        cr_assert_eq(wt_ask_sum(e, "SELECT i FROM taken"), 99 * 100 / 2);
    }
    cr_assert_eq(ingest(e, append, 1, &rows), WEIR_OK);
    cr_assert_eq(wt_ask_sum(e, "SELECT i FROM taken"), 99 * 100);
}

EACH_ENGINE(rows_to_take_in_must_be_there)
{
    (void)which;
    struct wt_answer a;
    struct weir_scan_request r = {.kind = WEIR_SCAN_INGEST, .text = "taken"};
    wt_ask(e, &r, &a);
    cr_assert_eq(a.code, WEIR_ERR_ARG);
    wt_answer_fini(&a);
}

/* ---- catalogs ------------------------------------------------------------ */

/* Names of all tables in an answer of OBJECTS, as ADBC nests them. */
static int count_tables(struct wt_answer *a, const char *name)
{
    struct ArrowSchema schema;
    struct ArrowArray batch;
    first(a, &schema, &batch);
    cr_assert_str_eq(schema.children[0]->name, "catalog_name");
    const struct ArrowArray *schemas = batch.children[1]->children[0];
    const struct ArrowArray *tables = schemas->children[1]->children[0];
    const struct ArrowArray *names = tables->children[0];
    const int32_t *offsets = names->buffers[1];
    const char *bytes = names->buffers[2];
    int n = 0;
    for (int64_t i = 0; i < tables->length; i++) {
        size_t len = (size_t)(offsets[i + 1] - offsets[i]);
        n += len == strlen(name) && memcmp(bytes + offsets[i], name, len) == 0;
    }
    release(&schema, &batch);
    return n;
}

EACH_ENGINE(objects_are_listed_and_filtered)
{
    (void)which;
    const char *const filters[] = {"one", "no_such_table"};
    cr_assert_eq(change(e, "CREATE TABLE one (i BIGINT)", NULL, NULL), WEIR_OK);
    for (int i = 0; i < 2; i++) {
        struct wt_answer a;
        const struct weir_scan_option options[] = {{"depth", "3"},
                                                   {"table_name", filters[i]}};
        struct weir_scan_request r = {
            .kind = WEIR_SCAN_OBJECTS, .options = options, .n_options = 2};
        wt_ask(e, &r, &a);
        cr_assert_eq(count_tables(&a, "one"), i == 0);
        wt_answer_fini(&a);
    }
}

EACH_ENGINE(options_that_do_not_exist_are_refused)
{
    (void)which;
    const struct weir_scan_option wrong[] = {
        {"depth", "4"}, {"depth", "all"}, {"table", "t"}};
    for (int i = 0; i < 3; i++) {
        struct wt_answer a;
        struct weir_scan_request r = {
            .kind = WEIR_SCAN_OBJECTS, .options = &wrong[i], .n_options = 1};
        wt_ask(e, &r, &a);
        cr_assert_eq(a.code, WEIR_ERR_ARG);
        cr_assert_not_null(strstr(a.err.message, wrong[i].key));
        wt_answer_fini(&a);
    }
}

EACH_ENGINE(a_table_is_described)
{
    (void)which;
    struct wt_answer a;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    cr_assert_eq(
        change(e, "CREATE TABLE one (i BIGINT, s VARCHAR)", NULL, NULL),
        WEIR_OK);
    struct weir_scan_request r = {.kind = WEIR_SCAN_TABLE_SCHEMA,
                                  .text = "one"};
    wt_ask(e, &r, &a);
    first(&a, &schema, &batch);
    cr_assert_null(batch.release);
    cr_assert_eq(schema.n_children, 2);
    cr_assert_str_eq(schema.children[0]->name, "i");
    cr_assert_str_eq(schema.children[1]->name, "s");
    release(&schema, &batch);
    wt_answer_fini(&a);
    r.text = "no_such_table";
    wt_ask(e, &r, &a);
    cr_assert_lt(a.code, 0);
    cr_assert_not_null(strstr(a.err.message, "no_such_table"));
    wt_answer_fini(&a);
}

EACH_ENGINE(types_of_tables_are_listed)
{
    (void)which;
    struct wt_answer a;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct weir_scan_request r = {.kind = WEIR_SCAN_TABLE_TYPES};
    cr_assert_eq(change(e, "CREATE TABLE t (i BIGINT)", NULL, NULL), WEIR_OK);
    wt_ask(e, &r, &a);
    first(&a, &schema, &batch);
    cr_assert_str_eq(schema.children[0]->name, "table_type");
    cr_assert_gt(batch.length, 0);
    release(&schema, &batch);
    wt_answer_fini(&a);
}

EACH_ENGINE(the_driver_says_who_it_is)
{
    (void)which;
    struct wt_answer a;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    const struct weir_scan_option codes[] = {{"code", "0"}, {"code", "100"}};
    struct weir_scan_request r = {
        .kind = WEIR_SCAN_INFO, .options = codes, .n_options = 2};
    wt_ask(e, &r, &a);
    first(&a, &schema, &batch);
    cr_assert_eq(batch.length, 2);
    const uint32_t *got = batch.children[0]->buffers[1];
    cr_assert_eq(got[0] + got[1], 100);
    release(&schema, &batch);
    wt_answer_fini(&a);
}

/* ---- faults -------------------------------------------------------------- */

EACH_ENGINE(the_whole_message_comes_as_a_fault)
{
    (void)which;
    struct wt_answer a;
    char text[2000] = "SELECT no_such_column AS ";
    size_t len = strlen(text);
    memset(text + len, 'x', sizeof(text) - len - 1); /* DuckDB repeats it */
    struct weir_scan_request r = {.text = text};
    wt_ask(e, &r, &a);
    cr_assert_lt(a.code, 0);
    cr_assert_not_null(a.fault.text);
    cr_assert_not_null(strstr(a.fault.text, "no_such_column"), "%s",
                       a.fault.text);
    cr_assert_eq(strncmp(a.fault.text, a.err.message, 20), 0);
    wt_answer_fini(&a);
}

/* ---- cancelling ---------------------------------------------------------- */

static void cancel(union sigval value)
{
    wi_scan_job_cancel(value.sival_ptr);
}

/* The query would go on for hours; it is cancelled when it has used 100 ms of
 * the processor. */
Test(scan_requests, a_driver_that_works_is_interrupted)
{
    struct weir_scan_engine e;
    struct wt_answer a;
    struct ArrowArray batch = {0};
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD,
                             .sigev_notify_function = cancel,
                             .sigev_value = {.sival_ptr = &a.job}};
    const struct itimerspec when = {.it_value = {.tv_nsec = 100000000}};
    if (!wt_scan_engine_there(WT_DUCKDB)) {
        return;
    }
    wt_scan_engine_open(WT_DUCKDB, &e);
    struct weir_scan_request r = {
        .text = "SELECT sum(a.range * b.range) FROM range(10000000) a, "
                "range(10000000) b"};
    cr_assert_eq(timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer), 0);
    cr_assert_eq(timer_settime(timer, 0, &when, NULL), 0);
    wt_ask(&e, &r, &a);
    if (a.code == WEIR_OK) {
        cr_assert_eq(a.stream.get_next(&a.stream, &batch), ECANCELED);
    } else {
        cr_assert_eq(a.code, WEIR_ERR_CANCELLED, "%s", a.err.message);
    }
    timer_delete(timer);
    wt_answer_fini(&a);
    e.close(e.arg);
}

Test(scan_requests, what_was_cancelled_before_is_not_run)
{
    for (enum wt_scan_engine w = 0; w < WT_ENGINES; w++) {
        if (!wt_scan_engine_there(w)) {
            continue;
        }
        struct weir_scan_engine e;
        struct weir_scan_job job;
        struct weir_error err;
        struct weir_scan_fault fault = {0};
        struct ArrowArrayStream stream = {0};
        int64_t rows = -1;
        wt_scan_engine_open(w, &e);
        wi_scan_job_init(&job);
        wi_scan_job_cancel(&job);
        struct weir_scan_request r = {.kind = WEIR_SCAN_UPDATE,
                                      .text = "CREATE TABLE t (i BIGINT)",
                                      .dataset = ""};
        cr_assert_eq(e.open(e.arg, &r, &job, &stream, &rows, &fault, &err),
                     WEIR_ERR_CANCELLED);
        cr_assert_eq(change(&e, r.text, NULL, NULL), WEIR_OK);
        free(fault.text);
        wi_scan_job_fini(&job);
        e.close(e.arg);
    }
}

/* ---- allocators ---------------------------------------------------------- */

/* This program carries jemalloc, which has both as well. */
#ifndef __SANITIZE_ADDRESS__
#ifndef __SANITIZE_THREAD__
static const char *home_of(const char *symbol)
{
    Dl_info info = {0};
    void *address = dlsym(RTLD_DEFAULT, symbol);
    cr_assert_not_null(address);
    cr_assert_neq(dladdr(address, &info), 0);
    return info.dli_fname;
}

Test(scan_requests, cpp_takes_and_gives_memory_at_one_place)
{
    const char *const symbols[] = {"_Znwm",
                                   "_Znam",
                                   "_ZdlPv",
                                   "_ZdaPv",
                                   "_ZdlPvm",
                                   "_ZnwmSt11align_val_t",
                                   "_ZdlPvSt11align_val_t"};
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        cr_assert_not_null(strstr(home_of(symbols[i]), "libstdc++"), "%s: %s",
                           symbols[i], home_of(symbols[i]));
    }
}
#endif
#endif
